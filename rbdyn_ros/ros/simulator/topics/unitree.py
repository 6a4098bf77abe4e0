# SPDX-License-Identifier: Apache-2.0
"""A simulated robot of Unitree: it follows lowcmd and publishes lowstate.

A motor applies the effort tau + kp (q - q_measured) + kd (dq - dq_measured) within its limits. The
loop computes this effort in each tick.
"""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from rclpy.node import Node

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.toolbox.frames import frame_acceleration, frame_pose, frame_velocity
from rbdyn_ros.errors import Finding, ParameterError, exactly, refusal
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import mat_to_quat
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.graph.qos import reliable
from rbdyn_ros.ros.common.parsing.commands import CommandParser
from rbdyn_ros.ros.common.unitree import robots
from rbdyn_ros.ros.common.unitree.records import UnitreeRecord
from rbdyn_ros.ros.simulator.topics.reception import Reception
from rbdyn_ros.ros.simulator.topics.ticker import Ticker
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.types import EFFORT, IMPEDANCE, Command
from rbdyn_ros.sensors.evaluation import Evaluation

#: Rate of lowstate [Hz].
RATE = 500.0
#: Names of links that can carry the IMU.
IMU_LINKS = ("imu", "imu_link", "imu_in_pelvis")
#: `head` and `level_flag` in messages of the Go2 and similar robots.
HEAD, LOW_LEVEL = (0xFE, 0xEF), 0xFF
#: Largest value of foot_force.
INT16 = 32767.0


def unitree_period(period_ns: int) -> int:
    """Return the period of lowstate [ticks]; period_ns: duration of a tick [ns]."""
    return max(1, round(NANOSECONDS / (RATE * period_ns)))


def open_unitree(
    node: Node, loop: Loop, commands: CommandParser, values: SimpleNamespace
) -> "UnitreeTopics | None":
    """Return the topics of the robot that the parameters name, or None.

    Raises:
        ParameterError: the message package is not installed, a motor has no joint, or the
            simulator runs in lock-step.
    """
    if not values.unitree:
        return None
    if values.time_mode == "lockstep":
        text = (
            "parameter 'unitree': LowCmd has no stamp that says which state it answers, so "
            "time_mode cannot be lockstep; allowed is realtime or fast"
        )
        raise ParameterError(Finding("no-stamp", text, "error", "unitree"))
    return UnitreeTopics(node, loop, commands, values)


