# SPDX-License-Identifier: Apache-2.0
"""Let the tool of a simulated arm follow the twists on ~/twist."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from geometry_msgs.msg import TwistStamped
from rclpy.node import Node

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.motion.servoing import JointRates, TwistServo
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.parsing.stamps import check_age
from rbdyn_ros.ros.common.reports.answer import MessageLog
from rbdyn_ros.ros.common.tool.servoing import TOPIC, ServoStatus, servo_settings, servo_twist
from rbdyn_ros.ros.common.tool.tool_marker import ToolMarker, open_marker
from rbdyn_ros.ros.simulator.topics.ticker import Ticker
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.orders import OrderMark
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.types import GRIP, VELOCITY, Command

#: Rate of the commands of joints [Hz].
RATE = 100.0
#: A joint slower than this counts as at rest [rad/s or m/s].
STILL = 1e-9
#: After a pause of the publishing thread, the speed changes by at most the acceleration times this
#: number of periods.
PATIENCE = 3
#: Effort and speed in commands to joints without limits [N m or N, rad/s or m/s].
LARGEST = 1e9


def servo_of(m: Model, names: tuple[str, ...], values: SimpleNamespace) -> TwistServo | None:
    """Return the servo that the parameters describe, or None if the tool follows no twists.

    Args:
        m: the robot.
        names: joints that can be commanded.
        values: values of the parameters.

    Raises:
        ModelError: the robot has no such link.
        ParameterError: no joint moves the link, or a threshold does not fit the other thresholds.
    """
    settings = servo_settings(values, getattr(values, "servo.frame"))
    return None if settings is None else TwistServo(m, names, settings)


def servo_period(values: SimpleNamespace, period_ns: int) -> int:
    """Return the period of a servo's commands [ticks]; in lock-step it is one tick."""
    if values.time_mode == "lockstep":
        return 1
    return max(1, round(NANOSECONDS / (RATE * period_ns)))


@dataclass(frozen=True, slots=True)
class GivenTwist:
    """A received twist.

    Attributes:
        frame: frame in whose axes the twist is.
        twist: (6,) angular [rad/s], then linear [m/s].
        epoch, stamp_ns: epoch and stamp [ns] of the newest state when it arrived.
        paused: whether time was paused when it arrived.
    """

    frame: str
    twist: Array
    epoch: int
    stamp_ns: int
    paused: bool = False


