# SPDX-License-Identifier: Apache-2.0
"""Parts of a scene whose file has its own world: the floating and the fixed parts of the file."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rbdyn_ros.description.build.renaming import root_of
from rbdyn_ros.description.parts import geometries
from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose, inverse, rotate
from rbdyn_ros.description.parts.types import WORLD, Description, Joint, Length, Roll
from rbdyn_ros.errors import DescriptionError, Finding, counted, quote

_AXES = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
#: Shapes that no link can have.
_TERRAIN = (geometries.Plane, geometries.HeightField, geometries.TriangleMesh)
#: Poses nearer to the origin than this count as the origin [m, rad / 2].
_ROUNDING = 1e-9


def without_free_root(found: Description) -> Description:
    """Return a description without its link `world` if the rest is one tree that floats in it.

    MJCF has a world, and a free joint for each free body; an object has its own floating joint.

    Raises:
        DescriptionError: a constraint connects the tree to the world.
    """
    sites = _empty_links(found)
    first = [joint for joint in _of_world(found) if joint.child not in sites]
    if len(first) != 1 or first[0].type != "floating":
        return found
    gone, root = first[0].name, first[0].child
    lost = {WORLD, *sites}
    _check_loose(found, lost)
    states = tuple(
        replace(state, positions={k: x for k, x in state.positions.items() if k != gone})
        for state in found.states
    )
    shapes = tuple(shape for shape in found.geometries if shape.link not in lost)
    kept = {shape.name for shape in shapes} | {link.name for link in found.links} - lost
    pairs = tuple(pair for pair in found.exclusions if {pair.first, pair.second} <= kept)
    findings = found.findings
    if count := len(found.obstacles) + len(found.geometries) - len(shapes):
        lost_shapes = counted(count, "shape")
        text = f"an object has no world of its own, so it loses {lost_shapes} of its world"
        findings = (*findings, Finding("world-left-out", text, "warning"))
    return replace(
        found,
        links=tuple(link for link in found.links if link.name not in lost),
        joints=tuple(joint for joint in found.joints if joint.child not in sites | {root}),
        base=root,
        states=states,
        geometries=shapes,
        obstacles=(),
        exclusions=pairs,
        findings=findings,
    )


def _empty_links(found: Description) -> set[str]:
    """Return the links fixed in the world that have no mass, shape or child, such as sites."""
    used = {joint.parent for joint in found.joints} | {one.link for one in found.geometries}
    used |= {joint.child for joint in found.joints if joint.closes_loop}
    used |= {name for sensor in found.sensors for name in (sensor.link, sensor.frame)}
    used |= {link.name for link in found.links if link.inertial is not None}
    fixed = (joint.child for joint in _of_world(found) if joint.type == "fixed")
    return {name for name in fixed if name not in used}


def _check_loose(found: Description, lost: set[str]) -> None:
    """Raise DescriptionError if a loop, a spring or a constraint has a link that is left out."""
    ends = {joint.name: {joint.parent, joint.child} for joint in found.joints if joint.closes_loop}
    ends |= {spring.name: {spring.link1, spring.link2} for spring in found.springs}
    ends |= {one.name: set(one.links) for one in found.constraints if isinstance(one, Length)}
    ends |= {one.name: {one.link, one.on} for one in found.constraints if isinstance(one, Roll)}
    ends |= {one.name: {one.link, one.frame} for one in found.sensors}
    held = next((name for name, links in ends.items() if links & lost), None)
    if held is not None:
        raise _refused(
            f"its {quote(held)} connects it to its own world, which an object does not have; "
            "delete it"
        )


def stands(found: Description, acts: bool) -> bool:
    """Return whether an object of a file is fixed where it is placed.

    Args:
        found: content of the file; see with_shapes_of_links.
        acts: whether its joints keep their actuators.

    Raises:
        DescriptionError: it is neither fixed nor free as a whole, or it is fixed and its shapes
            are neither one obstacle nor a robot.
    """
    if root_of(found) != WORLD:
        return False
    still = is_still(found)
    if still and found.obstacles:
        raise _refused(
            "it is fixed in the world and has terrain or a plane beside other shapes or away from "
            "its origin; an object has one such shape, at its origin"
        )
    if still and found.geometries and not acts:
        raise _refused(
            f"it is fixed in the world and has {len(found.geometries)} shapes; without actuators "
            "it may have one, at its origin: list its shapes among the obstacles of the scene"
        )
    if acts and (still or any(j.actuated and j.type != "fixed" for j in found.joints)):
        return True
    free = next((joint for joint in _of_world(found) if joint.type != "fixed"), None)
    if free is not None:
        raise _refused(
            f"its link {quote(free.child)} moves in its world, so it cannot move freely as a "
            "whole; an object is one tree of links, or has actuators"
        )
    return False


def is_still(found: Description) -> bool:
    """Return whether a file has a world in which nothing moves."""
    return root_of(found) == WORLD and all(joint.type == "fixed" for joint in found.joints)


def with_shapes_of_links(found: Description) -> Description:
    """Return the fixed parts, with their convex obstacles as shapes of the link `world`."""
    if not is_still(found):
        return found
    convex = [one for one in found.obstacles if not isinstance(one.shape, _TERRAIN)]
    moved = tuple(
        geometries.Geometry(
            one.name,
            WORLD,
            one.shape,  # type: ignore[arg-type]
            one.origin,
            geometries.Surface(friction=one.friction),
            one.line,
            one.filter,
        )
        for one in convex
    )
    kept = tuple(one for one in found.obstacles if isinstance(one.shape, _TERRAIN))
    return replace(found, obstacles=kept, geometries=(*found.geometries, *moved))


def only_solid(item: Object, found: Description) -> geometries.Obstacle | None:
    """Return an object of a file as an obstacle; None unless it is one fixed shape at its origin.

    A triangle mesh may be elsewhere: its corners are moved, so that the obstacle has the pose of
    the object.
    """
    if not is_still(found) or len(found.obstacles) + len(found.geometries) != 1:
        return None
    if found.obstacles:
        one = found.obstacles[0]
        if isinstance(one.shape, geometries.TriangleMesh):
            axes = [rotate(one.origin.quat, axis) for axis in _AXES]
            mesh = geometries.TriangleMesh(
                one.shape.vertices @ axes + one.origin.pos, one.shape.faces
            )
            one = replace(one, shape=mesh, origin=IN_PLACE)
        if not _is_in_place(one.origin):
            return None
        return replace(one, name=item.name, origin=item.pose, line=item.line)
    geometry = found.geometries[0]
    joints = {joint.child: joint for joint in found.joints if not joint.closes_loop}
    if not _is_in_place(compose(_place(geometry.link, joints), geometry.origin)):
        return None
    friction, masks = geometry.surface.friction, geometry.filter
    return geometries.Obstacle(item.name, geometry.shape, item.pose, friction, item.line, masks)


def has_mass(found: Description) -> bool:
    """Return whether any link of a description has mass."""
    return any(link.inertial is not None and link.inertial.mass > 0.0 for link in found.links)


def _of_world(found: Description) -> list[Joint]:
    """Return the joints that lead from the link `world`, if it is the root."""
    if root_of(found) != WORLD:
        return []
    return [joint for joint in found.joints if joint.parent == WORLD and not joint.closes_loop]


def _place(link: str, joints: Mapping[str, Joint]) -> Pose:
    """Return the pose in the world of a link that fixed joints connect to the world."""
    at = IN_PLACE
    while link != WORLD:
        joint = joints[link]
        at = compose(joint.origin, compose(inverse(joint.child_origin), at))
        link = joint.parent
    return at


def _is_in_place(pose: Pose) -> bool:
    """Return whether a pose is the identity, up to rounding."""
    turned = np.linalg.norm(pose.quat[1:])
    return bool(max(np.linalg.norm(pose.pos), turned) < _ROUNDING)


def _refused(text: str) -> DescriptionError:
    return DescriptionError(Finding("not-an-object", text))
