# SPDX-License-Identifier: Apache-2.0
"""Change the objects, obstacles, attachments and belts of a running scene."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.checks.check import audit_description
from rbdyn_ros.description.checks.geometries import audit_obstacles
from rbdyn_ros.description.parts.geometries import Exclusion, Obstacle
from rbdyn_ros.description.parts.objects import Object, Placed
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import (
    WORLD,
    Constraint,
    Description,
    Gear,
    Joint,
    Link,
    Roll,
)
from rbdyn_ros.description.scenes.scene import (
    SceneParts,
    audit_beside_robots,
    audit_parts,
    with_parts,
    with_robot,
)
from rbdyn_ros.description.scenes.scene_objects import with_object


def floating_scene(robot: Description) -> Description:
    """Return the scene of one robot with a floating base, to which objects can be added."""
    world = free_name(WORLD, {link.name for link in robot.links})
    empty = Description(robot.name, (Link(world),), (), robot.source, base=world)
    return with_robot(empty, robot, "", Placed(None, floating_base=True))


def with_entity(
    scene: Description,
    entity: Object | Obstacle,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    acts: bool = False,
) -> Description:
    """Return a scene with one more object or obstacle.

    Args:
        scene: checked.
        entity: the object or obstacle.
        strict: as for load_urdf.
        package_dirs: as for load_urdf.
        acts: as for scene_objects.with_object.

    Raises:
        DescriptionError: with all errors of the object.
    """
    audit = Audit(strict=strict)
    if isinstance(entity, Obstacle):
        audit_obstacles((entity,), audit)
        joined = replace(scene, obstacles=(*scene.obstacles, entity))
    else:
        joined = with_object(scene, entity, package_dirs, audit, acts)
    audit.raise_errors(scene.source)
    joined = audit_description(joined, audit)
    audit.raise_errors(scene.source)
    return joined


def entity_of(link: str, entities: Collection[str]) -> str:
    """Return the entity that has a link, by the beginning of the name, or "" without an entity.

    The name of an entity can have slashes, and can begin with the name of another entity and a
    slash.
    """
    parts = link.split("/")
    names = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in entities), "")


def without_entity(scene: Description, name: str) -> Description:
    """Return a scene without an obstacle, or without an object or robot and all its links."""
    if name in {one.name for one in scene.obstacles}:
        kept = tuple(one for one in scene.obstacles if one.name != name)
        links = {link.name for link in scene.links}
        pairs = scene.exclusions
        if name not in links:  # an exclusion may name a link that has the name of the obstacle
            pairs = tuple(pair for pair in pairs if name not in (pair.first, pair.second))
        return replace(scene, obstacles=kept, exclusions=pairs)
    links = {name}
    while more := {j.child for j in scene.joints if j.parent in links} - links:
        links |= more
    joints = {joint.name for joint in scene.joints if joint.child in links}
    gone = {*links, *(geom.name for geom in scene.geometries if geom.link in links)}
    parts: dict[str, list[Any]] = {
        "links": [link for link in scene.links if link.name not in links],
        "joints": [joint for joint in scene.joints if joint.child not in links],
        "springs": [x for x in scene.springs if not {x.link1, x.link2} & links],
        "constraints": [x for x in scene.constraints if not _parts(x) & {*links, *joints}],
        "geometries": [geom for geom in scene.geometries if geom.link not in links],
        "exclusions": [x for x in scene.exclusions if not {x.first, x.second} & gone],
        "objects": [other for other in scene.objects if other != name],
        "robots": [other for other in scene.robots if other not in links],
    }
    kept_parts: dict[str, Any] = {key: tuple(value) for key, value in parts.items()}
    return replace(scene, **kept_parts)


def _parts(constraint: Constraint) -> set[str]:
    """Return the names of the links or joints that a constraint connects."""
    if isinstance(constraint, Gear):
        return {term.joint for term in constraint.terms}
    if isinstance(constraint, Roll):
        return {constraint.link, constraint.on}
    return set(constraint.links)


def robots_of(scene: Description) -> Description:
    """Return a scene with its robots alone."""
    for name in (*scene.objects, *(obstacle.name for obstacle in scene.obstacles)):
        scene = without_entity(scene, name)
    return scene


def with_world(
    robots: Description,
    parts: SceneParts,
    source: str,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    taken: Collection[str] = (),
) -> Description:
    """Return a scene of robots with the objects and the obstacles of a world.

    Args:
        robots: checked.
        parts: parts of the world; its robots are ignored.
        source: source of the parts, for messages.
        strict: as for load_urdf.
        package_dirs: as for load_urdf.
        taken: names of the robots.

    Raises:
        DescriptionError: with all errors of the world.
    """
    audit = Audit(strict=strict)
    audit_parts(replace(parts, robots={}), audit)
    audit_beside_robots(parts, taken, audit)
    joined = with_parts(robots, parts, audit, package_dirs)
    audit.raise_errors(source)
    return replace(joined, source=source)


@dataclass(frozen=True, slots=True)
class Weld:
    """Two links that keep their pose to each other; their rigid bodies do not touch.

    Attributes:
        link, to: names of the links.
        pose: pose of the first link in the second link.
        apart: two groups of links or obstacles, by name; the groups do not touch each other.
    """

    link: str
    to: str
    pose: Pose
    apart: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def name(self) -> str:
        """The name of the fixed joint that closes the loop."""
        return f"{self.link} on {self.to}"


def welds_in(scene: Description, welds: Iterable[Weld]) -> tuple[Weld, ...]:
    """Return the welds of links that a scene has, without the names of parts that it lacks.

    A part that gets such a name later is a different part, so it is not attached.
    """
    links = {link.name for link in scene.links}
    there = {*links, *(one.name for one in scene.obstacles)}

    def known(side: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in side if name in there)

    return tuple(
        replace(weld, apart=(known(weld.apart[0]), known(weld.apart[1])))
        for weld in welds
        if {weld.link, weld.to} <= links
    )


def with_welds(scene: Description, welds: Iterable[Weld]) -> Description:
    """Return a scene, without checks, in which links are welded to each other."""
    joints, exclusions = list(scene.joints), list(scene.exclusions)
    links = {link.name for link in scene.links}
    for weld in welds:
        joints.append(Joint(weld.name, "fixed", weld.to, weld.link, weld.pose, closes_loop=True))
        exclusions += [
            Exclusion(*pair, links=links.issuperset(pair)) for pair in product(*weld.apart)
        ]
    return replace(scene, joints=tuple(joints), exclusions=tuple(exclusions))


def with_obstacle(scene: Description, name: str, **changes: Any) -> Description:
    """Return a scene in which an obstacle has other properties.

    Args:
        scene: checked.
        name: name of an obstacle.
        changes: fields of Obstacle.

    Raises:
        DescriptionError: a property is refused.
    """
    changed = {one.name: replace(one, line=None, **changes) for one in scene.obstacles}
    audit = Audit()
    audit_obstacles([changed[name]], audit)
    audit.raise_errors("")
    obstacles = tuple(changed[name] if one.name == name else one for one in scene.obstacles)
    return replace(scene, obstacles=obstacles)
