"""Topics that publish the states of a robot."""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from rbdyn_ros.description.types import Description
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.kinematics import poses
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common import convert
from rbdyn_ros.ros.common.convert import Prepared
from rbdyn_ros.ros.common.qos import LATCHED, reliable
from rbdyn_ros.ros.common.qos_reports import for_publisher
from rbdyn_ros.ros.common.single_joints import SingleJoints
from rbdyn_ros.ros.common.source import Source
from rbdyn_ros.ros.common.stamps import TickStamps
from rbdyn_ros.ros.common.throttle import Throttle
from rbdyn_ros.ros.simulator.driver import SimulatedDriver
from rbdyn_ros.ros.simulator.markers import WrenchMarkers
from rbdyn_ros.ros.simulator.record import NodeRecorder
from rbdyn_ros.ros.simulator.sensors import SensorTopics
from rbdyn_ros.ros.simulator.stop_reason import has_locked_drive, stop_reason
from rbdyn_ros.ros.simulator.ticker import Ticker
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState

#: Interval at which the last state is repeated while time is paused [s].
HEARTBEAT = 1.0
#: Number of states kept for a slow subscriber: a pause of a second loses none.
HISTORY = 1000


class JointStates:
    """Publishes joint_states: the measurements that have arrived.

    Args:
        node: publishes.
        m: the Model.
        joints: of the messages.
        driver: leaves terms out of measured efforts, or None.
    """

    def __init__(
        self, node: Node, m: Model, joints: SingleJoints, driver: SimulatedDriver | None = None
    ) -> None:
        self._driver = driver
        self.prepare(m, joints)()
        self._publisher = node.create_publisher(
            JointState,
            "joint_states",
            reliable(HISTORY),
            event_callbacks=for_publisher(node, "joint_states"),
        )

    def prepare(self, m: Model, joints: SingleJoints) -> Callable[[], None]:
        """Return what goes on with a Model that has other objects."""
        n = len(joints.names)
        qpos, qvel, effort = np.zeros(m.nqall), np.zeros(m.nvall), np.zeros(m.nvall)
        qpos[joints.qposadr] = convert.marks(0, n)
        qvel[joints.dofadr] = convert.marks(n, n)
        effort[joints.dofadr] = convert.marks(2 * n, n)
        marked = convert.joint_state(joints, Prepared.MARK_STAMP, qpos, qvel, effort)
        prepared = Prepared(marked, 3 * n)
        # indices of the message's numbers among the measured ones
        pick = np.concatenate([k * m.nvall + joints.dofadr for k in range(3)])

        def commit() -> None:
            self._prepared, self._pick = prepared, pick

        return commit

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        measured = state.measured if self._driver is None else self._driver.reported(state)
        self._publisher.publish(self._prepared.filled(stamp_ns, measured[self._pick]))


class Transforms:
    """Publishes /tf and, once, /tf_static.

    Attributes:
        frames: the frames, each with its topic.
    """

    def __init__(
        self, node: Node, m: Model, description: Description, world: str, prefix: str
    ) -> None:
        self._message = importlib.import_module("tf2_msgs.msg").TFMessage
        self._node, self._world, self._prefix = node, world, prefix
        self._static = node.create_publisher(self._message, "/tf_static", LATCHED)
        self._publisher = node.create_publisher(self._message, "/tf", reliable(100))
        self._subscribers = 0
        self.prepare(m, description)()

    def prepare(self, m: Model, description: Description) -> Callable[[], None]:
        """Return what goes on with a Model that has other objects."""
        tf_message = self._message
        moving, fixed = convert.tf_tree(m, description, self._world, self._prefix)
        d = make_data(m)
        poses(m, d)
        rows = convert.Poses(m, fixed).at(d.xpos, d.xmat)
        stamp = self._node.get_clock().now().nanoseconds
        static = tf_message(transforms=convert.transforms(fixed, stamp, rows))
        numbers = np.array(convert.marks(0, 7 * len(moving))).reshape(-1, 7)
        marked = convert.transforms(moving, Prepared.MARK_STAMP, numbers)
        prepared = Prepared(tf_message(transforms=marked), 7 * len(moving)) if moving else None
        topic, places = self._publisher.topic_name, convert.Poses(m, moving)
        frames = tuple(f"{link.name} on {topic}" for link in (*moving, *fixed))

        def commit() -> None:
            self._m, self._d, self._poses = m, d, places
            self._prepared, self.frames = prepared, frames
            self._static.publish(static)

        return commit

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        if self._prepared is None:
            return
        # computed from this state, so no transform is a tick late
        self._d.qpos, self._d.time = state.qpos, state.time
        poses(self._m, self._d)
        rows = self._poses.at(self._d.xpos, self._d.xmat)
        self._publisher.publish(self._prepared.filled(stamp_ns, rows.reshape(-1)))

    def repeat(self, stamp_ns: int, state: LoopState) -> None:
        """Publish again for new subscribers only: tf2 warns about repeated transforms."""
        count = self._publisher.get_subscription_count()
        if count > self._subscribers:
            self.publish(stamp_ns, state)
        self._subscribers = count


