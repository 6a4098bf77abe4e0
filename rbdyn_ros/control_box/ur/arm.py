# SPDX-License-Identifier: Apache-2.0
"""The arm of the box: six joints of the simulated robot, their kinematics, the tool."""

import re

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.arm import BoxedJoints
from rbdyn_ros.control_box.links import Load, behind, inertials, lumped, place_in, urdf_alone
from rbdyn_ros.control_box.paths import turn_between, turned
from rbdyn_ros.description.checks.inertials import as_matrix
from rbdyn_ros.description.parts.types import Description, Joint
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian_dot
from rbdyn_ros.dynamics.toolbox.ik import ik
from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import cross_matrix, quat_to_mat

#: Names of the joints in their order.
NAMES = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
ARM_JOINT = re.compile(rf"({'|'.join(NAMES)})_joint$")
#: A usual pose of the arm [rad].
READY = (0.0, -np.pi / 2, -np.pi / 2, -np.pi / 2, np.pi / 2, 0.0)
#: Lengths of the upper arm [m]. Source: Universal Robots, DH parameters for calculations of
#: kinematics and dynamics.
MODELS = {
    "UR3": 0.24365, "UR5": 0.425, "UR16": 0.4784, "UR10": 0.612, "UR30": 0.637, "UR20": 0.862,
}  # fmt: skip
#: Number of starts of the search for joints that reach a pose.
STARTS = 20
#: Largest angle of a rotation vector [rad], and largest gravity along an axis [m/s^2].
MOST_TURN, MOST_GRAVITY = 1e3, 30.0


class UrArm(BoxedJoints):
    """Finds the arm in a simulated robot, and computes its kinematics and dynamics.

    O is the frame `base` of the controller, and the flange is its `tool0`. If the robot file has
    no such links, they are the parent of the first joint and the child of the last joint.

    Args:
        m: the robot or scene.
        description: description of the robot or scene.
        prefix: prefix of the names of this arm's joints, such as `left/`; empty: there is one arm.

    Attributes:
        model: the name of the arm, such as UR5.
        velocity: (6,) largest speeds [rad/s].
        tool: load behind the flange in the robot file, which is the payload at the start.

    Raises:
        RbdynError: the robot has no such arm, or the base of the arm moves.
    """

    def __init__(self, m: Model, description: Description, prefix: str = "") -> None:
        joints = _arm_joints(description, prefix)
        super().__init__(m, joints, "an arm of Universal Robots")
        self.velocity = m.jnt_velocity[[m.jnt_names.index(joint.name) for joint in joints]].copy()
        tails = [behind(description, joint.child) for joint in joints]
        links = inertials(m, description, joints, tails)
        stem = joints[0].name.removesuffix("shoulder_pan_joint")
        base = _frame(m, f"{stem}base", joints[0].parent)
        flange = place_in(m, _frame(m, f"{stem}tool0", joints[-1].child), joints[-1].child)
        bodies = {j.child: links[j.child] for j in tails[-1]}
        self.tool = lumped(m, joints[-1].child, bodies, flange)
        length = float(np.abs(joints[2].origin.pos).max())
        self.model = min(MODELS, key=lambda name: abs(MODELS[name] - length))
        first = place_in(m, joints[0].parent, base)
        urdf = urdf_alone(self.model.lower(), joints, links, flange, first)
        gravity = quat_to_mat(m.frame_quat[m.frame_id(base)]).T @ m.opt.gravity
        self.build(urdf, gravity, self.tool)
        self._first_gravity = self.gravity

    def restore_gravity(self) -> None:
        """Use the gravity of the robot file again instead of a client's."""
        if (self.gravity != self._first_gravity).any():
            self.build(self.urdf, self._first_gravity, self.load)

    def set_gravity(self, gravity: Array) -> None:
        """Use another gravity (3,) in O from now on [m/s^2].

        Raises:
            ValueError: gravity along an axis exceeds MOST_GRAVITY.
        """
        if not (np.abs(gravity) <= MOST_GRAVITY).all():
            raise ValueError(f"gravity is {gravity} m/s^2; allowed are {MOST_GRAVITY:g} per axis")
        self.build(self.urdf, gravity, self.load)

    def tool_pose(self, q: Array, F_T: Array) -> Array:
        """Return the pose (4, 4) in O of a frame with the pose F_T in the flange.

        The arm is at the positions q (6,).
        """
        self.at(q, np.zeros(6))
        return self.flange() @ F_T

    def tool_jacobian(self, q: Array, F_T: Array) -> Array:
        """Return J (6, 6) of a frame at F_T in the flange: linear, then angular, in axes of O."""
        self.at(q, np.zeros(6))
        return self.jacobian(self.flange(), F_T)

    def tool_jacobian_dot(self, q: Array, dq: Array, F_T: Array) -> Array:
        """Return dJ/dt (6, 6) of a frame at the flange."""
        self.at(q, dq)
        dJ = frame_jacobian_dot(self.m, self.d, self._flange)
        r = self.flange()[:3, :3] @ F_T[:3, 3]
        J = self.jacobian(self.flange(), np.eye(4))
        dr = np.cross(J[3:] @ dq, r)
        linear = dJ[3:] - cross_matrix(r) @ dJ[:3] - cross_matrix(dr) @ J[3:]
        return np.concatenate([linear, dJ[:3]])

    def solve(self, T: Array, near: Array, F_T: Array) -> Array | None:
        """Return joint positions (6,) near `near` at which a frame has the pose T, or None.

        F_T is the pose of the frame in the flange (4, 4).
        """
        if not np.isfinite(T).all():
            return None
        goal = T @ np.linalg.inv(F_T)
        self.at(np.clip(near, self.lower, self.upper), np.zeros(6))
        # the rotation of a client is only nearly orthogonal
        turn = turned(np.eye(3), turn_between(np.eye(3), goal[:3, :3]))
        found = ik(self.m, self.d, self._flange, goal[:3, 3], turn, attempts=STARTS)
        return np.array(found.qpos) if found.success else None


