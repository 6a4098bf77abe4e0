# SPDX-License-Identifier: Apache-2.0
"""Read what a URDF says to ros2_control: where the joints of a simulated robot start.

    <ros2_control name="arm" type="system">
      <hardware>...</hardware>
      <joint name="j">
        <command_interface name="position"><param name="min">-1</param></command_interface>
        <state_interface name="position"><param name="initial_value">0.5</param></state_interface>
      </joint>
    </ros2_control>

The rest is for the controllers and the hardware of a robot; a note names each part once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import Description, Joint
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.description.xml_files.unused import Unused
from rbdyn_ros.errors import quote

#: What guard.parse reads of it, beside the children of a joint of the robot.
WANTED = {
    "ros2_control": frozenset(("joint",)),
    "state_interface": frozenset(("param",)),
    "command_interface": frozenset(("param",)),
    "param": frozenset[str](),
}
IN_JOINTS = frozenset(("state_interface", "command_interface", "param"))


@dataclass(frozen=True, slots=True)
class Start:
    """The text of an initial value and its line."""

    text: str
    line: int


def take_controls(robot: Element, unused: Unused) -> dict[str, Start]:
    """Remove <ros2_control> from a tree; return the initial positions by joint.

    Args:
        robot: root of the tree.
        unused: gets the parts that nothing reads.
    """
    parts = [part for part in robot if isinstance(part, Element) and part.tag == "ros2_control"]
    found: dict[str, Start] = {}
    for part in parts:
        robot.remove(part)
        for child in _elements(part):
            if child.tag != "joint":
                name = child.get("name")
                named = f" name={quote(name)}" if name else ""
                unused.count(f"<ros2_control> <{child.tag}{named}>", child.line, child.tag)
                continue
            for name, param in _params(child, unused):
                if name == "position initial_value":
                    found[child.get("name", "")] = Start(param.text or "", param.line)
                else:
                    unused.count(f"<ros2_control> {name}", param.line, name.rpartition(" ")[2])
    return found


def _params(joint: Element, unused: Unused) -> Iterator[tuple[str, Element]]:
    """Yield the parameters of a joint, each with its interface and name."""
    for part in _elements(joint):
        if part.tag == "param":
            yield f"<joint> {part.get('name', '')}", part
        elif part.tag not in IN_JOINTS:
            unused.count(f"<ros2_control> <joint> <{part.tag}>", part.line, part.tag)
        for param in _elements(part):
            word = part.get("name", "") if part.tag == "state_interface" else f"<{part.tag}>"
            yield f"{word} {param.get('name', '')}", param


def _elements(parent: Element) -> Iterator[Element]:
    return (child for child in parent if isinstance(child, Element))


def with_starts(robot: Description, starts: Mapping[str, Start], audit: Audit) -> Description:
    """Return a robot whose joints start where <ros2_control> says; warn where they cannot."""
    joints = tuple(
        _started(joint, starts[joint.name], audit) if joint.name in starts else joint
        for joint in robot.joints
    )
    known = {joint.name for joint in robot.joints}
    for name, start in starts.items():
        if name not in known:
            _warn(
                name, start, f"the robot has no joint of this name{audit.hint(name, known)}", audit
            )
    return replace(robot, joints=joints)


def _started(joint: Joint, start: Start, audit: Audit) -> Joint:
    try:
        value = float(start.text)
    except ValueError:
        value = math.nan
    spec, limit = JOINT_SPECS.get(joint.type), joint.limit
    why = ""
    if not math.isfinite(value):
        why = "it is not a finite number"
    elif spec is None or len(spec.coordinates) != 1 or joint.mimic is not None:
        why = f"a {'mimic' if joint.mimic else joint.type} joint has no start of its own"
    elif limit is not None and not limit.lower <= value <= limit.upper:
        why = f"it is outside the limits {limit.lower:g} to {limit.upper:g}"
    if why:
        if value != 0.0:
            _warn(joint.name, start, why, audit)
        return joint
    return replace(joint, start=(value,)) if value else joint


def _warn(joint: str, start: Start, why: str, audit: Audit) -> None:
    message = f"the initial_value {quote(start.text)} of <ros2_control> is not used: {why}"
    owner = f"joint {quote(joint)}"
    audit.add("warning", "initial-value", owner, start.line, message, found=start.text)
