"""What the simulator publishes, and the thread that publishes it."""

from __future__ import annotations

import importlib
import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from rbdyn_ros.api import make_data
from rbdyn_ros.description.types import Description
from rbdyn_ros.engine.kinematics import poses
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros import convert
from rbdyn_ros.ros.commands import Throttle
from rbdyn_ros.ros.convert import Prepared, SingleJoints
from rbdyn_ros.ros.robot import LATCHED, Source
from rbdyn_ros.runtime.compiled import NANOSECONDS
from rbdyn_ros.runtime.runtime import Runtime, State

HEARTBEAT = 1.0  # [s] between two repetitions while time stands


def reliable(depth: int) -> QoSProfile:
    """Return the QoS of a topic whose messages must arrive."""
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE)


class JointStates:
    """Publishes joint_states."""

    def __init__(self, node: Node, m: Model) -> None:
        joints = SingleJoints.all(m)
        n = len(joints.names)
        qpos, qvel, effort = np.zeros(m.nqall), np.zeros(m.nvall), np.zeros(m.nvall)
        qpos[joints.qposadr] = convert.marks(0, n)
        qvel[joints.dofadr] = convert.marks(n, n)
        effort[joints.dofadr] = convert.marks(2 * n, n)
        marked = convert.joint_state(joints, Prepared.MARK_STAMP, qpos, qvel, effort)
        self._prepared = Prepared(marked, 3 * n)
        velocity = m.nqall + joints.dofadr
        # where the message's numbers lie in a state's row
        self._pick = np.concatenate([joints.qposadr, velocity, velocity + m.nvall])
        self._publisher = node.create_publisher(JointState, "joint_states", reliable(10))

    def publish(self, stamp_ns: int, state: State) -> None:
        self._publisher.publish(self._prepared.filled(stamp_ns, state.row[self._pick]))


class Transforms:
    """Publishes /tf and, once, /tf_static."""

    def __init__(
        self, node: Node, m: Model, description: Description, world: str, prefix: str
    ) -> None:
        tf_message = importlib.import_module("tf2_msgs.msg").TFMessage
        moving, fixed = convert.tf_tree(m, description, world, prefix)
        self._m, self._d = m, make_data(m)
        poses(m, self._d)
        self._static = node.create_publisher(tf_message, "/tf_static", LATCHED)
        rows = convert.Poses(m, fixed).at(self._d.xpos, self._d.xmat)
        stamp = node.get_clock().now().nanoseconds
        self._static.publish(tf_message(transforms=convert.transforms(fixed, stamp, rows)))
        self._poses = convert.Poses(m, moving)
        numbers = np.array(convert.marks(0, 7 * len(moving))).reshape(-1, 7)
        marked = convert.transforms(moving, Prepared.MARK_STAMP, numbers)
        self._prepared = (
            Prepared(tf_message(transforms=marked), 7 * len(moving)) if moving else None
        )
        self._publisher = node.create_publisher(tf_message, "/tf", reliable(100))
        self._listeners = 0

    def publish(self, stamp_ns: int, state: State) -> None:
        if self._prepared is None:
            return
        # poses of the state itself, so no transform is a tick late
        self._d.qpos, self._d.time = state.qpos, state.time
        poses(self._m, self._d)
        rows = self._poses.at(self._d.xpos, self._d.xmat)
        self._publisher.publish(self._prepared.filled(stamp_ns, rows.reshape(-1)))

    def repeat(self, stamp_ns: int, state: State) -> None:
        """Publish again if somebody new listens: tf2 warns of transforms it already has."""
        listeners = self._publisher.get_subscription_count()
        if listeners > self._listeners:
            self.publish(stamp_ns, state)
        self._listeners = listeners


class Odometry:
    """Publishes odom: pose and twist of the root link on a floating base.

    nav_msgs wants the twist in the child frame; qvel has only its angular part there.
    """

    def __init__(self, node: Node, m: Model, world: str, prefix: str) -> None:
        odometry = importlib.import_module("nav_msgs.msg").Odometry
        # the pose needs a frame even if TF has none above the root link
        message = convert.odometry(odometry(), world or "world", prefix + m.body_names[1])
        self._prepared = Prepared(message, 13)
        self._publisher = node.create_publisher(odometry, "odom", reliable(10))

    def publish(self, stamp_ns: int, state: State) -> None:
        numbers = convert.odometry_numbers(state.qpos[:7], state.qvel[:6])
        self._publisher.publish(self._prepared.filled(stamp_ns, numbers))


class Ticker:
    """Says when something that happens every so many ticks is due."""

    def __init__(self, rate: float, period_ns: int) -> None:
        self.every = max(1, round(NANOSECONDS / (rate * period_ns)))
        self._last = -1

    def due(self, tick: int) -> bool:
        turn = tick // self.every
        if turn == self._last:
            return False
        self._last = turn
        return True


@dataclass(slots=True)
class Alarms:
    """What went wrong and must be said, but not a thousand times a second."""

    saturated: Throttle
    missed: Throttle
    singular: Throttle
    fault: int = -1
    bad: int = 0
    near: int = 0


