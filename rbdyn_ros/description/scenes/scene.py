# SPDX-License-Identifier: Apache-2.0
"""Join robots, free objects and obstacles into one Description."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.build.renaming import renamed, root_of, with_all_of, without_lines
from rbdyn_ros.description.checks.check import audit_description
from rbdyn_ros.description.checks.names import audit_names
from rbdyn_ros.description.checks.values import audit_pose
from rbdyn_ros.description.parts.geometries import FLOOR, Exclusion, GroupState, Obstacle
from rbdyn_ros.description.parts.objects import Object, Placed
from rbdyn_ros.description.parts.poses import IN_PLACE, Vec3
from rbdyn_ros.description.parts.types import ROOT_JOINT, WORLD, Description, Joint, Link
from rbdyn_ros.description.scenes.joining import add_findings, coordinates, described
from rbdyn_ros.description.scenes.scene_objects import with_object
from rbdyn_ros.errors import RbdynError, listing, quote

MOUNT = "mount"


@dataclass(frozen=True, slots=True)
class SceneParts:
    """The parts of a scene.

    Attributes:
        name: name of the scene.
        robots: the robots by name; the names of their parts begin with this name and a slash,
            unless it is empty.
        objects: free objects.
        obstacles: shapes fixed in the world.
        floor: whether there is a floor at height 0, if no obstacle is called floor.
        exclude: pairs of links, objects, geometries or obstacles that do not push each other.
        about: a description for people; empty: no description.
        tags: words by which scenes are chosen.
        states: keyframes of the joints of the scene.
        gravity: gravity of the world [m/s^2]; None: the default of a Model.
    """

    name: str
    robots: Mapping[str, Placed]
    objects: Sequence[Object]
    obstacles: Sequence[Obstacle]
    floor: bool = True
    exclude: Sequence[Exclusion] = ()
    about: str = ""
    tags: Sequence[str] = ()
    states: Sequence[GroupState] = ()
    gravity: Vec3 | None = None


def scene_description(
    parts: SceneParts, audit: Audit, source: str = "", package_dirs: Sequence[str | Path] = ()
) -> Description:
    """Return the Description of a scene, in normal form unless the audit has errors.

    The base is a link without mass, fixed to the world. Each robot stands on it by a fixed or a
    floating joint, each object by a floating joint of its name.

    Args:
        parts: parts of the scene.
        audit: receives all errors.
        source: file of the scene, for messages.
        package_dirs: folders to search for packages of robots and meshes.
    """
    audit_parts(parts, audit)
    read = {
        name: _robot(name, placed, package_dirs, audit) for name, placed in parts.robots.items()
    }
    robots = {name: found for name, found in read.items() if found is not None}
    base = _base(robots, parts.robots)
    joined = Description(parts.name, (Link(base),), (), source or parts.name, base=base)
    for name, robot in robots.items():
        joined = with_robot(joined, robot, name, parts.robots[name])
    audit.partial |= len(robots) < len(parts.robots)
    return with_parts(joined, parts, audit, package_dirs)


def with_parts(
    joined: Description, parts: SceneParts, audit: Audit, package_dirs: Sequence[str | Path] = ()
) -> Description:
    """Return a scene of robots with the other parts, in normal form unless the audit has errors.

    Args:
        joined: the robots.
        parts: their names are different from each other.
        audit: receives all errors.
        package_dirs: as for scene_description.
    """
    _audit_taken(joined, parts, audit)
    seen: set[str] = set()
    for item in parts.objects:
        if item.name not in seen:
            joined = with_object(joined, item, package_dirs, audit)
        seen.add(item.name)
    audit.partial |= bool(audit.errors)
    obstacles = [*joined.obstacles, *parts.obstacles]
    if parts.floor and FLOOR.name not in {obstacle.name for obstacle in obstacles}:
        obstacles.insert(0, FLOOR)
    excluded = (*joined.exclusions, *parts.exclude)
    _audit_states(joined, parts, audit)
    joined = replace(
        joined,
        obstacles=tuple(obstacles),
        exclusions=excluded,
        states=(*joined.states, *parts.states),
        gravity=parts.gravity,
    )
    return joined if audit.errors else audit_description(joined, audit)


@dataclass(frozen=True, slots=True)
class _Named:
    name: str
    line: int | None


def audit_parts(parts: SceneParts, audit: Audit) -> None:
    """Add an error for every name that two parts of a scene have."""
    audit_names("part of the scene", _named(parts), audit)


def _named(parts: SceneParts) -> list[_Named]:
    robots = [_Named(name, robot.line) for name, robot in parts.robots.items() if name]
    others: list[Object | Obstacle] = [*parts.objects, *parts.obstacles]
    return [*robots, *(_Named(item.name, item.line) for item in others)]


def _audit_taken(robots: Description, parts: SceneParts, audit: Audit) -> None:
    """Add an error for objects and obstacles with the name of a part of the robots.

    An object has a link, a joint and geometries; an obstacle has only a geometry.
    """
    shapes = {geometry.name: "a geometry" for geometry in robots.geometries}
    joints = {joint.name: "a joint" for joint in robots.joints}
    taken = {**shapes, **joints, **{link.name: "a link" for link in robots.links}}
    _audit_items(parts.objects, taken, audit)
    _audit_items(parts.obstacles, shapes, audit)


def _audit_states(joined: Description, parts: SceneParts, audit: Audit) -> None:
    """Add an error for every joint of a keyframe that the scene does not have."""
    known = [joint.name for joint in joined.joints]
    for state in () if audit.partial else parts.states:
        for name in (name for name in state.positions if name not in known):
            hint = audit.hint(name, known)
            text = f"it names {quote(name)}, which is not a joint of the scene{hint}"
            audit.about("keyframe", state).error("unknown-joint", text, found=name)


def audit_beside_robots(parts: SceneParts, names: Collection[str], audit: Audit) -> None:
    """Add an error for objects and obstacles with the name of a robot of the scene."""
    robots = dict.fromkeys(names, "a robot")
    _audit_items([*parts.objects, *parts.obstacles], robots, audit)


def _audit_items(
    items: Sequence[Object | Obstacle], taken: Mapping[str, str], audit: Audit
) -> None:
    """Add an error for every item with a taken name; `taken` has the owner of each name."""
    for item in items:
        if item.name in taken:
            kind = "object" if isinstance(item, Object) else "obstacle"
            text = f"{taken[item.name]} of the scene has this name; choose another"
            audit.about(kind, item).error("duplicate-name", text)


def _base(robots: Mapping[str, Description], placed: Mapping[str, Placed]) -> str:
    """Return the name of the base: `world`, or a free name if this link cannot be the base."""
    robot = robots.get("")
    if robot is None:
        return WORLD
    links = {link.name for link in robot.links}
    if WORLD not in links:
        return WORLD
    at_home = placed[""].pose == IN_PLACE and not placed[""].floating_base
    return WORLD if at_home and root_of(robot) == WORLD else free_name("scene", links)


def _robot(
    name: str, placed: Placed, package_dirs: Sequence[str | Path], audit: Audit
) -> Description | None:
    """Return the Description of a robot with its surfaces, or None after an error."""
    at = Subject(audit, f"robot {quote(name)}" if name else "the robot", placed.line)
    if not audit_pose("pose", placed.pose, at):
        return None
    try:
        found = described(placed.source, placed.contact, package_dirs, audit)
    except RbdynError as error:
        add_findings(error, at)
        return None
    if found.gravity is not None:
        x, y, z = found.gravity
        text = f"its gravity {x:g} {y:g} {z:g} m/s^2 is not used: a scene has one gravity"
        at.note("gravity", text)
    return _started(without_lines(found), placed, at)


def with_robot(joined: Description, robot: Description, name: str, placed: Placed) -> Description:
    """Return a scene with one more robot."""
    prefix = f"{name}/" if name else ""
    robot = renamed(robot, lambda old: f"{prefix}{old}")
    root, base = root_of(robot), joined.base
    taken = {joint.name for joint in robot.joints}
    if placed.floating_base:
        joint = Joint(
            free_name(f"{prefix}{ROOT_JOINT}", taken),
            "floating",
            base,
            root,
            actuated=False,
            start=coordinates(placed.pose),
        )
    else:
        joint = Joint(
            free_name(f"{prefix}{MOUNT}", taken), "fixed", base, root, origin=placed.pose
        )
    own = () if root == base else (joint,)
    links = robot.links if root != base else tuple(x for x in robot.links if x.name != base)
    joined = replace(
        joined,
        links=(*joined.links, *links),
        joints=(*joined.joints, *own),
        robots=(*joined.robots, root, *robot.robots),
    )
    if root == base:  # replace the base, because the root of the robot may have mass
        root_link = next(link for link in robot.links if link.name == base)
        joined = replace(joined, links=(root_link, *joined.links[1:]))
    return with_all_of(joined, replace(robot, links=()))


def _started(robot: Description, placed: Placed, at: Subject) -> Description:
    """Return a robot whose joints start at the positions in `placed`; errors have its line."""
    known, start, line = {joint.name: joint for joint in robot.joints}, placed.start, placed.line
    for name in start:
        if name not in known:
            message = (
                f"its start names {quote(name)}, which is not a joint{at.audit.hint(name, known)}"
            )
            at.error("unknown-joint", message, found=name, allowed=listing(known))
    joints = tuple(
        replace(joint, start=(start[joint.name],), line=line) if joint.name in start else joint
        for joint in robot.joints
    )
    return replace(robot, joints=joints)
