# SPDX-License-Identifier: Apache-2.0
"""Parts of a scene whose own file has a world: what floats in it, and what stands in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rbdyn_ros.description.build.renaming import root_of
from rbdyn_ros.description.parts.geometries import Obstacle
from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose
from rbdyn_ros.description.parts.types import WORLD, Description, Joint
from rbdyn_ros.errors import DescriptionError, Finding, quote


def without_free_root(found: Description) -> Description:
    """Return a description without its link `world` if the rest is one tree that floats in it.

    MJCF has a world, and a free joint for what moves freely; an object brings its own.
    """
    first = _of_world(found)
    if len(first) != 1 or first[0].type != "floating":
        return found
    gone, root = first[0].name, first[0].child
    states = tuple(
        replace(state, positions={k: x for k, x in state.positions.items() if k != gone})
        for state in found.states
    )
    return replace(
        found,
        links=tuple(link for link in found.links if link.name != WORLD),
        joints=tuple(joint for joint in found.joints if joint.name != gone),
        base=root,
        states=states,
    )


def stands(found: Description, acts: bool) -> bool:
    """Return whether an object of a file is fixed where it is placed.

    Args:
        found: of the file.
        acts: whether its joints keep their actuators.

    Raises:
        DescriptionError: it neither stands nor floats as a whole, or it stands and has obstacles,
            such as terrain, beside other shapes.
    """
    if root_of(found) != WORLD:
        return False
    still = all(joint.type == "fixed" for joint in found.joints)
    if still and (acts or not has_mass(found)) and found.obstacles:
        count = len(found.obstacles) + len(found.geometries)
        raise _refused(
            f"it is fixed in the world and has {count} shapes, not all of which an object can "
            "have; simulate it as a scene file or an SDF world by `rbdyn sim`"
        )
    if acts and (still or any(j.actuated and j.type != "fixed" for j in found.joints)):
        return True
    free = next((joint for joint in _of_world(found) if joint.type != "fixed"), None)
    if free is not None:
        raise _refused(
            f"its joint {quote(free.name)} moves in its world, so it cannot move freely as a "
            "whole; put its file among the robots of a scene"
        )
    return False


def only_solid(item: Object, found: Description, acts: bool) -> Obstacle | None:
    """Return the obstacle that an object of a file is: one shape that is fixed in the world."""
    solids = (*found.obstacles, *found.geometries)
    still = root_of(found) == WORLD and all(joint.type == "fixed" for joint in found.joints)
    if not still or len(solids) != 1 or (has_mass(found) and not acts):
        return None
    if found.obstacles:
        one = found.obstacles[0]
        return replace(one, name=item.name, origin=compose(item.pose, one.origin), line=item.line)
    geometry = found.geometries[0]
    joints = {joint.child: joint for joint in found.joints}
    at = compose(item.pose, compose(_place(geometry.link, joints), geometry.origin))
    friction, masks = geometry.surface.friction, geometry.filter
    return Obstacle(item.name, geometry.shape, at, friction, item.line, masks)


def has_mass(found: Description) -> bool:
    """Return whether a link has mass."""
    return any(link.inertial is not None and link.inertial.mass > 0.0 for link in found.links)


def _of_world(found: Description) -> list[Joint]:
    """Return the joints that lead from the link `world`, if it is the root."""
    if root_of(found) != WORLD:
        return []
    return [joint for joint in found.joints if joint.parent == WORLD and not joint.closes_loop]


def _place(link: str, joints: Mapping[str, Joint]) -> Pose:
    """Return the pose in the world of a link that fixed joints connect to it."""
    if link == WORLD:
        return IN_PLACE
    joint = joints[link]
    return compose(_place(joint.parent, joints), joint.origin)


def _refused(text: str) -> DescriptionError:
    return DescriptionError(Finding("not-an-object", text))
