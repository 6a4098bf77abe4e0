# SPDX-License-Identifier: Apache-2.0
"""Topics that publish the states of a robot."""

import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.source import Source
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.graph.qos import LATCHED
from rbdyn_ros.ros.common.parsing import convert
from rbdyn_ros.ros.common.parsing.convert import Prepared
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.common.parsing.stamps import TickStamps
from rbdyn_ros.ros.simulator.topics import state_topics
from rbdyn_ros.ros.simulator.topics.alarms import Alarms
from rbdyn_ros.ros.simulator.topics.driver import SimulatedDriver
from rbdyn_ros.ros.simulator.topics.external import ExternalEfforts
from rbdyn_ros.ros.simulator.topics.markers import WrenchMarkers
from rbdyn_ros.ros.simulator.topics.mobile_base import MobileBase
from rbdyn_ros.ros.simulator.topics.planning_scene import PlanningSceneTopic
from rbdyn_ros.ros.simulator.topics.record import NodeRecorder
from rbdyn_ros.ros.simulator.topics.sensors import SensorTopics
from rbdyn_ros.ros.simulator.topics.servoing import ServoTopic
from rbdyn_ros.ros.simulator.topics.streams import stream_topic
from rbdyn_ros.ros.simulator.topics.unitree import UnitreeTopics
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.mutex import Mutex
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.stream import StreamPlan

#: Interval at which the last state is published again while time is paused [s].
HEARTBEAT = 1.0
#: Interval at which Python publishes a state, to notice new subscribers and problems [s].
LOOK = 0.1

#: Types of the topics other than joint states, motor states and transforms.
Other = (
    SensorTopics
    | WrenchMarkers
    | ExternalEfforts
    | MobileBase
    | ServoTopic
    | UnitreeTopics
    | PlanningSceneTopic
)
#: Topics that the Robot itself prepares for a change, because they need more than the Model.
OF_THE_WORLD = (SensorTopics, PlanningSceneTopic)


@dataclass(frozen=True, slots=True)
class Cadence:
    """Periods of the topics [ticks].

    Attributes:
        states, transforms, clock: periods of joint_states, /tf and /clock.
        hand_over: period at which the loop hands states over: the greatest common divisor.
    """

    states: int
    transforms: int
    clock: int
    hand_over: int

    @staticmethod
    def of(values: SimpleNamespace, period_ns: int, others: Iterable[int] = ()) -> "Cadence":
        """Return the periods from the parameters; `others` are periods of sensors [ticks]."""
        rates = values.publish_rate, values.tf_rate, values.clock_rate
        every = [max(1, round(NANOSECONDS / (rate * period_ns))) for rate in rates]
        if values.time_mode == "lockstep":  # each tick needs a message of joint_states
            every[0] = every[2] = 1
        states, transforms, clock = every
        return Cadence(states, transforms, clock, math.gcd(*every, *others))