class ServoTopic:
    """Commands the joints that move a tool, in the thread that publishes states.

    It commands nothing before the first twist. When the twists end, it stops the joints, which
    then hold their positions until another command arrives.

    Args:
        node: node that subscribes and publishes.
        loop: loop of the robot.
        servo: follows the twists.
        values: values of the parameters.

    Attributes:
        period: period of its commands [ticks].
    """

    def __init__(self, node: Node, loop: Loop, servo: TwistServo, values: SimpleNamespace) -> None:
        self._node, self._loop, self._servo = node, loop, servo
        self._timeout = round(servo.settings.timeout * NANOSECONDS)
        self._prefix: str = values.frame_prefix
        self.period = servo_period(values, loop.period_ns)
        self._ticker = Ticker(self.period)
        self._lockstep = values.time_mode == "lockstep"
        self._status = ServoStatus(node, servo.names)
        self._values, self._world = values, values.world_frame or "world"
        self._marker: ToolMarker | None = None
        self._given: GivenTwist | None = None
        self._now = -1, 0  # epoch and stamp of the newest state
        self._forgotten = False
        self._begin()

    def _begin(self) -> None:
        self._moving, self._velocity = False, np.zeros(len(self._servo.names))
        self._place: Array | None = None
        self._mark: OrderMark | None = None
        self._last = (-1, -1)

    def subscribe(self, log: MessageLog) -> None:
        """Subscribe to ~/twist, and open the marker of the tool if the parameters ask for it."""

        def take(message: Any) -> None:
            # _now may be old, because `publish` gets a state only once per period
            now = max(self._now, self._loop.readout.stream.newest)
            check_age(message.header, now[1], self._timeout, "servo.timeout")
            frame = message.header.frame_id.removeprefix(self._prefix)
            if frame in ("world", self._world) and frame not in self._servo.m.frame_names:
                frame = ""
            self._servo.check_frame(frame)
            twist = servo_twist(message)
            self._given = GivenTwist(frame, twist, *now, self._loop.time.paused)

        # only the newest twist counts
        log.subscribe(self._node, TwistStamped, TOPIC, take, depth=1)
        self._marker = open_marker(self._node, self._values, self._world, log)

    def prepare(self, m: Model) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it."""
        servo = copy(self._servo)
        servo.use(m)

        def commit() -> None:
            self._servo = servo

        return commit

    def forget(self) -> None:
        """Drop twist and motion, because the simulation was reset. Any thread may call it."""
        self._forgotten = True

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        """Command the joints if that is due."""
        if self._forgotten or state.epoch != self._now[0]:
            self._rest()
        self._now = state.epoch, stamp_ns
        if not self._ticker.due(state):
            return
        (_, tick), self._last = self._last, (state.epoch, state.tick)
        ticks = state.tick - tick if tick >= 0 else self._ticker.every
        if self._marker is not None:
            self._follow(self._marker, stamp_ns, state)
        given = self._counting(stamp_ns, state)
        if self._moving or (given is not None and np.any(given.twist)):
            most = PATIENCE * self._ticker.every
            seconds = min(max(ticks, 1), most) * self._loop.period_ns / NANOSECONDS
            self._move(state, given or GivenTwist("", np.zeros(6), *self._now), seconds)

    def _rest(self) -> None:
        """Drop twists and motion, which belong to the time before a reset."""
        self._forgotten, self._given = False, None
        if self._marker is not None:
            self._marker.drop()
        self._begin()
        self._status.holds()

    def _follow(self, marker: ToolMarker, stamp_ns: int, state: LoopState) -> None:
        """Show the marker; while it is dragged, use its twist."""
        if not np.isfinite(state.qpos).all():
            marker.drop()
            return
        place, R = self._servo.pose(state.qpos)
        twist = marker.twist(place, R)
        if twist is not None:
            self._given = GivenTwist("", twist, state.epoch, stamp_ns)
        marker.show(place, R)

    def _counting(self, stamp_ns: int, state: LoopState) -> GivenTwist | None:
        """Return the twist to follow now; None: no twist has arrived, or the twist is too old.

        A twist that arrived while time was paused is used only for single steps, because the arm
        should not move when time continues much later.
        """
        given = self._given
        if given is None:
            return None
        fresh = given.epoch == state.epoch and 0 <= stamp_ns - given.stamp_ns <= self._timeout
        if fresh and (state.paused or not given.paused):
            return given
        if self._given is given:
            self._given = None
        return None

    def _move(self, state: LoopState, given: GivenTwist, period: float) -> None:
        servo, twist = self._servo, given.twist
        known = self._measure(state, period)
        if self._place is None:  # no finite state has arrived yet
            if not known:
                self._tell(known, None)
            return
        if not known:
            twist = np.zeros(6)
        now = self._place, self._velocity
        qpos = np.where(np.isfinite(state.qpos), state.qpos, 0.0)
        self._velocity, found = servo.step(qpos, *now, given.frame, twist, period)
        self._moving = bool(np.any(np.abs(self._velocity) > STILL) or np.any(twist))
        self._tell(known, found if np.any(twist) else None)
        command = self._command(self._place)
        tick = state.tick if self._lockstep else None
        self._mark = self._loop.orders.command(command, tick, after=self._mark)
        if self._mark is None:  # another order has taken over the joints
            self._let_go(given)
        elif not self._moving:
            self._mark = None

    def _measure(self, state: LoopState, period: float) -> bool:
        """Update the positions from a state; return False if measured positions are not finite.

        A motion begins with the measured velocities. If nothing was measured, the positions follow
        from the last velocities over the period [s].
        """
        if not self._moving:
            self._place = None  # another node may have moved the joints since
        dofs, arrived = self._servo.dofs, state.measured_tick >= 0
        place, v = state.measured_position[dofs], state.measured_velocity[dofs]
        if arrived and np.isfinite(place).all():
            self._place = place
            if not self._moving and np.isfinite(v).all():
                self._velocity = v
            return True
        if self._place is not None:
            self._place = self._place + period * self._velocity
        return not arrived

    def _let_go(self, given: GivenTwist) -> None:
        """Command nothing more until the next twist, which replaces the twist `given`."""
        if self._given is given:
            self._given = None
        self._moving, self._velocity = False, np.zeros(len(self._servo.names))
        self._status.holds()

    def _tell(self, known: bool, rates: JointRates | None) -> None:
        if not known:
            self._status.halts("the measured positions are not finite")
        elif rates is None:
            self._status.holds()
        else:
            self._status.moves(rates)

    def _command(self, q: Array) -> Command:
        """Return the command of the present velocity; at its end the joints hold positions q."""
        servo, none = self._servo, np.zeros(len(self._servo.names))
        if self._moving:
            modes = np.full(len(none), VELOCITY)
            return Command(servo.dofs, modes, none, self._velocity, none, none, none)
        m, joints = servo.m, servo.m.dof_jntid[servo.dofs]
        speed, effort = (
            np.minimum(rows[joints], LARGEST) for rows in (m.jnt_velocity, m.jnt_effort)
        )
        return Command(servo.dofs, np.full(len(none), GRIP), q, speed, effort, none, none)