def _frame(m: Model, name: str, other: str) -> str:
    return name if name in m.frame_names else other


def _arm_joints(description: Description, prefix: str) -> list[Joint]:
    """Return the six joints of the arm whose names begin with `prefix`.

    Raise RbdynError if there is no such arm, or more than one.
    """
    found: dict[str, list[Joint]] = {}
    for joint in description.joints:
        match = ARM_JOINT.search(joint.name)
        if match and joint.name.startswith(prefix):
            found.setdefault(match[1], []).append(joint)
    lacks = [f"...{name}_joint" for name in NAMES if name not in found]
    if lacks:
        raise refusal(
            "this robot is not an arm of Universal Robots: it needs joints "
            f"...shoulder_pan_joint to ...wrist_3_joint in one chain, and lacks {', '.join(lacks)}"
        )
    if any(len(joints) > 1 for joints in found.values()):
        names = ", ".join(quote(joint.name) for joint in found["shoulder_pan"])
        raise refusal(f"there are several arms, with joints {names}; name one, as `left/ur`")
    joints = [found[name][0] for name in NAMES]
    for joint in joints:
        if joint.type != "revolute" or joint.limit is None:
            raise refusal(
                f"joint {quote(joint.name)} is not a joint of an arm of Universal Robots: it must "
                "be revolute, with limits"
            )
    return joints


def pose_of(T: Array) -> Array:
    """Return x y z and the rotation vector (6,) of a pose (4, 4), as URScript writes poses."""
    return np.concatenate([T[:3, 3], turn_between(np.eye(3), T[:3, :3])])


def pose_from(p: Array) -> Array:
    """Return the pose (4, 4) of x y z and a rotation vector (6,).

    Raises:
        ValueError: a number is not finite, or the angle is larger than MOST_TURN.
    """
    if not (np.isfinite(p).all() and (np.abs(p[3:]) <= MOST_TURN).all()):
        raise ValueError(
            f"{np.array(p)} is not a pose: six finite numbers, with turns of at most "
            f"{MOST_TURN:g} rad"
        )
    T = np.eye(4)
    T[:3, 3], T[:3, :3] = p[:3], turned(np.eye(3), np.asarray(p[3:], float))
    return T


def payload(mass: float, com: Array, inertia: Array | None = None) -> Load:
    """Return the load at the flange that a client has set.

    Args:
        mass: mass of the load [kg].
        com: (3,) centre of mass in the flange [m].
        inertia: (6,) Ixx Iyy Izz Ixy Ixz Iyz about com [kg m^2]; None: inertia of a small ball.
    """
    if inertia is None:
        return Load(mass, com, np.eye(3) * mass * BALL**2 * 0.4)
    return Load(mass, com, as_matrix(inertia))


#: Radius of a payload without inertia [m].
BALL = 0.01
