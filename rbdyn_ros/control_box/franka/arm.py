# SPDX-License-Identifier: Apache-2.0
"""The arm as the box knows it: seven joints of the simulated robot, and what hangs behind them."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control_box.franka.limits import InterfaceLimits, limits_of
from rbdyn_ros.description.parts.poses import Pose, rpy_from_quat
from rbdyn_ros.description.parts.types import Description, Inertial, Joint
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian, frame_pose
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.dynamics.toolbox.terms import coriolis_term, gravity_term
from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.loading.load import load_urdf
from rbdyn_ros.model.joints import JointType
from rbdyn_ros.model.model import Model, with_arrays
from rbdyn_ros.model.model_fields import PRIMARY
from rbdyn_ros.model.rotation import quat_to_mat

#: Rotor inertia that a torque-controlled joint shows, where the robot file has none [kg m^2].
#: Source: MuJoCo Menagerie, franka_emika_panda; the bare rotors of an FR3 have 0.2 to 0.6.
ROTOR = 0.1
#: The flange in link 7 [m], and the tool centre of Franka's hand in the flange [m, rad].
FLANGE, TOOL, TOOL_TURN = 0.107, 0.1034, -np.pi / 4
_ARM_JOINT = re.compile(r"joint([1-7])$")


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """A rigid body at the flange.

    Attributes:
        mass: [kg].
        com: (3,) in the flange [m].
        inertia: (3, 3) about the centre of mass, axes of the flange [kg m^2].
    """

    mass: float
    com: Array
    inertia: Array

    @property
    def six(self) -> Array:
        """Ixx Iyy Izz Ixy Ixz Iyz."""
        I = self.inertia
        return np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])


NO_LOAD = Load(0.0, np.zeros(3), np.zeros((3, 3)))


class FrankaArm:
    """Finds the arm in a simulated robot, and computes its dynamics.

    Args:
        m: the robot or scene.
        description: of it.
        prefix: of the names of this arm's joints, as `left/`; empty: the only arm.

    Attributes:
        m: the arm alone, with hand and load; O is its world.
        dofs, qposadr: (7,) of the joints in the simulated Model.
        fingers: dofs of the hand's fingers in the simulated Model; empty: no hand.
        finger_joints: their numbers in the simulated Model.
        limits: of the interface.
        lower, upper, effort: (7,) limits of the URDF.
        urdf: the arm alone as text, which clients build their model from.
        hand: what hangs behind the flange.
        F_T_NE: (4, 4).

    Raises:
        RbdynError: this robot has no such arm, or its base moves.
    """

    def __init__(self, m: Model, description: Description, prefix: str = "") -> None:
        joints = _arm_joints(description, prefix)
        numbers = [m.jnt_names.index(joint.name) for joint in joints]
        self.dofs: Ints = m.jnt_dofadr[numbers].astype(np.int64)
        self.qposadr: Ints = m.jnt_qposadr[numbers].astype(np.int64)
        self.lower, self.upper = m.jnt_range[numbers].T.copy()
        self.effort = m.jnt_effort[numbers].copy()
        self.armature, self.damping = m.dof_armature[self.dofs], m.dof_damping[self.dofs]
        self.friction = m.dof_frictionloss[self.dofs]
        self.limits = limits_of(float(self.upper[3]))
        base = m.frame_id(joints[0].parent)
        if m.frame_bodyid[base] != 0:
            raise refusal(
                f"link {quote(joints[0].parent)} moves; a Franka control box needs an arm whose "
                "base is fixed to the world"
            )
        tails = [_behind(description, joint.child) for joint in joints]
        behind = tails[-1]
        self.finger_joints = [
            m.jnt_names.index(j.name) for j in behind if j.type == "prismatic" and j.mimic is None
        ]
        self.fingers: Ints = m.jnt_dofadr[self.finger_joints].astype(np.int64)
        self.fingers_at: Ints = m.jnt_qposadr[self.finger_joints].astype(np.int64)
        self.finger_effort = m.jnt_effort[self.finger_joints].copy()
        self.finger_reach = m.jnt_range[self.finger_joints, 1].copy()
        self.mimics = any(j.type == "prismatic" and j.mimic is not None for j in behind)
        links = _inertials(m, description, joints, tails)
        bodies = {j.child: links[j.child] for j in behind}
        self.hand = _lumped(m, joints[-1].child, bodies, np.array([0.0, 0.0, FLANGE]))
        self.urdf = _urdf(self.limits, joints, links)
        self._alone = load_urdf(self.urdf)
        self._alone.opt.gravity = tuple(quat_to_mat(m.frame_quat[base]).T @ m.opt.gravity)
        self.gravity = np.array(self._alone.opt.gravity)
        self.F_T_NE = np.eye(4)
        if self.finger_joints:
            c, s = np.cos(TOOL_TURN), np.sin(TOOL_TURN)
            self.F_T_NE[:2, :2], self.F_T_NE[2, 3] = [[c, -s], [s, c]], TOOL
        self.carry(NO_LOAD)

    def carry(self, load: Load) -> None:
        """Compute with a load at the flange from now on.

        Raises:
            ParameterError: it is not a rigid body.
        """
        m = self._alone
        for part in (self.hand, load):
            m = with_payload(m, "link8", part.mass, part.com, part.six)
        self.m, self.d, self.load = m, make_data(m), load

    def at(self, q: Array, dq: Array) -> None:
        """Move to a state, for the methods below."""
        self.d.qpos[:], self.d.qvel[:] = q, dq

    def gravity_torque(self) -> Array:
        """Return the torques that carry the arm (7,)."""
        return gravity_term(self.m, self.d)

    def coriolis(self) -> Array:
        """Return the Coriolis and centrifugal torques (7,)."""
        return coriolis_term(self.m, self.d)

    def inertia(self) -> Array:
        """Return the mass matrix of the links and rotors (7, 7)."""
        return mass_matrix(self.m, self.d) + np.diag(self.armature)

    def flange(self) -> Array:
        """Return the pose of the flange in O (4, 4)."""
        T = np.eye(4)
        T[:3, 3], T[:3, :3] = frame_pose(self.m, self.d, "link8")
        return T

    def jacobian(self, T: Array, F_T: Array) -> Array:
        """Return J (6, 7): linear, then angular velocity of a frame at the flange, axes of O.

        Args:
            T: pose of the flange (4, 4).
            F_T: the frame in the flange (4, 4).
        """
        J = frame_jacobian(self.m, self.d, "link8")
        x, y, z = T[:3, :3] @ F_T[:3, 3]
        lever = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
        return np.concatenate([J[3:] + lever @ J[:3], J[:3]])


def with_rotors(m: Model, prefix: str = "") -> Model:
    """Return the simulated Model with ROTOR at the arm's joints that have no rotor inertia."""
    armature = m.dof_armature.copy()
    for j, name in enumerate(m.jnt_names):
        turns = m.jnt_type[j] == JointType.HINGE
        if turns and name.startswith(prefix) and _ARM_JOINT.search(name):
            k = m.jnt_dofadr[j]
            armature[k] = armature[k] or ROTOR
    kept = {name: getattr(m, name) for name in PRIMARY}
    return with_arrays(m, kept | {"dof_armature": armature})


