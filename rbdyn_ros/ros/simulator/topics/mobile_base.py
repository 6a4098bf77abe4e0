# SPDX-License-Identifier: Apache-2.0
"""A mobile base: it follows cmd_vel and publishes odom and its transform (REP 103 and 105)."""

import importlib
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped, Twist, TwistStamped
from rclpy.node import Node

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.mobile.driving import WheelDrive, limited
from rbdyn_ros.control.mobile.wheels import wheel_base
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import mat_to_quat, quat_to_mat
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.graph.qos import reliable
from rbdyn_ros.ros.common.parsing import convert
from rbdyn_ros.ros.common.parsing.stamps import check_age
from rbdyn_ros.ros.common.reports.answer import MessageLog
from rbdyn_ros.ros.common.settings.base_parameters import PLANAR, limits_of, twist_of
from rbdyn_ros.ros.simulator.topics.base_joints import BaseJoints, PlanarJoints, WheelJoints
from rbdyn_ros.ros.simulator.topics.ticker import Ticker
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState

#: After a pause of the publishing thread, the twist changes by at most the acceleration times this
#: number of periods.
PATIENCE = 3
#: Variance in odom of height and tilt, which the base does not measure [m^2, rad^2].
UNKNOWN = 1e6
#: Rows and columns of x, y and yaw in a covariance of ROS.
FLAT = np.ix_((0, 1, 5), (0, 1, 5))


def base_joints(m: Model, values: SimpleNamespace) -> BaseJoints | None:
    """Return the joints of the mobile base of the parameters; None: the robot has no base.

    Raises:
        ParameterError: the robot has no such base.
    """
    kind = getattr(values, "base.kind")
    if not kind:
        return None
    if kind == PLANAR:
        return PlanarJoints()
    if not values.floating_base:
        text = (
            f"base.kind is {quote(kind)}, but the robot is fixed to the world; its wheels need "
            "floating_base and contact, or choose planar"
        )
        raise ParameterError(Finding("mobile-base", text, "error", "base.kind"))
    wheels = getattr(values, "base.wheels")
    radius = getattr(values, "base.wheel_radius")
    base = wheel_base(m, "" if kind == "auto" else kind, wheels, radius)
    drive = WheelDrive(base, getattr(values, "base.track_scale"))
    return WheelJoints(drive, getattr(values, "base.slip"), m)


def every(values: SimpleNamespace, period_ns: int) -> int:
    """Return the period of commands and odometry [ticks]; in lock-step it is one tick."""
    if values.time_mode == "lockstep":
        return 1
    rate: float = getattr(values, "base.rate")
    return max(1, round(NANOSECONDS / (rate * period_ns)))