class Outputs:
    """Everything published, on a thread of its own that wakes on new states.

    Args:
        node: publishes.
        runtime: whose states.
        source: the robot as it was given.
        values: the parameters.
        time_base: stamp of tick 0 [ns].
        clock: publishes /clock; None: somebody else does.

    Attributes:
        failure: what ended the thread before its time.
    """

    def __init__(
        self,
        node: Node,
        runtime: Runtime,
        source: Source,
        values: SimpleNamespace,
        time_base: int,
        clock: Any,
    ) -> None:
        self.failure: BaseException | None = None
        self._node, self._runtime, self._time_base = node, runtime, time_base
        m, period = runtime.m, runtime.period_ns
        self._joint_states = JointStates(node, m)
        self._transforms = self._make_transforms(source.description, values)
        self._odometry = self._make_odometry(values)
        self._clock = clock
        marked = Clock(clock=convert.time_message(Prepared.MARK_STAMP))
        self._clock_bytes = Prepared(marked, 0)
        if source.text and not source.received:
            self._description = node.create_publisher(String, "robot_description", LATCHED)
            self._description.publish(String(data=source.text))
        self._reset_name = f"{node.get_fully_qualified_name()}/reset"
        self._state_tick = Ticker(values.publish_rate, period)
        self._tf_tick = Ticker(values.tf_rate, period)
        self._clock_tick = Ticker(values.clock_rate, period)
        self._alarms = Alarms(Throttle(), Throttle(), Throttle())
        self._last_state: State | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rbdyn-publish")

    def _make_transforms(self, description: Description, values: SimpleNamespace) -> Any:
        if not values.publish_tf:
            return None
        m, world, prefix = self._runtime.m, values.world_frame, values.frame_prefix
        try:
            return Transforms(self._node, m, description, world, prefix)
        except ImportError:
            self._node.get_logger().warning("tf2_msgs is not installed: no /tf and no /tf_static")
            return None

    def _make_odometry(self, values: SimpleNamespace) -> Any:
        if not values.floating_base:
            return None
        m, world, prefix = self._runtime.m, values.world_frame, values.frame_prefix
        try:
            return Odometry(self._node, m, world, prefix)
        except ImportError:
            self._node.get_logger().info("nav_msgs is not installed: no odom")
            return None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop publishing; returns when the thread has ended."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException as error:  # noqa: BLE001 - spin() raises it in the main thread
            self.failure = error

    def _serve(self) -> None:
        spoken = time.monotonic()
        while not self._stopping.is_set():
            state = self._runtime.next_state(0.1)
            if state is not None:
                self._publish(state)
                spoken = time.monotonic()
            elif time.monotonic() - spoken > HEARTBEAT:
                self._beat()
                spoken = time.monotonic()

    def _publish(self, state: State) -> None:
        self._report(state)
        fresh = self._last_state is None or state.tick != self._last_state.tick
        self._last_state = state
        if not fresh:
            return
        stamp = self._time_base + state.tick * self._runtime.period_ns
        if self._state_tick.due(state.tick):
            self._joint_states.publish(stamp, state)
            if self._odometry is not None:
                self._odometry.publish(stamp, state)
        if self._transforms is not None and self._tf_tick.due(state.tick):
            self._transforms.publish(stamp, state)
        if self._clock is not None and self._clock_tick.due(state.tick):
            # after the state, so who acts on the tick finds it
            self._clock.publish(self._clock_bytes.filled(stamp, _NO_NUMBERS))

    def _beat(self) -> None:
        """Repeat the last state: time stands, and those who came late know nothing yet."""
        if self._last_state is None:
            return
        stamp = self._time_base + self._last_state.tick * self._runtime.period_ns
        self._joint_states.publish(stamp, self._last_state)
        if self._odometry is not None:
            self._odometry.publish(stamp, self._last_state)
        if self._transforms is not None:
            self._transforms.repeat(stamp, self._last_state)
        if self._clock is not None:
            self._clock.publish(self._clock_bytes.filled(stamp, _NO_NUMBERS))

    def _report(self, state: State) -> None:
        m, alarms, logger = self._runtime.m, self._alarms, self._node.get_logger()
        if state.fault != alarms.fault:
            alarms.fault = state.fault
            if state.fault >= 0:
                text = (
                    f"the state of joint '{m.jnt_names[state.fault]}' diverged; the simulation "
                    f"stands at its last good state. Call {self._reset_name}"
                )
                logger.error(text)
        if state.saturated >= 0 and alarms.saturated.due(time.monotonic()):
            limit = abs(state.effort[state.saturated])
            text = f"effort of joint '{_owner(m, state.saturated)}' is clamped to {limit:g}"
            logger.warning(text)
        if state.bad > alarms.bad:
            alarms.bad = state.bad
            logger.error("an inertia is not positive: the motion is wrong; see rbdyn check")
        if state.singular > alarms.near and alarms.singular.due(time.monotonic()):
            logger.warning(
                "a yaw-pitch-roll joint is close to its singularity: its motion is inexact there"
            )
        alarms.near = max(alarms.near, state.singular)
        if state.missed and alarms.missed.due(time.monotonic()):
            text = f"publishing is too slow: {state.missed} states were left out"
            logger.warning(text)


_NO_NUMBERS: NDArray[np.float64] = np.empty(0)


def _owner(m: Model, dof: int) -> str:
    name: str = m.jnt_names[int(m.dof_jntid[dof])]
    return name
