# SPDX-License-Identifier: Apache-2.0
"""Read the joints of a URDF that close loops.

Three extensions of URDF describe them next to the tree of joints:

    <loop_joint name="l" type="spherical">            Isaac Sim
      <link1 link="a" xyz="0 0 1" rpy="0 0 0"/><link2 link="b" xyz="0 0 0" rpy="0 0 0"/>
    </loop_joint>

    <loop name="l" type="revolute">                   URDF+, Chignoli et al. 2024
      <predecessor link="a"><origin xyz="0 0 1"/></predecessor>
      <successor link="b"><origin xyz="0 0 0"/></successor><axis xyz="0 0 1"/>
    </loop>

    <constraint name="l" type="revolute">             proposed for URDF, urdfdom #264
      <parent link="a"/><parent_origin xyz="0 0 1"/><parent_axis xyz="0 0 1"/>
      <child link="b"/><child_origin xyz="0 0 0"/><child_axis xyz="0 0 1"/>
    </constraint>

All three may have the <limit>, <dynamics> and <mimic> of a joint.
"""

from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree as ET

from rbdyn_ros.description.parts.poses import Pose, Vec3, compose, inverse, turn_of_z
from rbdyn_ros.description.parts.types import Joint, Limit, Mimic
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.description.urdf_files.pruned import pose_of, vector
from rbdyn_ros.description.urdf_files.schema import LOOPS

_X_AXIS = (1.0, 0.0, 0.0)


def take_loops(robot: Element) -> tuple[Joint, ...]:
    """Remove the loops from a pruned tree and return their joints."""
    parts = [part for part in robot if isinstance(part, Element) and part.tag in LOOPS]
    for part in parts:
        robot.remove(part)
    return tuple(_loops(parts))


def _loops(parts: list[Element]) -> Iterator[Joint]:
    for part in parts:
        ends = [end for tag in LOOPS[part.tag] for end in part.iterfind(tag)]
        dynamics = part.find("dynamics")
        forces = {} if dynamics is None else dynamics.attrib
        joint = Joint(
            name=part.attrib["name"],
            type=part.attrib["type"],
            parent=ends[0].attrib["link"],
            child=ends[1].attrib["link"],
            limit=_limit(part),
            mimic=_mimic(part),
            line=part.line,
            closes_loop=True,
            damping=float(forces.get("damping", "0")),
            friction=float(forces.get("friction", "0")),
        )
        if part.tag == "constraint":
            yield _constrained(joint, part)
            continue
        axis = _axis(part, "axis", _X_AXIS)
        origin, child_origin = map(_frame, ends)
        yield replace(joint, origin=origin, child_origin=child_origin, axis=axis)


def _constrained(joint: Joint, part: Element) -> Joint:
    """Return the joint of a <constraint>, which has an axis at each end."""
    origin, child_origin = (
        Pose() if (at := part.find(tag)) is None else pose_of(at)
        for tag in ("parent_origin", "child_origin")
    )
    axis = _axis(part, "parent_axis", _X_AXIS)
    other = _axis(part, "child_axis", axis)
    joint = replace(joint, origin=origin, child_origin=child_origin, axis=axis)
    if joint.type == "universal":
        return replace(joint, axis2=other)
    if other == axis or not any(axis) or not any(other):
        return joint
    turn = compose(Pose(quat=turn_of_z(other)), inverse(Pose(quat=turn_of_z(axis))))
    # after this rotation both axes coincide
    return replace(joint, child_origin=compose(child_origin, turn))


def _axis(part: Element, tag: str, usual: Vec3) -> Vec3:
    found = part.find(tag)
    return usual if found is None else vector(found, "xyz", usual)


def _limit(part: Element) -> Limit | None:
    limit = part.find("limit")
    if limit is None:
        return None
    given = {name: float(text) for name, text in limit.attrib.items()}
    if part.attrib["type"] in ("revolute", "prismatic"):  # the defaults of URDF
        given = {"lower": 0.0, "upper": 0.0} | given
    return Limit(**given)


def _mimic(part: Element) -> Mimic | None:
    mimic = part.find("mimic")
    if mimic is None:
        return None
    ratio, offset = mimic.attrib.get("multiplier", "1"), mimic.attrib.get("offset", "0")
    return Mimic(mimic.attrib["joint"], float(ratio), float(offset))


def _frame(end: ET.Element) -> Pose:
    """Return the frame of a loop joint at one of its ends."""
    origin = end.find("origin")
    return pose_of(end if origin is None else origin)
