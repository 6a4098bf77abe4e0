# SPDX-License-Identifier: Apache-2.0
"""A motion of the client: its interface, its commands, and the cycles without a command."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.franka.arm import FrankaArm
from rbdyn_ros.control_box.franka.limits import START_JOINTS, TOLERANCE
from rbdyn_ros.control_box.franka.packets import ControllerMode, Generator, MoveStatus
from rbdyn_ros.control_box.franka.paths import CartesianPath, joint_error
from rbdyn_ros.control_box.franka.settings import LARGEST, Settings
from rbdyn_ros.control_box.paths import CYCLE, Stream
from rbdyn_ros.control_box.sensing import SINGULAR

_CARTESIAN = (Generator.CARTESIAN_POSITION, Generator.CARTESIAN_VELOCITY)
_JOINT = "joint_motion_generator_"
#: The numbers of a command that each interface uses.
_USES = {
    Generator.JOINT_POSITION: "q_c",
    Generator.JOINT_VELOCITY: "dq_c",
    Generator.CARTESIAN_POSITION: "O_T_EE_c",
    Generator.CARTESIAN_VELOCITY: "O_dP_EE_c",
}


@dataclass(slots=True, eq=False)
class ClientMotion:
    """A motion from its request, a Move, to its end.

    Attributes:
        number: number of the request.
        controller, generator: sources of the torques and of the motion.
        arm: the robot.
        joints: the desired joints, which follow the commands.
        path: path of a Cartesian motion, or None.
        deviation: (3,) largest deviation from the path: [m], [rad], elbow [rad].
        asynchronous: whether goals arrive at irregular times, and the box moves to them within
            `speed`.
        speed: (7,) speed of an asynchronous motion [rad/s].
        begun: whether a command has arrived.
        answered: message_id of the newest command.
        fresh: whether a command arrived in this cycle.
        lost: number of consecutive cycles without a command.
        finished: whether the last command ends the motion.
        is_finite: whether the last command had only finite numbers below LARGEST.
        torque: (7,) torque of the external controller [N m].
    """

    number: int
    controller: ControllerMode
    generator: Generator
    arm: FrankaArm
    joints: Stream
    path: CartesianPath | None
    deviation: Array
    asynchronous: bool
    speed: Array
    begun: bool = False
    answered: int = 0
    fresh: bool = False
    lost: int = 0
    finished: bool = False
    is_finite: bool = True
    torque: Array = field(default_factory=lambda: np.zeros(7))
    _given: Any = None
    _goal: Array | None = None
    _first: bool = True

    @staticmethod
    def of(
        given: Any, number: int, arm: FrankaArm, joints: Stream, settings: Settings
    ) -> "ClientMotion | MoveStatus":
        """Return the motion of the request `given`, or the status with which it is refused.

        `joints` are the desired joints, from which the motion begins.
        """
        controller, generator = int(given["controller"]), int(given["generator"]) + 1
        if controller > ControllerMode.EXTERNAL or not 1 <= generator <= Generator.NONE:
            return MoveStatus.INVALID_ARGUMENT
        asynchronous, speed = bool(given["asynchronous"]), given["maximum_velocity"].copy()
        deviations = np.concatenate([given["path_deviation"], given["goal_deviation"]])
        if not (np.isfinite(deviations).all() and (deviations >= 0.0).all()):
            return MoveStatus.INVALID_ARGUMENT
        alone = generator == Generator.NONE
        if alone and controller != ControllerMode.EXTERNAL:
            return MoveStatus.INVALID_ARGUMENT
        if asynchronous and (
            controller == ControllerMode.EXTERNAL
            or generator != Generator.JOINT_POSITION
            or not ((speed > 0.0) & (speed <= arm.limits.velocity * (1.0 + TOLERANCE))).all()
        ):
            return MoveStatus.INVALID_ARGUMENT
        path = None
        if generator in _CARTESIAN:
            path = CartesianPath(arm, joints, settings.F_T_EE)
            J = arm.jacobian(arm.flange(), settings.F_T_EE)
            if np.linalg.svd(J, compute_uv=False)[-1] < SINGULAR:
                return MoveStatus.SINGULAR
        return ClientMotion(
            number,
            ControllerMode(controller),
            Generator(generator),
            arm,
            joints,
            path,
            deviations[:3],
            asynchronous,
            speed,
        )

    def take(self, given: Any) -> None:
        """Store the newest command."""
        self.answered, self.begun, self.fresh = int(given["message_id"]), True, True
        self._given = given

    def advance(self) -> str:
        """Follow this cycle's command, or continue without one; return an error's name or ""."""
        came, self.fresh = self.fresh, False
        if self.asynchronous:
            return self._go(came)
        if not came:
            self.lost += 1
            if self.path is not None:
                self.path.extrapolate()
            elif self.generator != Generator.NONE:
                self.joints.extrapolate()
            return ""
        j = self.joints
        before = j.x, j.v, j.a
        error = self._follow()
        if error:  # the wrong command is not followed
            j.x, j.v, j.a = before
        self._first, self.lost = False, 0
        return error

    def _follow(self) -> str:
        c = self._given
        if self.controller == ControllerMode.EXTERNAL and (
            error := self._take_torque(c["tau_J_d"])
        ):
            return error
        if self.generator == Generator.NONE:
            self.finished = bool(c["torque_command_finished"])
            return ""
        self.finished = bool(c["motion_generation_finished"])
        numbers = c[_USES[self.generator]].copy()
        if not _is_plain(numbers):
            self.is_finite = False
            kind = "cartesian_motion_generator_" if self.path is not None else _JOINT
            return f"{kind}velocity_discontinuity"
        if self.path is None:
            return self._take_joints(numbers)
        elbow = c["elbow_c"].copy() if c["valid_elbow"] else None
        if elbow is not None and not _is_plain(elbow):
            self.is_finite = False
            return "cartesian_motion_generator_elbow_limit_violation"
        if self.generator == Generator.CARTESIAN_POSITION:
            return self.path.take_pose(numbers.reshape(4, 4).T, elbow)
        return self.path.take_twist(numbers, elbow)

    def _take_torque(self, torque: Array) -> str:
        self.is_finite = _is_plain(torque)
        most = self.arm.limits.torque_rate * CYCLE * (1.0 + self.lost) * (1.0 + TOLERANCE)
        if not self.is_finite or (np.abs(torque - self.torque) > most).any():
            return "controller_torque_discontinuity"
        self.torque = torque.copy()
        return ""

    def _take_joints(self, numbers: Array) -> str:
        if self.generator == Generator.JOINT_VELOCITY:
            jerk = self.joints.at(numbers)
        else:
            if self._first:
                if (np.abs(numbers - self.joints.x) > START_JOINTS).any():
                    return "joint_position_motion_generator_start_pose_invalid"
                self.joints.begin(numbers)
            jerk = self.joints.to(numbers)
        return joint_error(_JOINT, self.joints, jerk, self.arm)

    def _go(self, came: bool) -> str:
        """Move to the goal of an asynchronous motion; return the name of the error, or "".

        `came` means that a command with a new goal has come in this cycle.
        """
        if came:
            goal = self._given["q_c"].copy()
            self.is_finite = _is_plain(goal)
            self.finished = bool(self._given["motion_generation_finished"])
            if not self.is_finite:
                return f"{_JOINT}velocity_discontinuity"
            if (goal < self.arm.lower).any() or (goal > self.arm.upper).any():
                return f"{_JOINT}position_limits_violation"
            self._goal = goal
        assert self._goal is not None
        self.joints.approach(self._goal, self.speed, self.arm.limits.acceleration)
        return ""


def _is_plain(numbers: Array) -> bool:
    return bool((np.abs(numbers) < LARGEST).all())  # a NaN is not below the limit
