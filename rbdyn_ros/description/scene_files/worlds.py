# SPDX-License-Identifier: Apache-2.0
"""Read the world of an SDF file as the parts of a scene."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.parts.geometries import Box, Exclusion, Obstacle, Sphere
from rbdyn_ros.description.parts.objects import Object, Placed
from rbdyn_ros.description.parts.poses import compose
from rbdyn_ros.description.scenes.scene import SceneParts
from rbdyn_ros.description.sdf_files.groups import Grouping, SdfGroup, note_lost
from rbdyn_ros.description.sdf_files.models import read_tree
from rbdyn_ros.description.sdf_files.sdf import LOOKS


def read_world(path: Path, audit: Audit, package_dirs: Sequence[str | Path] = ()) -> SceneParts:
    """Return the parts of the world of an SDF file.

    A model whose joints move is a robot, any other model that moves is a free object. The spheres,
    boxes, planes and height fields of a static model are obstacles; its other shapes and its
    sensors belong to a robot without joints.

    Args:
        path: path of the file.
        audit: receives the errors.
        package_dirs: folders to search for models and packages.

    Raises:
        DescriptionError: the file cannot be read, or is no SDF.
    """
    tree = read_tree(path, audit, package_dirs)
    part = tree.world.part
    if not tree.is_world:
        part.error("not-a-scene", "the file has no <world>", allowed="<world>")
    audit.raise_errors(str(path))
    groups = Grouping(tree, str(path), audit, package_dirs, touches=True).groups()
    gravity = part.vector("gravity", default=None)
    for document in tree.files:
        document.report(LOOKS)
    audit.raise_errors(str(path))
    robots: dict[str, Placed] = {}
    objects: list[Object] = []
    obstacles: list[Obstacle] = []
    collides = any(group.collides and group.moves for group in groups)
    for group in groups:
        own = replace(group.description, self_collision=collides)
        if group.is_static:
            obstacles += _obstacles(group, audit)
            robots |= _static_robot(group, collides)
        elif group.is_object:
            objects.append(Object(group.name, own, pose=group.at, line=own.links[0].line))
        else:
            robots[group.name] = Placed(own, group.at, group.floats)
    excluded = _excluded([group for group in groups if not group.is_static], collides)
    name = part.name or path.stem
    return SceneParts(
        name, robots, objects, obstacles, floor=False, exclude=excluded, gravity=gravity
    )


def _excluded(groups: Sequence[SdfGroup], collides: bool) -> list[Exclusion]:
    """Return the pairs of links of one model that pass through each other, as by default in SDF.

    Args:
        groups: the groups that move.
        collides: whether links of one robot touch if no pair says otherwise.
    """
    found = []
    for model in dict.fromkeys(group.model for group in groups if not group.collides):
        links = [(k, x) for k, one in enumerate(groups) if one.model == model for x in _links(one)]
        found += [
            Exclusion(a, b, links=True)
            for (one, a), (other, b) in combinations(links, 2)
            if one != other or collides
        ]
    return found


def _links(group: SdfGroup) -> list[str]:
    """Return the names in the scene of the links of a group that have geometries."""
    links = dict.fromkeys(geom.link for geom in group.description.geometries)
    return [group.in_scene(link) for link in links]


def _obstacles(group: SdfGroup, audit: Audit) -> list[Obstacle]:
    """Return the shapes of a static model that can be obstacles."""
    own = group.description
    solids = [geom for geom in own.geometries if isinstance(geom.shape, Box | Sphere)]
    for geom in solids:
        note_lost(geom.name, geom.surface, geom.line, audit)
    places = {joint.child: joint.origin for joint in own.joints}
    found = [
        *own.obstacles,
        *(
            Obstacle(
                geom.name,
                geom.shape,
                compose(places[geom.link], geom.origin),
                geom.surface.friction,
                geom.line,
                geom.filter,
            )
            for geom in solids
        ),
    ]
    if not own.sensors and len(found) == 1 == len(own.obstacles) + len(own.geometries):
        return [replace(found[0], name=group.name)]
    return [replace(one, name=f"{group.name}/{one.name}") for one in found]


def _static_robot(group: SdfGroup, collides: bool) -> dict[str, Placed]:
    """Return by name a robot without joints, with other shapes and sensors of a static model.

    Return an empty mapping if there are none.
    """
    own = group.description
    left = tuple(geom for geom in own.geometries if not isinstance(geom.shape, Box | Sphere))
    if not (left or own.sensors):
        return {}
    fixed = replace(own, geometries=left, obstacles=(), self_collision=collides)
    return {group.name: Placed(fixed)}
