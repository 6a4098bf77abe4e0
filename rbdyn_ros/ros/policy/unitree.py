# SPDX-License-Identifier: Apache-2.0
"""Convert messages between a policy and a robot of Unitree: lowstate in, lowcmd out."""

import math
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.poses import quat_mul, rotate
from rbdyn_ros.errors import Finding, ParameterError, listing, refusal
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.policies.pacer import JointsState
from rbdyn_ros.policies.policy import BaseState
from rbdyn_ros.policies.spec import PolicySpec
from rbdyn_ros.ros.common.unitree.records import UnitreeRecord
from rbdyn_ros.ros.common.unitree.robots import NO_POSITION, ROBOTS, unitree_messages

#: Length of a `tick` of LowState [ns], and the number of ticks after which it is 0 again.
TICK, WRAP = 1_000_000, 2**32
#: Each state advances the motion to the first pose by at most this time [s].
LONGEST = 0.05


class UnitreeMotors:
    """The motors that a policy moves.

    Args:
        name: name of the robot, as in parameter `unitree`.
        spec: spec of the policy.

    Attributes:
        messages: module with LowCmd and LowState.
        idle: motors that the policy does not move; they stay off.

    Raises:
        ParameterError: the message package is not installed, or a joint has no motor.
    """

    def __init__(self, name: str, spec: PolicySpec) -> None:
        robot = ROBOTS[name]
        self.messages = unitree_messages(robot)
        if missing := [joint for joint in spec.joints if joint not in robot.motors]:
            text = f"the policy moves {listing(missing)}, which {name} has no motor for"
            raise ParameterError(Finding("no-motor", text, "error", "unitree"))
        numbers = {joint: k for k, joint in enumerate(robot.motors) if joint}
        self.idle = [joint for joint in numbers if joint not in spec.joints]
        self._numbers = [numbers[joint] for joint in spec.joints]
        self._record = record = UnitreeRecord(self.messages.LowCmd)
        self._row, places = record.zeros(), record.places
        gains = zip(spec.stiffness.tolist(), spec.damping.tolist(), strict=True)
        motors = zip(spec.joints, self._numbers, gains, strict=True)
        for joint, k, (stiffness, damping) in motors:
            self._row[places[f"motor_cmd[{k}].mode"]] = robot.mode(joint)
            self._row[places[f"motor_cmd[{k}].kp"]] = stiffness
            self._row[places[f"motor_cmd[{k}].kd"]] = damping
        if "head[0]" in places:
            for place, value in (("head[0]", 0xFE), ("head[1]", 0xEF), ("level_flag", 0xFF)):
                self._row[places[place]] = value
        self._goals = [places[f"motor_cmd[{k}].q"] for k in self._numbers]
        self._version = places.get("mode_machine")
        self._waist = numbers[robot.waist] if robot.waist else None
        self._last, self._turns = 0, 0

    def state(self, message: Any) -> tuple[JointsState, BaseState]:
        """Return the state of the policy's joints and of the root link in a LowState.

        Raises:
            RbdynError: a number is not finite, or the quaternion is not of length 1.
        """
        motors = [message.motor_state[k] for k in self._numbers]
        position = np.array([motor.q for motor in motors], np.float64)
        velocity = np.array([motor.dq for motor in motors], np.float64)
        quat = np.array(message.imu_state.quaternion, np.float64)
        rate = np.array(message.imu_state.gyroscope, np.float64)
        norm = float(np.linalg.norm(quat))
        turn, speed = 0.0, 0.0
        if self._waist is not None:
            waist = message.motor_state[self._waist]
            turn, speed = float(waist.q), float(waist.dq)
        numbers = [*position, *velocity, *rate, turn, speed]
        if not (np.isfinite(numbers).all() and abs(norm - 1.0) < 1e-3):
            raise refusal("its numbers are not finite, or its quaternion is not of length 1")
        # a robot refuses commands without its version
        if self._version is not None:
            self._row[self._version] = message.mode_machine
        state = JointsState(self._stamp(message.tick), position, velocity)
        return state, BaseState(*_before(turn, speed, quat / norm, rate), np.zeros(3))

    def _stamp(self, tick: int) -> int:
        """Return the time of a tick [ns]; the number of ticks begins at 0 again after 50 days."""
        if tick < self._last - WRAP // 2:
            self._turns += 1
        self._last = tick
        return (tick + self._turns * WRAP) * TICK

    def command(self, target: Array) -> bytes:
        """Return the serialised LowCmd of position targets (n) in the order of the policy.

        Raises:
            RbdynError: a target is so large that the motor would not control its position.
        """
        if (most := float(np.abs(target).max())) >= NO_POSITION:
            limit = f"a motor takes less than {NO_POSITION:g}"
            raise refusal(f"the policy commands a position of {most:.4g}; {limit}")
        for place, value in zip(self._goals, target.tolist(), strict=True):
            self._row[place] = value
        return self._record.message(self._row)

    def damped(self, damping: float) -> bytes:
        """Return the serialised LowCmd that only damps the motors; damping [N m s/rad]."""
        row, places = self._row.copy(), self._record.places
        for k in self._numbers:
            row[places[f"motor_cmd[{k}].q"]] = NO_POSITION
            row[places[f"motor_cmd[{k}].kp"]], row[places[f"motor_cmd[{k}].kd"]] = 0.0, damping
        return self._record.message(row)


class Rise:
    """The motion of the joints from their present positions to a pose, before a policy acts.

    Each state advances the motion by at most LONGEST, so that the joints do not jump if states are
    lost.

    Args:
        pose: (n,) positions at the end of the motion [rad].
        duration: duration of the motion [s]; 0: no motion.
    """

    def __init__(self, pose: Array, duration: float) -> None:
        self._pose, self._duration = pose, duration
        self.restart()

    def restart(self) -> None:
        """Begin the motion again at the next state."""
        self._from: JointsState | None = None

    def target(self, state: JointsState) -> Array | None:
        """Return the position targets (n,) for a state, or None after the end of the motion."""
        begun = self._from
        if begun is None or state.stamp < begun.stamp:  # the first state, or time was reset
            begun = self._from = state
            self._passed, self._newest = 0.0, state.stamp
        since, self._newest = (state.stamp - self._newest) / NANOSECONDS, state.stamp
        self._passed += min(max(since, 0.0), LONGEST)
        if self._passed >= self._duration:
            return None
        return begun.position + self._passed / self._duration * (self._pose - begun.position)


def _before(turn: float, speed: float, quat: Array, rate: Array) -> tuple[Array, Array]:
    """Return orientation and angular velocity of the parent link of a joint about z.

    Args:
        turn: position of the joint [rad].
        speed: speed of the joint [rad/s].
        quat: orientation of the child link, w, x, y, z.
        rate: angular velocity of the child link, in its axes [rad/s].
    """
    c, s = math.cos(0.5 * turn), math.sin(0.5 * turn)
    w, x, y, z = quat.tolist()
    before = quat_mul((w, x, y, z), (c, 0.0, 0.0, -s))
    u, v, r = rate.tolist()
    u, v, r = rotate((c, 0.0, 0.0, s), (u, v, r))
    return np.array(before), np.array([u, v, r - speed])