def _arm_joints(description: Description, prefix: str) -> list[Joint]:
    """Return joints 1 to 7."""
    found: dict[int, list[Joint]] = {}
    for joint in description.joints:
        match = _ARM_JOINT.search(joint.name)  # fingers slide
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
    joints = [joints[0] for joints in chain]
    for upper, lower in itertools.pairwise(joints):
        if upper.child != lower.parent:
            raise refusal(
                f"this robot is not an arm of Franka: joint {quote(lower.name)} hangs from link "
                f"{quote(lower.parent)}; it must hang from {quote(upper.child)}"
            )
    for joint in joints:
        if joint.type != "revolute" or joint.limit is None or np.abs(joint.axis[2]) < 1.0 - 1e-9:
            raise refusal(
                f"joint {quote(joint.name)} is not a joint of Franka's arms: it must be revolute "
                "about its z axis, with limits"
            )
    return joints


def _behind(description: Description, link: str) -> list[Joint]:
    """Return all joints behind a link."""
    found: list[Joint] = []
    links = {link}
    for _ in description.joints:
        new = [j for j in description.joints if j.parent in links and j.child not in links]
        if not new:
            break
        found += new
        links |= {joint.child for joint in new}
    return found


def _inertials(
    m: Model, description: Description, joints: list[Joint], tails: list[list[Joint]]
) -> dict[str, Inertial | None]:
    """Return the inertia of all links; bodies beside links 1 to 6, as a camera, count there.

    Args:
        m: the robot.
        description: of it.
        joints: of the arm.
        tails: all joints behind each of them.
    """
    found = {link.name: link.inertial for link in description.links}
    for joint, tail, after in zip(joints, tails, tails[1:], strict=False):
        chain = {j.child for j in (*joints, *after)}
        beside = [j.child for j in tail if j.child not in chain]
        if beside:
            bodies = {name: found[name] for name in (joint.child, *beside)}
            body = _lumped(m, joint.child, bodies, np.zeros(3))
            com, six = tuple(body.com.tolist()), tuple(body.six.tolist())
            found[joint.child] = Inertial(body.mass, Pose(com), six)
    return found


