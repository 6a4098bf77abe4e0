# SPDX-License-Identifier: Apache-2.0
"""Commanded motions: their limits, and their continuation without a command."""

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.franka.arm import FrankaArm
from rbdyn_ros.control_box.franka.limits import (
    START_ANGLE,
    START_JOINTS,
    START_POSITION,
    TOLERANCE,
    InterfaceLimits,
)
from rbdyn_ros.control_box.paths import CYCLE, Stream, gap_between, turned

#: Error of the position differences that a client computes from the rounded numbers of a state.
ROUNDING = 5e-7
#: Damping of the inverse kinematics near singular poses.
DAMPING = 1e-4


def broken(v: Array, a: Array, jerk: Array, limits: Sequence[Array] | Array) -> str:
    """Return which limit a motion exceeds: "velocity", "acceleration" or "jerk"; else ""."""
    for power, (name, x, most) in enumerate(
        zip(("velocity", "acceleration", "jerk"), (v, a, jerk), limits, strict=True), 1
    ):
        if (np.abs(x) > most * (1.0 + TOLERANCE) + ROUNDING / CYCLE**power).any():
            return name
    return ""


_NAMES = {
    "velocity": "velocity_limits_violation",
    "acceleration": "velocity_discontinuity",
    "jerk": "acceleration_discontinuity",
}


def joint_error(kind: str, stream: Stream, jerk: Array, arm: FrankaArm) -> str:
    """Return the name of the error of a joint motion, or "".

    Args:
        kind: beginning of the error's name, such as `joint_motion_generator_`.
        stream: stream of the joints.
        jerk: (7,) jerk of the joints.
        arm: the arm, which has the limits.
    """
    limits = arm.limits
    if (stream.x < arm.lower).any() or (stream.x > arm.upper).any():
        return f"{kind}position_limits_violation"
    room = np.where(stream.v > 0.0, arm.upper - stream.x, stream.x - arm.lower)
    near = np.sqrt(2.0 * limits.deceleration * np.maximum(room, 0.0)) - limits.velocity_offset
    speed = np.minimum(limits.velocity, np.maximum(near, 0.0))
    found = broken(stream.v, stream.a, jerk, (speed, limits.acceleration, limits.jerk))
    return f"{kind}{_NAMES[found]}" if found else ""


def is_rigid(T: Array) -> bool:
    """Return whether a matrix (4, 4) is a rigid motion, to the rounding of floats."""
    R = T[:3, :3]
    return bool(
        np.isfinite(T).all()
        and (np.abs(T[3] - [0.0, 0.0, 0.0, 1.0]) < 1e-5).all()
        and (np.abs(R @ R.T - np.eye(3)) < 1e-4).all()
        and np.linalg.det(R) > 0.0
    )


class CartesianPath:
    """A pose or twist that a client commands, and the joints that follow it.

    Args:
        arm: the robot; the joints begin at `joints`.
        joints: the desired joint positions, which follow the path.
        F_T_EE: end effector in the flange (4, 4).

    Attributes:
        T: commanded pose (4, 4).
        twist: velocity and acceleration of this pose; the positions of this stream are not used.
        elbow: commanded position of joint 3 [rad].
    """

    def __init__(self, arm: FrankaArm, joints: Stream, F_T_EE: Array) -> None:
        self._arm, self._joints, self._F_T_EE = arm, joints, F_T_EE
        arm.at(joints.x, joints.v)
        self.T = arm.flange() @ F_T_EE
        self.twist = Stream(np.zeros(6))
        self.elbow = Stream(joints.x[2:3])
        self._begun = False

    def take_pose(self, T: Array, elbow: Array | None) -> str:
        """Follow a pose, and an elbow unless it is None; return the name of the error, or ""."""
        if not is_rigid(T):
            return "cartesian_position_motion_generator_invalid_frame_flag"
        step = gap_between(self.T, T)
        far = np.abs(step[:3]) > START_POSITION, np.abs(step[3:]) > START_ANGLE
        if not self._begun and (far[0].any() or far[1].any()):
            return "cartesian_position_motion_generator_start_pose_invalid"
        if not self._begun:
            self.T, step = np.array(T), 0.0 * step
            self._follow()
            self._joints.begin(self._joints.x)
        return self._take(step / CYCLE, np.array(T), elbow)

    def take_twist(self, twist: Array, elbow: Array | None) -> str:
        """Follow a twist, linear first, and an elbow unless it is None; see take_pose."""
        T = self.T.copy()
        T[:3, 3] += twist[:3] * CYCLE
        T[:3, :3] = turned(T[:3, :3], twist[3:] * CYCLE)
        return self._take(np.array(twist), T, elbow)

    def _take(self, twist: Array, T: Array, elbow: Array | None) -> str:
        limits = self._arm.limits
        jerk = self.twist.at(twist)
        found = ""
        for part, most in ((slice(3), limits.translation), (slice(3, 6), limits.rotation)):
            v, a, j = (np.atleast_1d(np.linalg.norm(x[part])) for x in (twist, self.twist.a, jerk))
            found = found or broken(v, a, j, most)
        if found:
            return f"cartesian_motion_generator_{_NAMES[found]}"
        if elbow is not None and (error := self._take_elbow(elbow, limits)):
            return error
        self.T, self._begun = T, True
        return joint_error(
            "cartesian_motion_generator_joint_", self._joints, self._follow(), self._arm
        )

    def _take_elbow(self, elbow: Array, limits: InterfaceLimits) -> str:
        if elbow[1] != np.sign(self._joints.x[3] - limits.flip):
            return "cartesian_motion_generator_elbow_sign_inconsistent"
        if not self._begun:
            if abs(elbow[0] - self.elbow.x[0]) > START_JOINTS:
                return "cartesian_motion_generator_start_elbow_invalid"
            self.elbow.begin(elbow[:1])
            self._follow()
            self._joints.begin(self._joints.x)
        jerk = self.elbow.to(elbow[:1])
        if broken(self.elbow.v, self.elbow.a, jerk, limits.elbow):
            return "cartesian_motion_generator_elbow_limit_violation"
        return ""

    def extrapolate(self) -> None:
        """Continue for a cycle with the same acceleration."""
        self.twist.extrapolate()
        self.elbow.extrapolate()
        v = self.twist.v
        self.T = self.T.copy()
        self.T[:3, 3] += v[:3] * CYCLE
        self.T[:3, :3] = turned(self.T[:3, :3], v[3:] * CYCLE)
        self._follow()

    def _follow(self) -> Array:
        """Move the joints to the pose and the elbow; return their jerk.

        This is Newton's method with one step a cycle and joint 3 as the elbow.
        """
        arm, q = self._arm, self._joints.x
        arm.at(q, self._joints.v)
        flange = arm.flange()
        gap = [gap_between(flange @ self._F_T_EE, self.T), self.elbow.x - q[2]]
        A = np.vstack([arm.jacobian(flange, self._F_T_EE), np.eye(7)[2]])
        step = np.linalg.solve(A.T @ A + DAMPING**2 * np.eye(7), A.T @ np.concatenate(gap))
        return self._joints.to(q + step)
