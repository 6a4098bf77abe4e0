# SPDX-License-Identifier: Apache-2.0
"""The joints of MJCF: hinges and slides. Joints of several coordinates consist of these."""

import math
from xml.etree import ElementTree as ET

from rbdyn_ros.description.parts.poses import IN_PLACE, Vec3, rotate
from rbdyn_ros.description.parts.types import Joint, Limit
from rbdyn_ros.errors import quote
from rbdyn_ros.model.tree.joint_arrays import joint_basis
from rbdyn_ros.writing.left_out import LeftOut, refuse_joint
from rbdyn_ros.writing.xml import words

#: By joint type, for each coordinate: MJCF joint, row of the basis along its axis, end of its
#: name.
COMPOSED: dict[str, tuple[tuple[str, int, str], ...]] = {
    "fixed": (),
    "revolute": (("hinge", 2, ""),),
    "continuous": (("hinge", 2, ""),),
    "prismatic": (("slide", 2, ""),),
    "cylindrical": (("hinge", 2, "_turn"), ("slide", 2, "_slide")),
    "universal": (("hinge", 0, "_1"), ("hinge", 1, "_2")),
    "planar": (("slide", 0, "_x"), ("slide", 1, "_y"), ("hinge", 2, "_turn")),
    "spherical_ypr": (("hinge", 2, "_yaw"), ("hinge", 1, "_pitch"), ("hinge", 0, "_roll")),
}
_SAID = (
    "damping", "friction", "stiffness", "rest", "armature", "mimic", "start", "lower", "upper",
    "effort",
)  # fmt: skip


def coordinates(joint: Joint) -> list[str]:
    """Return the MJCF joint of each coordinate, or [] for a ball, free or fixed joint."""
    return [f"{joint.name}{suffix}" for _, _, suffix in COMPOSED.get(joint.type, ())]


def add_joints(body: ET.Element, joint: Joint, in_world: bool, left: LeftOut) -> None:
    """Add the joints of MJCF that move a body; `in_world` says whether its parent is the world.

    Raises:
        ParameterError: MJCF has no such joint.
    """
    if joint.type == "floating":
        _free(body, joint, in_world, left)
    elif joint.type == "spherical":
        left.joint(joint, {*_SAID} - {"effort", "lower", "mimic"})
        part = ET.SubElement(body, "joint", name=joint.name, type="ball")
        part.set("pos", words(*joint.child_origin.pos))
        _passive(part, joint, ())
        if joint.child_origin.quat != IN_PLACE.quat:
            owner = f"joint {quote(joint.name)}"
            left.note(owner, "MuJoCo's quaternion is in the axes of the link, not of the joint")
        limit = joint.limit or (joint.limits[0] if joint.limits else Limit())
        if math.isfinite(limit.upper):
            part.set("range", words(0.0, limit.upper))
    elif joint.type in COMPOSED:
        left.joint(joint, _SAID)
        _composed(body, joint, left)
    else:
        raise refuse_joint(joint, "MJCF")


def _free(body: ET.Element, joint: Joint, in_world: bool, left: LeftOut) -> None:
    if not in_world:
        raise refuse_joint(joint, "MJCF", "a free joint of MJCF is between the world and a body")
    left.joint(joint, ("damping", "friction", "armature", "actuated", "start"))
    if joint.damping or joint.friction or joint.armature:
        _passive(ET.SubElement(body, "joint", name=joint.name, type="free"), joint, ())
    else:
        ET.SubElement(body, "freejoint", name=joint.name)


def _composed(body: ET.Element, joint: Joint, left: LeftOut) -> None:
    owner = f"joint {quote(joint.name)}"
    basis = joint_basis(joint)
    limits = joint.limits or ((joint.limit,) if joint.limit else ())
    for k, (kind, row, suffix) in enumerate(COMPOSED[joint.type]):
        part = ET.SubElement(body, "joint", name=f"{joint.name}{suffix}", type=kind)
        x, y, z = basis[row].tolist()
        axis: Vec3 = (x, y, z)
        if any(joint.child_origin.pos):
            part.set("pos", words(*joint.child_origin.pos))
        part.set("axis", words(*rotate(joint.child_origin.quat, axis)))
        _passive(part, joint, joint.rest[k : k + 1])
        limit = limits[k] if k < len(limits) else Limit()
        bounds = limit.lower, limit.upper
        effort = max(limit.effort, LEAST)
        if bounds[0] == bounds[1] or limit.effort < LEAST:
            left.note(owner, f"a range of 0 limits nothing in MuJoCo; {LEAST:g} is written")
        if bounds[0] == bounds[1]:
            bounds = bounds[0], bounds[0] + LEAST
        if any(map(math.isfinite, bounds)):
            # MJCF needs both bounds or neither
            part.set("range", words(*(min(max(bound, -FAR), FAR) for bound in bounds)))
        if math.isfinite(effort):
            part.set("actuatorfrcrange", words(-effort, effort))


#: Replaces the missing bound of a joint that has only one bound [rad or m].
FAR = 1e9
#: The smallest range and effort limit that are written [rad, m, N m or N].
LEAST = 1e-9


def _passive(part: ET.Element, joint: Joint, rest: tuple[float, ...]) -> None:
    numbers = {
        "damping": joint.damping,
        "frictionloss": joint.friction,
        "armature": joint.armature,
        "stiffness": joint.stiffness,
        "springref": rest[0] if rest else 0.0,
    }
    for name, value in numbers.items():
        if value:
            part.set(name, words(value))