class UnitreeTopics:
    """The topics lowcmd and lowstate of one robot.

    Args:
        node: node that publishes.
        loop: loop of the robot.
        commands: parser of the robot's commands.
        values: values of the parameters.

    Attributes:
        period: period of publishing [ticks].
    """

    def __init__(
        self, node: Node, loop: Loop, commands: CommandParser, values: SimpleNamespace
    ) -> None:
        self._robot = robot = robots.ROBOTS[values.unitree]
        self._loop, self._messages = loop, robots.unitree_messages(robot)
        self._motors = robots.motor_numbers(robot, commands.dofs)
        if missing := sorted(robot.optional - self._motors.keys()):
            text = f"{values.unitree}: motors without a joint here: {', '.join(missing)}"
            node.get_logger().info(text)
        self._command = UnitreeRecord(self._messages.LowCmd)
        self._state = UnitreeRecord(self._messages.LowState)
        self._row, self._modes = self._state.zeros(), dict.fromkeys(self._motors, robots.OFF)
        if "head[0]" in self._state.places:
            self._set("head", HEAD)
            self._row[self._state.places["level_flag"]] = LOW_LEVEL
        self.period = unitree_period(loop.period_ns)
        self._ticker = Ticker(self.period)
        self._evaluation = Evaluation(loop.plant.m)
        self._publisher = node.create_publisher(
            self._messages.LowState, robots.LOW_STATE, reliable(10)
        )
        self.prepare(loop.m)()

    def subscribe(self, reception: Reception) -> None:
        """Subscribe to lowcmd."""
        reception.add(self._messages.LowCmd, robots.LOW_CMD, self._parse)

    def prepare(self, m: Model) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it."""
        dofs = m.jnt_dofadr[[m.jnt_id(name) for name in self._motors]]
        imu = ImuPlace(m, self._robot.waist)
        feet = [
            int(m.frame_bodyid[m.frame_id(name)])
            for name in self._robot.feet
            if name in m.frame_names
        ]

        def commit() -> None:
            self._dofs, self._imu, self._feet = dofs, imu, feet

        return commit

    def forget(self) -> None:
        """Turn the motors off, because the simulation was reset."""
        self._modes = dict.fromkeys(self._motors, robots.OFF)

    def _parse(self, message: Any, commands: CommandParser) -> Command:
        """Return the command of a LowCmd.

        Raises:
            RbdynError: the checksum is wrong, a number is not finite, or a mode is unknown.
        """
        crc = self._command.crc(self._command.row(message))
        if message.crc != crc:
            raise refusal(f"its crc is 0x{message.crc:08X}; by its other fields it is 0x{crc:08X}")
        if getattr(message, "mode_pr", 0) != 0:
            raise refusal("mode_pr is not 0: the motors of the ankles are not simulated")
        motors = {name: message.motor_cmd[k] for name, k in self._motors.items()}
        rows = [_goal(name, motor) for name, motor in motors.items()]
        command = commands.by_mode(list(motors), *zip(*rows, strict=True))
        self._modes = {name: motor.mode for name, motor in motors.items()}
        return command

    def publish(self, _: int, state: LoopState) -> None:
        """Publish a state as LowState if that is due."""
        if not self._ticker.due(state) or state.measured_tick < 0:
            return
        plant = self._loop.plant.m
        if self._evaluation.plant is not plant:
            self._evaluation = Evaluation(plant)
        self._evaluation.enter(state)
        self._put_motors(state, self._evaluation.d.qacc)
        self._put_imu(self._evaluation)
        if self._feet:
            contact = self._evaluation.contact[:, :3]
            forces = [float(np.linalg.norm(contact[body])) for body in self._feet]
            self._set("foot_force", [round(min(force, INT16)) for force in forces])
        milliseconds = state.measured_tick * self._loop.period_ns // 1_000_000
        self._row[self._state.places["tick"]] = milliseconds & 0xFFFFFFFF
        self._publisher.publish(self._state.message(self._row))

    def _put_motors(self, state: LoopState, qacc: Array) -> None:
        places, row, dofs = self._state.places, self._row, self._dofs
        columns = {
            "q": state.measured_position[dofs],
            "dq": state.measured_velocity[dofs],
            "ddq": qacc[dofs],
            "tau_est": state.measured_effort[dofs],
        }
        for name, values in columns.items():
            for k, value in zip(self._motors.values(), values.tolist(), strict=True):
                row[places[f"motor_state[{k}].{name}"]] = value
        for name, k in self._motors.items():
            row[places[f"motor_state[{k}].mode"]] = self._modes[name]

    def _put_imu(self, evaluation: Evaluation) -> None:
        omega, force, R = self._imu.measured(evaluation.m, evaluation.d)
        w, x, y, z = quat = mat_to_quat(R).tolist()
        roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
        pitch = math.asin(max(-1.0, min(1.0, 2.0 * (w * y - z * x))))
        yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        for name, values in (
            *(("quaternion", quat), ("gyroscope", omega.tolist())),
            *(("accelerometer", force.tolist()), ("rpy", (roll, pitch, yaw))),
        ):
            self._set(f"imu_state.{name}", values)

    def _set(self, name: str, values: Any) -> None:
        for k, value in enumerate(values):
            self._row[self._state.places[f"{name}[{k}]"]] = value


class ImuPlace:
    """The IMU of a robot: on a link of IMU_LINKS, else on the link of the waist or the root.

    Args:
        m: the robot.
        waist: joint whose link carries the IMU; empty: the root link carries it.
    """

    def __init__(self, m: Model, waist: str) -> None:
        floats = m.njnt > 0 and m.jnt_type[0] == JointType.FREE
        body = m.jnt_bodyid[m.jnt_id(waist)] if waist else int(floats)
        named = [m.frame_id(name) for name in IMU_LINKS if name in m.frame_names]
        self._frame = named[0] if named else m.frame_bodyid.tolist().index(body)

    def measured(self, m: Model, d: Data) -> tuple[Array, Array, Array]:
        """Return angular velocity and specific force (3,) in the IMU's axes, and its rotation.

        Args:
            m: the simulated Model.
            d: its Data, with qpos, qvel and qacc.
        """
        frame = self._frame
        R = frame_pose(m, d, frame)[1]
        omega = frame_velocity(m, d, frame)[:3]
        force = frame_acceleration(m, d, frame)[3:] - m.opt.gravity
        return R.T @ omega, R.T @ force, R


def _goal(name: str, motor: Any) -> tuple[int, float, float, float, float, float]:
    """Return mode, position, velocity, effort, stiffness and damping of a motor's command."""
    if motor.mode == robots.OFF:
        return EFFORT, 0.0, 0.0, 0.0, 0.0, 0.0
    if motor.mode not in (robots.ON, robots.SERVO):
        raise refusal(
            f"the motor of joint '{name}' has mode {motor.mode}; allowed is {robots.OFF} (off), "
            f"{robots.ON} or {robots.SERVO} (on)"
        )
    for part in ("q", "dq", "tau", "kp", "kd"):
        if not math.isfinite(value := getattr(motor, part)):
            raise refusal(
                f"{part} of joint '{name}' is {exactly(value)}; allowed is a finite number"
            )
    follows_q, follows_dq = abs(motor.q) < robots.NO_POSITION, abs(motor.dq) < robots.NO_VELOCITY
    return (
        IMPEDANCE,
        motor.q if follows_q else 0.0,
        motor.dq if follows_dq else 0.0,
        motor.tau,
        motor.kp if follows_q else 0.0,
        motor.kd if follows_dq else 0.0,
    )