class ObjectPoses:
    """Publishes object_poses: the poses of the free objects of a scene in the world.

    The message is one of TF, but not for /tf: it has the rate of joint_states, and one parent.
    """

    def __init__(
        self, node: Node, m: Model, names: Sequence[str], world: str, prefix: str
    ) -> None:
        self._message = importlib.import_module("tf2_msgs.msg").TFMessage
        self._world, self._prefix = world, prefix
        self._publisher = node.create_publisher(self._message, "object_poses", reliable(10))
        self.prepare(m, names)()

    def prepare(self, m: Model, names: Sequence[str]) -> Callable[[], None]:
        """Return what goes on with other objects."""
        links = [
            convert.LinkFrames(m.frame_id(name), -1, self._world or "world", self._prefix + name)
            for name in names
        ]
        d, places = make_data(m), convert.Poses(m, links)
        numbers = np.array(convert.marks(0, 7 * len(links))).reshape(-1, 7)
        marked = convert.transforms(links, Prepared.MARK_STAMP, numbers)
        message = self._message(transforms=marked)
        prepared = Prepared(message, 7 * len(links)) if links else None

        def commit() -> None:
            self._m, self._d, self._poses, self._prepared = m, d, places, prepared

        return commit

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        if self._publisher.get_subscription_count() == 0:
            return
        if self._prepared is None:  # the last object was deleted
            self._publisher.publish(self._message())
            return
        self._d.qpos, self._d.time = state.qpos, state.time
        poses(self._m, self._d)
        rows = self._poses.at(self._d.xpos, self._d.xmat)
        self._publisher.publish(self._prepared.filled(stamp_ns, rows.reshape(-1)))


class Odometry:
    """Publishes odom: pose and twist of the root link on a floating base.

    nav_msgs defines the twist in the child frame; qvel has only its angular part there.
    """

    def __init__(self, node: Node, m: Model, world: str, prefix: str) -> None:
        odometry = importlib.import_module("nav_msgs.msg").Odometry
        # the pose needs a frame even if TF has none above the root link
        message = convert.odometry(odometry(), world or "world", prefix + m.body_names[1])
        self._prepared = Prepared(message, 13)
        self._publisher = node.create_publisher(odometry, "odom", reliable(10))

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        numbers = convert.odometry_numbers(state.qpos[:7], state.qvel[:6])
        self._publisher.publish(self._prepared.filled(stamp_ns, numbers))


@dataclass(frozen=True, slots=True)
class Cadence:
    """Periods of publishing [ticks].

    Attributes:
        states, transforms, clock: of these topics.
        hand_over: period in which the loop hands states over: the greatest common divisor.
    """

    states: int
    transforms: int
    clock: int
    hand_over: int

    @staticmethod
    def of(values: SimpleNamespace, period_ns: int, others: Iterable[int] = ()) -> Cadence:
        """Return the periods of the parameters; `others` are the periods of sensors."""
        rates = values.publish_rate, values.tf_rate, values.clock_rate
        every = [max(1, round(NANOSECONDS / (rate * period_ns))) for rate in rates]
        if values.time_mode == "lockstep":  # every tick is answered
            every[0] = every[2] = 1
        states, transforms, clock = every
        return Cadence(states, transforms, clock, math.gcd(*every, *others))


@dataclass(slots=True)
class Alarms:
    """Reported problems, so that none is logged a thousand times a second."""

    saturated: Throttle
    missed: Throttle
    singular: Throttle
    fault: int = -1
    bad: int = 0
    near: int = 0
    unsolved: bool = False
    dropped: bool = False


