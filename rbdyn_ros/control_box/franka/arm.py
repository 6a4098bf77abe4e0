# SPDX-License-Identifier: Apache-2.0
"""The arm of the box: seven joints of the simulated robot, and the bodies behind them."""

import re
from xml.etree import ElementTree as ET

import numpy as np

from rbdyn_ros.control_box.arm import BoxedJoints
from rbdyn_ros.control_box.franka.limits import limits_of
from rbdyn_ros.control_box.links import behind, inertials, lumped, urdf_alone
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Joint
from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat

#: The flange in link 7 [m], and the tool centre of Franka's hand in the flange [m, rad].
FLANGE, TOOL, TOOL_TURN = 0.107, 0.1034, -np.pi / 4
#: Names of the joints.
ARM_JOINT = re.compile(r"joint([1-7])$")
#: A usual pose of the arm [rad].
READY = (0.0, -np.pi / 4, 0.0, -3.0 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4)


class FrankaArm(BoxedJoints):
    """Finds the arm in a simulated robot, and computes its dynamics.

    Args:
        m: the robot or scene.
        description: description of the robot or scene.
        prefix: prefix of the names of this arm's joints, such as `left/`; empty: there is one arm.

    Attributes:
        finger_joints: indices of the finger joints in the simulated Model.
        finger_effort, finger_reach: limits of the fingers.
        mimics: whether a finger follows the other finger.
        limits: limits of the interface.
        F_T_NE: nominal end effector in the flange (4, 4).

    Raises:
        RbdynError: the robot has no such arm, or the base of the arm moves.
    """

    def __init__(self, m: Model, description: Description, prefix: str = "") -> None:
        joints = _arm_joints(description, prefix)
        super().__init__(m, joints, "an arm of Franka")
        _check_axes(joints)
        self.limits = limits_of(float(self.upper[3]))
        tails = [behind(description, joint.child) for joint in joints]
        self._find_fingers(m, tails[-1])
        links = inertials(m, description, joints, tails)
        bodies = {j.child: links[j.child] for j in tails[-1]}
        flange = Pose((0.0, 0.0, FLANGE))
        self.hand = lumped(m, joints[-1].child, bodies, flange)
        name = self.limits.name.lower()
        base = m.frame_id(joints[0].parent)
        gravity = quat_to_mat(m.frame_quat[base]).T @ m.opt.gravity
        self.build(urdf_alone(name, joints, links, flange, extend=self._add_limits), gravity)
        self.F_T_NE = np.eye(4)
        if self.finger_joints:
            c, s = np.cos(TOOL_TURN), np.sin(TOOL_TURN)
            self.F_T_NE[:2, :2], self.F_T_NE[2, 3] = [[c, -s], [s, c]], TOOL

    def _find_fingers(self, m: Model, tail: list[Joint]) -> None:
        slides = [j for j in tail if j.type == "prismatic"]
        self.finger_joints = [m.jnt_names.index(j.name) for j in slides if j.mimic is None]
        self.fingers = m.jnt_dofadr[self.finger_joints].astype(np.int64)
        self.fingers_at = m.jnt_qposadr[self.finger_joints].astype(np.int64)
        self.finger_effort = m.jnt_effort[self.finger_joints].copy()
        self.finger_reach = m.jnt_range[self.finger_joints, 1].copy()
        self.mimics = any(j.mimic is not None for j in slides)

    def _add_limits(self, joint: ET.Element, k: int) -> None:
        """Add the element with velocity limits that libfranka needs in joint k, from 0."""
        offsets = {
            "velocity_offset": repr(float(self.limits.velocity_offset[k])),
            "deceleration_limit": repr(float(self.limits.deceleration[k])),
        }
        ET.SubElement(joint, "position_based_velocity_limits", offsets)


def _arm_joints(description: Description, prefix: str) -> list[Joint]:
    """Return joints 1 to 7 of the arm, whose names begin with `prefix`, or raise RbdynError."""
    found: dict[int, list[Joint]] = {}
    for joint in description.joints:
        match = ARM_JOINT.search(joint.name)  # joints of fingers match, too, but slide
        if match and joint.name.startswith(prefix) and joint.type != "prismatic":
            found.setdefault(int(match[1]), []).append(joint)
    chain = [found.get(k, []) for k in range(1, 8)]
    if any(len(joints) > 1 for joints in chain):
        names = ", ".join(quote(joint.name) for joint in chain[0])
        raise refusal(f"there are several arms, with joints {names}; name one, as `left/franka`")
    lacks = [f"...joint{k + 1}" for k, joints in enumerate(chain) if not joints]
    if lacks:
        raise refusal(
            "this robot is not an arm of Franka: it needs revolute joints ...joint1 to ...joint7 "
            f"in one chain, and lacks {', '.join(lacks)}"
        )
    return [joints[0] for joints in chain]


def _check_axes(joints: list[Joint]) -> None:
    for joint in joints:
        if joint.type != "revolute" or joint.limit is None or np.abs(joint.axis[2]) < 1.0 - 1e-9:
            raise refusal(
                f"joint {quote(joint.name)} is not a joint of Franka's arms: it must be revolute "
                "about its z axis, with limits"
            )