class MobileBase:
    """Drives a base and publishes its odometry, both in the thread that publishes states.

    Until the first cmd_vel it commands nothing. A cmd_vel older than `base.timeout` means zero.

    Args:
        node: node that publishes and subscribes.
        loop: loop of the robot.
        joints: joints of the base.
        values: values of the parameters.

    Attributes:
        frame: TF frame of the base link.
        period: period of its odometry and commands [ticks].
        slides: whether the base has no wheels; /tf then has the transforms of its joints.
    """

    def __init__(
        self, node: Node, loop: Loop, joints: BaseJoints, values: SimpleNamespace
    ) -> None:
        self._loop, self._joints, self._values = loop, joints, values
        self._limits = limits_of(values)
        self._timeout = round(getattr(values, "base.timeout") * NANOSECONDS)
        self.period = every(values, loop.period_ns)
        self._ticker = Ticker(self.period)
        self._lockstep = values.time_mode == "lockstep"
        self.slides = isinstance(joints, PlanarJoints)
        self._odom: str = values.frame_prefix + getattr(values, "base.odom_frame")
        self.frame: str = values.frame_prefix + joints.link(loop.m)
        self._target: tuple[Array, int] | None = None
        self._twist, self._last, self._measured = np.zeros(3), (-1, -1), -1
        self._node, self._now = node, 0
        self._publisher: Any = None
        self._message: Any = None
        self._open(values.publish_tf)
        self.prepare(loop.m)()

    def _open(self, shows: bool) -> None:
        """Open odom, and /tf if `shows`; warn if a message package is not installed."""
        self._transforms: Any = None
        for package, lack in (("nav_msgs", "no odom"), ("tf2_msgs", "no /tf of the base")):
            try:
                messages = importlib.import_module(f"{package}.msg")
            except ImportError:
                self._node.get_logger().warning(f"{package} is not installed: {lack}")
                continue
            if package == "nav_msgs":
                self._message = messages.Odometry
                self._publisher = self._node.create_publisher(self._message, "odom", reliable(10))
            elif shows and not self.slides:
                self._tf_message = messages.TFMessage
                self._transforms = self._node.create_publisher(
                    self._tf_message, "/tf", reliable(100)
                )

    def subscribe(self, log: MessageLog) -> None:
        """Subscribe to cmd_vel."""
        stamped = getattr(self._values, "base.stamped")

        def take(message: Any) -> None:
            # read the newest stamp here, because `publish` is not called for every state
            epoch, newest = self._loop.readout.stream.newest
            now = newest if epoch == self._last[0] else self._now
            if stamped:
                check_age(message.header, now, self._timeout, "base.timeout")
            twist = twist_of(message, self.frame, stamped)
            self._joints.check(twist)
            self._target = twist, now

        log.subscribe(self._node, TwistStamped if stamped else Twist, "cmd_vel", take)

    def prepare(self, m: Model) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it."""

        def commit() -> None:
            self._m = m

        return commit

    def forget(self) -> None:
        """Restart at rest at the origin, because the simulation was reset."""
        self._target, self._now = None, 0
        self._last = (-1, -1)

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        """Measure the odometry, command the joints and publish, if that is due.

        A state without measured values also gets a command, because lock-step waits for it.
        """
        self._now = stamp_ns
        if not self._ticker.due(state):
            return
        (epoch, tick), self._last = self._last, (state.epoch, state.tick)
        if epoch != state.epoch or state.tick <= tick:
            self._joints.reset()
            self._twist, tick, self._measured = np.zeros(3), state.tick, state.tick
        arrived = state.measured_tick >= 0
        if arrived:
            self._joints.measure(self._m, state, self._seconds(state.tick - self._measured))
            self._measured = state.tick
        self._drive(stamp_ns, state, self._seconds(state.tick - tick))
        if arrived:
            self._show(stamp_ns, state)

    def _seconds(self, ticks: int) -> float:
        seconds: float = ticks * self._loop.period_ns / NANOSECONDS
        return seconds

    def _show(self, stamp_ns: int, state: LoopState) -> None:
        """Publish odom and the transforms of a state."""
        if self._publisher is not None:
            self._publisher.publish(self._odometry(stamp_ns))
        if self._transforms is not None:
            self._transforms.publish(self._tf(stamp_ns, state))

    def _drive(self, stamp_ns: int, state: LoopState, period: float) -> None:
        """Command a twist nearer to the newest cmd_vel, or to rest after its timeout.

        period: time since the last call [s].
        """
        given = self._target
        if given is None:
            return
        target, since = given
        # an age below 0 means that the twist came before a reset
        if not 0 <= stamp_ns - since <= self._timeout:
            target = np.zeros(3)
        # limit the period, so that the base does not jump after a pause of this thread
        period = min(period, self._seconds(PATIENCE * self._ticker.every))
        wanted = self._joints.capped(limited(target, self._limits.speed))
        most = self._limits.acceleration
        self._twist = self._joints.approach(self._twist, wanted, most, period)
        command = self._joints.command(self._m, self._twist)
        self._loop.orders.command(command, state.tick if self._lockstep else None)

    def _odometry(self, stamp_ns: int) -> Any:
        joints = self._joints
        message = self._message()
        message.header.stamp = convert.time_message(stamp_ns)
        message.header.frame_id, message.child_frame_id = self._odom, self.frame
        at, turn = message.pose.pose.position, message.pose.pose.orientation
        at.x, at.y = float(joints.pose[0]), float(joints.pose[1])
        turn.z, turn.w = math.sin(0.5 * joints.pose[2]), math.cos(0.5 * joints.pose[2])
        v, w = message.twist.twist.linear, message.twist.twist.angular
        v.x, v.y, w.z = map(float, joints.twist)
        message.pose.covariance = _covariance(joints.pose_covariance)
        message.twist.covariance = _covariance(joints.twist_covariance)
        return message

    def _tf(self, stamp_ns: int, state: LoopState) -> Any:
        """Return the transforms odom -> base and, with a world frame, world -> odom.

        The first is the odometry of the wheels. The second corrects it, so that world -> base is
        the exact pose.
        """
        x, y, angle = self._joints.pose
        c, s = math.cos(angle), math.sin(angle)
        R, p = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.array([x, y, 0.0])
        rows = [_transform(stamp_ns, self._odom, self.frame, R, p)]
        if self._values.world_frame:
            true, place = quat_to_mat(state.qpos[3:7]), state.qpos[:3]
            R_odom = true @ R.T
            rows.append(
                _transform(
                    *(stamp_ns, self._values.world_frame, self._odom, R_odom), place - R_odom @ p
                )
            )
        return self._tf_message(transforms=rows)


def _transform(stamp_ns: int, parent: str, child: str, R: Array, p: Array) -> TransformStamped:
    message = TransformStamped(child_frame_id=child)
    message.header.stamp = convert.time_message(stamp_ns)
    message.header.frame_id = parent
    convert.fill_vector(message.transform.translation, p.tolist())
    convert.fill_vector(message.transform.rotation, convert.xyzw(mat_to_quat(R)).tolist())
    return message


def _covariance(flat: Array) -> list[float]:
    """Return a covariance (3, 3) of x, y and yaw as the 36 numbers of a ROS message."""
    full = np.eye(6) * UNKNOWN
    full[FLAT] = flat
    values: list[float] = full.reshape(-1).tolist()
    return values