class Outputs:
    """Publishes the states of a robot on all its topics. Only one thread may use it.

    Args:
        node: node that publishes.
        loop: loop of the robot.
        source: source of the robot.
        values: values of the parameters.
        cadence: periods of the topics.
        stamps: stamps of the ticks of the loop.
        clock: publisher of /clock; None: another node publishes it.
        others: further topics, such as sensors, that are published from the same states.
        recorder: records every state before it is published, or None.
        watch: called with every record of the loop before it is published, or None.
        drives: whether a mobile base publishes odom and the transforms above its link.
        reset_name: name of the service to call after divergence.

    Attributes:
        lock: held while a state is published, also by compiled code.
        stream: what compiled code publishes, and which states were published.
        spawned: joint_states of spawned robots.
        describes: whether this publishes robot_description.
    """

    spawned: tuple[state_topics.JointStates, ...] = ()

    def __init__(
        self,
        node: Node,
        loop: Loop,
        source: Source,
        values: SimpleNamespace,
        cadence: Cadence,
        stamps: TickStamps,
        clock: Any,
        others: Iterable[Other] = (),
        reset_name: str = "",
        recorder: NodeRecorder | None = None,
        watch: Callable[[LoopState], object] | None = None,
        drives: bool = False,
    ) -> None:
        self._root_frame = "" if drives else values.world_frame
        self._watch = watch
        self._node, self._loop, self._stamps, self._values = node, loop, stamps, values
        self.lock, self.stream = Mutex(), loop.readout.stream
        self.stream.time_base = stamps.time_base
        m = loop.m
        driver = SimulatedDriver.of(loop, values)
        self._joint_states = state_topics.JointStates(node, m, SingleJoints.all(m), driver)
        self._motors = state_topics.MotorStates(node, m) if m.nu else None
        self._transforms = self._make_transforms(source.description, values)
        self._odometry = None
        if values.floating_base and not drives:
            self._odometry = self._made(state_topics.Odometry, "nav_msgs", "no odom")
        names = source.description.objects
        self._objects = self._make_objects(names) if names else None
        self._others, self._recorder = tuple(others), recorder
        self._clock = clock
        marked = Clock(clock=convert.time_message(Prepared.MARK_STAMP))
        self._clock_bytes = Prepared(marked, 0)
        self.describes = bool(source.text) and not source.received
        if self.describes:
            texts = {"robot_description": source.text}
            texts["robot_description_semantic"] = source.semantics
            self._descriptions = [_latched(node, *row) for row in texts.items() if row[1]]
        self._cadence = cadence
        self._alarms = Alarms(node.get_logger(), reset_name)
        self._plan: StreamPlan | None = None
        self._planned: tuple[object, ...] = ()
        # time of the last publication on the steady clock [s], and version of the stream then
        self._published, self._version = 0.0, 0

    def _make_transforms(self, description: Description, values: SimpleNamespace) -> Any:
        if not values.publish_tf:
            return None
        return self._made(
            state_topics.Transforms, "tf2_msgs", "no /tf and no /tf_static", description
        )

    def _make_objects(self, names: Sequence[str]) -> Any:
        return self._made(state_topics.ObjectPoses, "tf2_msgs", "no object_poses", names)

    def _made(self, kind: Callable[..., Any], package: str, lack: str, *parts: Any) -> Any:
        """Return a topic, or None with a warning if its message package is not installed."""
        world, prefix = self._values.world_frame, self._values.frame_prefix
        if kind is state_topics.Transforms:
            world = self._root_frame
        try:
            return kind(self._node, self._loop.m, *parts, world, prefix)
        except ImportError:
            self._node.get_logger().warning(f"{package} is not installed: {lack}")
            return None

    @property
    def measured_tick(self) -> int:
        """Tick of the newest state on joint_states, or -1 before the first state."""
        return self.stream.kept_tick

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames of the transforms, each joined with its topic."""
        return self._transforms.frames if self._transforms is not None else ()

    def publish_next(self) -> bool:
        """Publish the next state of the loop; return whether there was a new state."""
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
        """Prepare for a Model with other objects; return the function that switches to it.

        All steps that can fail are done here. Hold `lock` and call `drain` before the function.

        Args:
            m: the Model.
            description: description from which the Model was made.
            robots: names of spawned robots; their joint states have topics of their own.
        """
        if self._objects is None and description.objects:
            self._objects = self._make_objects(())
        joints = SingleJoints.all(m).without(tuple(f"{name}/" for name in robots))
        commits = [self._joint_states.prepare(m, joints)]
        if self._motors is not None:
            commits.append(self._motors.prepare(m))
        if self._transforms is not None:
            commits.append(self._transforms.prepare(m, description))
        if self._objects is not None:
            commits.append(self._objects.prepare(m, description.objects))
        commits += [x.prepare(m) for x in self._others if not isinstance(x, OF_THE_WORLD)]

        def commit() -> None:
            for part in commits:
                part()
            self._go_on()

        return commit

    def _go_on(self) -> None:
        """Read the first state of the new Model, and publish the poses of its objects."""
        state = self._loop.readout.next_state(1.0)  # its tick can equal the tick of the last state
        if state is None:
            return
        self.stream.note()
        if state.measured_tick >= 0:
            self.stream.keep()
        if self._objects is not None:
            self._objects.publish(self._stamps.of(state.tick), state)

    def publish(self, state: LoopState) -> None:
        """Publish the state that was read last on all topics that are due; /clock is last.

        Afterwards compiled code publishes plain states; see runtime/kernels/stream.py.
        """
        self._alarms.report(self._loop.m, state)
        if self._watch is not None:
            self._watch(state)
        last = self.stream.last
        if last != (state.epoch, state.tick):
            self._publish_due(last, state)
        self.stream.note()
        self._arm()

    def _publish_due(self, last: tuple[int, int] | None, state: LoopState) -> None:
        def due(every: int) -> bool:
            now = state.epoch, state.tick // every
            return last is None or (last[0], last[1] // every) != now

        self._published = time.monotonic()
        if last is not None and state.epoch != last[0]:
            self.stream.keep(False)  # drop the kept state, which is from before the reset
        stamp = self._stamps.of(state.tick)
        if self._recorder is not None:
            self._recorder.take(stamp, state)
        if due(self._cadence.states):
            if state.measured_tick >= 0:
                self.stream.keep()
                measured = self._stamps.of(state.measured_tick)
                for states in (self._joint_states, *self.spawned):
                    states.publish(measured, state)
            self._publish_beside(stamp, state)
        if self._transforms is not None and due(self._cadence.transforms):
            self._transforms.publish(stamp, state)
        for other in self._others:
            other.publish(stamp, state)
        if self._clock is not None and due(self._cadence.clock):
            self._clock.publish(self._clock_bytes.filled(stamp, _NO_NUMBERS))

    def _arm(self) -> None:
        """Let compiled code publish plain states, unless Python must process each state."""
        if self._watch is not None or self._recorder is not None:
            return
        heard = self._objects is not None and self._objects.is_heard()
        periods = [other.period for other in self._others]
        planned = self.spawned, self._alarms.said_fast, heard, periods
        if planned == self._planned and self.stream.armed:
            return
        self._plan, self._planned = self._made_plan(heard, periods), planned
        self.stream.arm(self._plan)

    def _made_plan(self, objects: bool, others: list[int]) -> StreamPlan:
        """Return the plan for compiled code.

        Args:
            objects: whether object_poses has subscribers.
            others: periods of further topics [ticks], at which Python must publish.
        """
        cadence = self._cadence
        others = [*others, max(1, round(LOOK * NANOSECONDS / self._loop.period_ns))]
        found = [one.streamed(cadence.states) for one in (self._joint_states, *self.spawned)]
        if None in found or objects or self._motors or self._odometry:
            others.append(cadence.states)
        if self._transforms is not None:
            others.append(cadence.transforms)
        if self._clock is not None:
            ticks = self._clock_bytes, cadence.clock, np.zeros(0, np.int64), False
            found.append(stream_topic(self._clock, *ticks))
            if found[-1] is None:
                others.append(cadence.clock)
        topics = [topic for topic in found if topic is not None]
        return StreamPlan(topics, others, self._alarms.fastest(self._loop.m))

    def _publish_beside(self, stamp: int, state: LoopState) -> None:
        """Publish the due topics whose stamp is the state's and not the measurement's."""
        for topic in (self._motors, self._odometry, self._objects):
            if topic is not None:
                topic.publish(stamp, state)

    def beat(self, now: float) -> None:
        """Publish the last state again if time is paused and HEARTBEAT has passed; now [s]."""
        with self.lock:
            self._beat(now)

    def _beat(self, now: float) -> None:
        control, stream = self._loop.time, self.stream
        if stream.version != self._version:  # compiled code may have published
            self._version, self._published = stream.version, now
        still = control.paused or control.diverged or control.waiting
        if not still or now < self._published + HEARTBEAT or (state := stream.state) is None:
            return
        self._published = now
        stamp, kept = self._stamps.of(state.tick), stream.kept
        if kept is not None and not self._loop.plant.faults.link_loss:
            measured = self._stamps.of(kept.measured_tick)
            for states in (self._joint_states, *self.spawned):
                states.publish(measured, kept)
        self._publish_beside(stamp, state)
        if self._transforms is not None:
            self._transforms.repeat(stamp, state)
        if self._clock is not None:
            self._clock.publish(self._clock_bytes.filled(stamp, _NO_NUMBERS))


def _latched(node: Node, topic: str, text: str) -> Any:
    """Publish a text that late subscribers also get; return the publisher."""
    publisher = node.create_publisher(String, topic, LATCHED)
    publisher.publish(String(data=text))
    return publisher


_NO_NUMBERS: NDArray[np.float64] = np.empty(0)
