# SPDX-License-Identifier: Apache-2.0
"""The keyframes of an MJCF as named poses of its joints."""

from __future__ import annotations

from rbdyn_ros.description.mjcf_files.bodies import BodyTree
from rbdyn_ros.description.mjcf_files.document import MjcfDocument
from rbdyn_ros.description.parts.geometries import GroupState
from rbdyn_ros.description.parts.types import Joint
from rbdyn_ros.errors import quote

_COORDINATES = {"fixed": 0, "floating": 7, "spherical": 4}


def read_keyframes(document: MjcfDocument, tree: BodyTree) -> list[GroupState]:
    """Return a pose for each <key>."""
    states, names = list[GroupState](), set[str]()
    count = sum(_coordinates(joint) for joint in tree.joints)
    for number, element in enumerate(document.sections("keyframe")):
        name = element.get("name") or f"key{number}"
        item = document.item(element, f"keyframe {quote(name)}")
        if name in names:
            message = "another keyframe has this name; names must be unique"
            item.error("duplicate-name", message, found=name)
        names.add(name)
        given = item.numbers("qpos", 1, count) if count else []
        if given:
            if len(given) < count:
                message = f"qpos has {len(given)} of {count} numbers; the others stay at the start"
                item.warn("short-keyframe", message)
            states.append(GroupState(name, _positions(tree.joints, given), item.line))
    return states


def _coordinates(joint: Joint) -> int:
    return _COORDINATES.get(joint.type, 1)


def _positions(joints: list[Joint], given: list[float]) -> dict[str, float | tuple[float, ...]]:
    """Return the numbers of a keyframe by joint; the order of MuJoCo is that of the file."""
    found: dict[str, float | tuple[float, ...]] = {}
    first = 0
    for joint in joints:
        last = first + _coordinates(joint)
        if last > len(given):
            break
        if last == first + 1:
            found[joint.name] = given[first]
        elif last > first:
            found[joint.name] = tuple(given[first:last])
        first = last
    return found
