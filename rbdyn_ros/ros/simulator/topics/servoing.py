# SPDX-License-Identifier: Apache-2.0
"""The tool of a simulated arm follows the twists on ~/twist."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
from geometry_msgs.msg import TwistStamped
from rclpy.node import Node

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.motion.servoing import TwistServo
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.answer import MessageLog
from rbdyn_ros.ros.common.servoing import TOPIC, ServoStatus, servo_settings, servo_twist
from rbdyn_ros.ros.common.tool_marker import ToolMarker, open_marker
from rbdyn_ros.ros.simulator.topics.ticker import Ticker
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.types import GRIP, VELOCITY, Command

#: Rate of the commands of joints [Hz].
RATE = 100.0
#: Slower joints rest [rad/s or m/s].
STILL = 1e-9
#: After a pause of the publishing thread the speed changes as in so many periods.
PATIENCE = 3
#: Limits of joints that have none, as a command needs numbers [N m or N, rad/s or m/s].
LARGEST = 1e9


def servo_of(m: Model, names: tuple[str, ...], values: SimpleNamespace) -> TwistServo | None:
    """Return what follows twists by the parameters; None: nothing does.

    Args:
        m: the robot.
        names: joints that can be commanded.
        values: of the parameters.

    Raises:
        ModelError: the robot has no such link.
        ParameterError: no joint moves it, or a threshold does not fit the others.
    """
    frame = getattr(values, "servo.frame")
    return TwistServo(m, names, servo_settings(values, frame)) if frame else None


def servo_period(values: SimpleNamespace, period_ns: int) -> int:
    """Return the period of a servo's commands [ticks]; in lock-step each tick has its own."""
    if values.time_mode == "lockstep":
        return 1
    return max(1, round(NANOSECONDS / (RATE * period_ns)))


class ServoTopic:
    """Commands the joints above a tool, in the thread that publishes.

    It commands nothing before the first twist, nor after the stop at the end of the twists: the
    joints hold their positions then, until another command comes.

    Args:
        node: subscribes and publishes.
        loop: of the robot.
        servo: follows the twists.
        values: of the parameters.
    """

    def __init__(self, node: Node, loop: Loop, servo: TwistServo, values: SimpleNamespace) -> None:
        self._node, self._loop, self._servo = node, loop, servo
        self._timeout = round(servo.settings.timeout * NANOSECONDS)
        self._prefix: str = values.frame_prefix
        self._ticker = Ticker(servo_period(values, loop.period_ns))
        self._lockstep = values.time_mode == "lockstep"
        self._status = ServoStatus(node, servo.names)
        self._values, self._world = values, values.world_frame or "world"
        self._marker: ToolMarker | None = None
        self._given: tuple[str, Array, int] | None = None
        self._now = 0
        self._begin()

    def _begin(self) -> None:
        self._moving, self._velocity = False, np.zeros(len(self._servo.names))
        self._place: Array | None = None
        self._last = (-1, -1)

    def subscribe(self, log: MessageLog) -> None:
        """Take messages from ~/twist."""

        def take(message: Any) -> None:
            frame = message.header.frame_id.removeprefix(self._prefix)
            self._servo.check_frame(frame)
            self._given = frame, servo_twist(message), self._now

        log.subscribe(self._node, TwistStamped, TOPIC, take)
        self._marker = open_marker(self._node, self._values, self._world, log)

    def prepare(self, m: Model) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it."""
        servo = copy(self._servo)
        servo.use(m)

        def commit() -> None:
            self._servo = servo

        return commit

    def forget(self) -> None:
        """Rest: the simulation was reset."""
        self._given, self._now = None, 0
        self._begin()
        self._status.holds()

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        """Command the joints, when it is due."""
        self._now = stamp_ns
        if not self._ticker.due(state):
            return
        (epoch, tick), self._last = self._last, (state.epoch, state.tick)
        ticks = state.tick - tick if epoch == state.epoch else self._ticker.every
        if self._marker is not None:
            self._follow(self._marker, stamp_ns, state)
        twist = self._twist(stamp_ns)
        if self._moving or (twist is not None and np.any(twist)):
            most = PATIENCE * self._ticker.every
            seconds = min(max(ticks, 1), most) * self._loop.period_ns / NANOSECONDS
            self._move(state, np.zeros(6) if twist is None else twist, seconds)

    def _follow(self, marker: ToolMarker, stamp_ns: int, state: LoopState) -> None:
        """Show the marker; while it is dragged, its twist counts."""
        place, R = self._servo.pose(state.qpos)
        twist = marker.twist(place, R)
        if twist is not None:
            self._given = "", twist, stamp_ns
        marker.show(place, R)

    def _twist(self, stamp_ns: int) -> Array | None:
        """Return the twist that counts now, or None."""
        if self._given is None:
            return None
        _, twist, since = self._given
        # an age below 0: it came before time was reset
        return twist if 0 <= stamp_ns - since <= self._timeout else None

    def _move(self, state: LoopState, twist: Array, period: float) -> None:
        assert self._given is not None
        servo, frame = self._servo, self._given[0]
        if state.measured_tick >= 0:
            self._place = state.measured_position[servo.dofs]
        if self._place is None:  # no state has arrived yet
            return
        now = self._place, self._velocity
        self._velocity, found = servo.step(state.qpos, *now, frame, twist, period)
        self._moving = bool(np.any(np.abs(self._velocity) > STILL) or np.any(twist))
        if not np.any(twist):
            self._status.holds()
        else:
            self._status.moves(found)
        command = self._command(self._place)
        self._loop.orders.command(command, state.tick if self._lockstep else None)

    def _command(self, q: Array) -> Command:
        """Return the command of the velocity; at the end the joints hold their positions."""
        servo, none = self._servo, np.zeros(len(self._servo.names))
        if self._moving:
            modes = np.full(len(none), VELOCITY)
            return Command(servo.dofs, modes, none, self._velocity, none, none, none)
        m, joints = servo.m, servo.m.dof_jntid[servo.dofs]
        speed, effort = (
            np.minimum(rows[joints], LARGEST) for rows in (m.jnt_velocity, m.jnt_effort)
        )
        return Command(servo.dofs, np.full(len(none), GRIP), q, speed, effort, none, none)