def _inertia(six: tuple[float, ...] | Array) -> Array:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _lumped(m: Model, link: str, links: dict[str, Inertial | None], origin: Array) -> Load:
    """Return links as one body, in the axes of a link at an origin, with closed fingers."""
    d = make_data(m)
    for j in range(m.njnt):  # closed fingers, joints at zero
        if m.jnt_dofnum[j] == 1:
            d.qpos[m.jnt_qposadr[j]] = 0.0
    p0, R0 = frame_pose(m, d, link)
    mass, moment, parts = 0.0, np.zeros(3), []
    for name, inertial in links.items():
        if inertial is None or inertial.mass == 0.0:
            continue
        p, R = frame_pose(m, d, name)
        com = R0.T @ (p + R @ np.array(inertial.origin.pos) - p0) - origin
        turn = R0.T @ R @ quat_to_mat(inertial.origin.quat)
        parts.append((inertial.mass, com, turn @ _inertia(inertial.inertia) @ turn.T))
        mass += inertial.mass
        moment += inertial.mass * com
    centre = moment / mass if mass else moment
    inertia = np.zeros((3, 3))
    for m_i, com, I in parts:
        r = com - centre
        inertia += I + m_i * (r @ r * np.eye(3) - np.outer(r, r))
    return Load(mass, centre, inertia)


def _urdf(limits: InterfaceLimits, joints: list[Joint], links: dict[str, Inertial | None]) -> str:
    """Return the arm alone as the URDF that libfranka reads: links link0 to link8.

    libfranka wants the element position_based_velocity_limits, and finds the flange by its name.
    """
    root = ET.Element("robot", name=limits.name.lower())
    ET.SubElement(root, "link", name="link0")
    for k, joint in enumerate(joints):
        link = ET.SubElement(root, "link", name=f"link{k + 1}")
        if (inertial := links[joint.child]) is not None:
            _write_inertial(link, inertial)
        one = ET.SubElement(root, "joint", name=f"joint{k + 1}", type="revolute")
        _write_origin(one, joint.origin)
        ET.SubElement(one, "parent", link=f"link{k}")
        ET.SubElement(one, "child", link=f"link{k + 1}")
        ET.SubElement(one, "axis", xyz=f"0 0 {round(joint.axis[2])}")
        assert joint.limit is not None
        names = ("lower", "upper", "velocity", "effort")
        given = {name: repr(float(getattr(joint.limit, name))) for name in names}
        ET.SubElement(one, "limit", given)
        offsets = {
            "velocity_offset": repr(float(limits.velocity_offset[k])),
            "deceleration_limit": repr(float(limits.deceleration[k])),
        }
        ET.SubElement(one, "position_based_velocity_limits", offsets)
    ET.SubElement(root, "link", name="link8")
    flange = ET.SubElement(root, "joint", name="joint8", type="fixed")
    _write_origin(flange, Pose((0.0, 0.0, FLANGE)))
    ET.SubElement(flange, "parent", link="link7")
    ET.SubElement(flange, "child", link="link8")
    return ET.tostring(root, "unicode", xml_declaration=True)


def _write_origin(parent: ET.Element, pose: Pose) -> None:
    xyz, rpy = (" ".join(map(repr, x)) for x in (pose.pos, rpy_from_quat(pose.quat)))
    ET.SubElement(parent, "origin", xyz=xyz, rpy=rpy)


def _write_inertial(link: ET.Element, inertial: Inertial) -> None:
    element = ET.SubElement(link, "inertial")
    _write_origin(element, inertial.origin)
    ET.SubElement(element, "mass", value=repr(inertial.mass))
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    ET.SubElement(
        element, "inertia", {k: repr(x) for k, x in zip(names, inertial.inertia, strict=True)}
    )