class Outputs:
    """Publishes the states of a robot on all its topics; for one thread.

    Args:
        node: publishes.
        loop: of the robot.
        source: of the robot.
        values: the parameters.
        cadence: of the topics.
        stamps: of the ticks of the loop.
        clock: publisher of /clock; None: another node publishes it.
        others: sensors and markers, published from the same states.
        recorder: records every state before it is published, or None.
        watch: called with every record of the loop before it is published, or None.
        reset_name: of the service to call after divergence.

    Attributes:
        lock: held while a state is published.
        spawned: joint_states of robots that were spawned.
    """

    spawned: tuple[JointStates, ...] = ()

    def __init__(
        self,
        node: Node,
        loop: Loop,
        source: Source,
        values: SimpleNamespace,
        cadence: Cadence,
        stamps: TickStamps,
        clock: Any,
        others: Iterable[SensorTopics | WrenchMarkers] = (),
        reset_name: str = "",
        recorder: NodeRecorder | None = None,
        watch: Callable[[LoopState], object] | None = None,
    ) -> None:
        self._watch = watch
        self._node, self._loop, self._stamps, self._values = node, loop, stamps, values
        self.lock = threading.RLock()
        m = loop.m
        driver = SimulatedDriver.of(loop, values)
        self._joint_states = JointStates(node, m, SingleJoints.all(m), driver)
        self._transforms = self._make_transforms(source.description, values)
        self._odometry = self._make_odometry(values)
        names = source.description.objects
        self._objects = self._make_objects(names) if names else None
        self._others, self._recorder = tuple(others), recorder
        self._clock = clock
        marked = Clock(clock=convert.time_message(Prepared.MARK_STAMP))
        self._clock_bytes = Prepared(marked, 0)
        if source.text and not source.received:
            self._description = node.create_publisher(String, "robot_description", LATCHED)
            self._description.publish(String(data=source.text))
        self._reset_name = reset_name
        self._state_tick = Ticker(cadence.states)
        self._tf_tick = Ticker(cadence.transforms)
        self._clock_tick = Ticker(cadence.clock)
        self._alarms = Alarms(Throttle(), Throttle(), Throttle())
        self._last_state: LoopState | None = None
        self._delivered: LoopState | None = None
        self._published = 0.0  # time of the last publication, steady clock [s]

    def _make_transforms(self, description: Description, values: SimpleNamespace) -> Any:
        if not values.publish_tf:
            return None
        m, world, prefix = self._loop.m, values.world_frame, values.frame_prefix
        try:
            return Transforms(self._node, m, description, world, prefix)
        except ImportError:
            self._node.get_logger().warning("tf2_msgs is not installed: no /tf and no /tf_static")
            return None

    def _make_odometry(self, values: SimpleNamespace) -> Any:
        if not values.floating_base:
            return None
        m, world, prefix = self._loop.m, values.world_frame, values.frame_prefix
        try:
            return Odometry(self._node, m, world, prefix)
        except ImportError:
            self._node.get_logger().info("nav_msgs is not installed: no odom")
            return None

    def _make_objects(self, names: Sequence[str]) -> Any:
        world, prefix = self._values.world_frame, self._values.frame_prefix
        try:
            return ObjectPoses(self._node, self._loop.m, names, world, prefix)
        except ImportError:
            self._node.get_logger().warning("tf2_msgs is not installed: no object_poses")
            return None

    @property
    def measured_tick(self) -> int:
        """Tick of the newest state on joint_states; -1: none yet."""
        delivered = self._delivered
        return -1 if delivered is None else delivered.measured_tick

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames of the transforms, each with its topic."""
        return self._transforms.frames if self._transforms is not None else ()

    def publish_next(self) -> bool:
        """Publish the next state of the loop; return whether there was one."""
        with self.lock:
            state = self._loop.readout.next_state(0.0)
            if state is not None:
                self.publish(state)
            return state is not None

    def drain(self) -> None:
        """Publish all states that the loop has handed over."""
        while self.publish_next():
            pass

    def prepare(
        self, m: Model, description: Description, robots: Collection[str] = ()
    ) -> Callable[[], None]:
        """Return what goes on with a Model that has other objects.

        All that can fail is done here; call the result only while locked and drained.

        Args:
            m: the Model.
            description: it was made from this.
            robots: that were spawned: their joint states have topics of their own.
        """
        if self._objects is None and description.objects:
            self._objects = self._make_objects(())
        joints = SingleJoints.all(m).without(tuple(f"{name}/" for name in robots))
        commits = [self._joint_states.prepare(m, joints)]
        if self._transforms is not None:
            commits.append(self._transforms.prepare(m, description))
        if self._objects is not None:
            commits.append(self._objects.prepare(m, description.objects))
        commits += [x.prepare(m) for x in self._others if isinstance(x, WrenchMarkers)]

        def commit() -> None:
            for part in commits:
                part()
            self._go_on()

        return commit

    def _go_on(self) -> None:
        """Take the first state of another Model."""
        state = self._loop.readout.next_state(1.0)  # of the same tick as the last one
        if state is None:
            return
        self._last_state = state
        self._delivered = state if state.measured_tick >= 0 else None
        if self._objects is not None:
            self._objects.publish(self._stamps.of(state.tick), state)

    def publish(self, state: LoopState) -> None:
        """Publish a state on all topics that are due; /clock after all others."""
        self._report(state)
        if self._watch is not None:
            self._watch(state)
        last, self._last_state = self._last_state, state
        if last is not None and (state.epoch, state.tick) == (last.epoch, last.tick):
            return
        self._published = time.monotonic()
        if last is not None and state.epoch != last.epoch:
            self._delivered = None  # it is of another time
        stamp = self._stamps.of(state.tick)
        if self._recorder is not None:
            self._recorder.take(stamp, state)
        if self._state_tick.due(state):
            if state.measured_tick >= 0:
                self._delivered = state
                measured = self._stamps.of(state.measured_tick)
                for states in (self._joint_states, *self.spawned):
                    states.publish(measured, state)
            if self._odometry is not None:
                self._odometry.publish(stamp, state)
            if self._objects is not None:
                self._objects.publish(stamp, state)
        if self._transforms is not None and self._tf_tick.due(state):
            self._transforms.publish(stamp, state)
        for other in self._others:
            other.publish(stamp, state)
        if self._clock is not None and self._clock_tick.due(state):
            self._clock.publish(self._clock_bytes.filled(stamp, _NO_NUMBERS))

    def beat(self, now: float) -> None:
        """Repeat the last state while time is paused, for late subscribers."""
        with self.lock:
            self._beat(now)

    def _beat(self, now: float) -> None:
        control, state = self._loop.time, self._last_state
        still = control.paused or control.diverged or control.waiting
        if state is None or not still or now < self._published + HEARTBEAT:
            return
        self._published = now
        stamp = self._stamps.of(state.tick)
        if self._delivered is not None and not self._loop.plant.faults.link_loss:
            measured = self._stamps.of(self._delivered.measured_tick)
            for states in (self._joint_states, *self.spawned):
                states.publish(measured, self._delivered)
        if self._odometry is not None:
            self._odometry.publish(stamp, state)
        if self._objects is not None:
            self._objects.publish(stamp, state)
        if self._transforms is not None:
            self._transforms.repeat(stamp, state)
        if self._clock is not None:
            self._clock.publish(self._clock_bytes.filled(stamp, _NO_NUMBERS))

    def _remedy(self, locked: bool) -> str:
        """Return what to do after a fault."""
        call = f"Call {self._reset_name}"
        m = self._loop.m
        if locked or m.not_implicit or m.opt.integrator not in ("euler", "implicit_damping"):
            return call
        return f"{call}; if energy grew without a cause, try the integrator implicit_midpoint"

    def _report(self, state: LoopState) -> None:
        m, alarms, logger = self._loop.m, self._alarms, self._node.get_logger()
        if state.fault != alarms.fault:
            alarms.fault = state.fault
            if state.fault >= 0:
                locked = has_locked_drive(m, state.fault)
                text = (
                    f"{stop_reason(m.jnt_names[state.fault], locked)}; the simulation "
                    f"is frozen at its last good state. {self._remedy(locked)}"
                )
                logger.error(text)
        if state.saturated >= 0 and alarms.saturated.due(time.monotonic()):
            limit = abs(state.effort[state.saturated])
            text = f"the effort of joint '{_owner(m, state.saturated)}' is clamped to {limit:g}"
            logger.warning(text)
        if state.bad > alarms.bad:
            alarms.bad = state.bad
            logger.error("an inertia is not positive: the motion is wrong; see rbdyn check")
        if state.singular > alarms.near and alarms.singular.due(time.monotonic()):
            logger.warning(
                "a yaw-pitch-roll joint is near its singularity: its motion is inaccurate there"
            )
        alarms.near = max(alarms.near, state.singular)
        self._report_contact(state)
        if state.missed and alarms.missed.due(time.monotonic()):
            text = f"publishing is too slow: {state.missed} states were skipped"
            logger.warning(text)

    def _report_contact(self, state: LoopState) -> None:
        """Warn once of contact forces that are not right."""
        alarms, logger = self._alarms, self._node.get_logger()
        if state.unsolved > 0 and not alarms.unsolved:
            alarms.unsolved = True
            logger.warning(
                "the contact forces of a timestep have not converged: friction was inexact in it. "
                "A few such timesteps in a fall do no harm; later ones are not logged"
            )
        if state.dropped > 0 and not alarms.dropped:
            alarms.dropped = True
            text = (
                f"{state.dropped} contacts do not fit in the list of {self._loop.m.ncontact} and "
                "do not act; use simpler collision geometries, or fewer of them"
            )
            logger.warning(text)


_NO_NUMBERS: NDArray[np.float64] = np.empty(0)


def _owner(m: Model, dof: int) -> str:
    name: str = m.jnt_names[int(m.dof_jntid[dof])]
    return name
