# SPDX-License-Identifier: Apache-2.0
"""Topics for commands to a robot; each message is parsed, then passed to the loop or refused."""

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rbdyn_ros.errors import refusal
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.ros.common.graph.endpoints import with_sender
from rbdyn_ros.ros.common.graph.interfaces import message_class
from rbdyn_ros.ros.common.graph.qos import reliable
from rbdyn_ros.ros.common.parsing.commands import CommandParser
from rbdyn_ros.ros.common.parsing.stamps import TickStamps
from rbdyn_ros.ros.common.parsing.trajectory import TrajectoryParser
from rbdyn_ros.ros.common.reports.answer import MessageLog
from rbdyn_ros.ros.common.reports.qos_reports import for_subscription
from rbdyn_ros.ros.simulator.topics.commanders import AnswerAges, CommanderWatch
from rbdyn_ros.ros.simulator.topics.driver import SimulatedDriver
from rbdyn_ros.ros.simulator.topics.topic_based import TOPIC, TopicBasedParser
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.types import Command


class Reception:
    """Subscribes to the command topics of a robot.

    Args:
        node: node that subscribes.
        loop: loop that gets the commands.
        commands: parser of commands.
        trajectories: parser of trajectories; None: there is no topic for them.
        bridge: parser of messages from ros2_control's JointStateTopicSystem; None: no topic.
        stamps: stamps of the ticks of the loop.
        ages: refuses commands that answer an old state, in time_mode realtime.
        driver: adds the terms of the arm's own controller to efforts; None: there are none.

    Attributes:
        log: counts and logs accepted and rejected messages.
        ages: the argument.
        watch: logs when commands stop.
    """

    def __init__(
        self,
        node: Node,
        loop: Loop,
        commands: CommandParser,
        trajectories: TrajectoryParser | None,
        bridge: TopicBasedParser | None,
        stamps: TickStamps,
        ages: AnswerAges,
        driver: SimulatedDriver | None = None,
    ) -> None:
        self._driver = driver
        self._node, self._loop = node, loop
        self._commands, self._trajectories, self._bridge = commands, trajectories, bridge
        self._stamps, self._mode, self.ages = stamps, loop.settings.time_mode, ages
        self.watch = CommanderWatch(node, loop)
        self.log = MessageLog(node.get_logger().warning)
        self._subscribe(JointState, "joint_commands", self._on_joint_command)
        self._subscribe(Float64MultiArray, "effort_commands", self._on_efforts)
        self._subscribe_to(
            "rbdyn_interfaces", "JointCommand", "joint_commands_by_mode", self._on_command_by_mode
        )
        if trajectories is not None:
            self._subscribe_to(
                "trajectory_msgs", "JointTrajectory", "joint_trajectory", self._on_trajectory
            )
        if bridge is not None:
            self._subscribe(JointState, TOPIC, self._on_bridge)

    def use(self, commands: CommandParser) -> None:
        """Use another parser from now on, for a Model with other objects."""
        self._commands = commands

    def add(self, kind: Any, topic: str, parse: Callable[[Any, CommandParser], Command]) -> None:
        """Subscribe to another topic of commands.

        Args:
            kind: type of the messages.
            topic: name of the topic.
            parse: returns the command in a message; raises RbdynError to refuse it.
        """
        self._subscribe(kind, topic, lambda one: self._give(parse(one, self._commands), None))

    def _subscribe(self, kind: Any, topic: str, take: Callable[[Any], None]) -> None:
        def on_message(message: Any, sender: bytes | None) -> None:
            if self.log.passed(topic, take, message):
                self.watch.note(topic, sender)

        events = for_subscription(self._node, topic)
        self._node.create_subscription(
            kind, topic, with_sender(on_message), reliable(10), event_callbacks=events
        )

    def _subscribe_to(
        self, package: str, kind: str, topic: str, take: Callable[[Any], None]
    ) -> None:
        """Subscribe to a topic; if its type is not installed, only warn."""
        message = message_class(self._node, package, kind, topic)
        if message is not None:
            self._subscribe(message, topic, take)

    def _on_joint_command(self, message: JointState) -> None:
        command = self._commands.by_name(
            message.name, message.position, message.velocity, message.effort
        )
        self._give(command, message.header)

    def _on_command_by_mode(self, message: Any) -> None:
        command = self._commands.by_mode(
            message.name,
            message.mode,
            message.position,
            message.velocity,
            message.effort,
            message.stiffness,
            message.damping,
        )
        self._give(command, message.header)

    def _on_efforts(self, message: Float64MultiArray) -> None:
        self._give(self._commands.in_order(message.data), None)

    def _on_bridge(self, message: JointState) -> None:
        assert self._bridge is not None
        command = self._bridge.parse(
            message.name, message.position, message.velocity, message.effort
        )
        self._give(command, message.header)

    def _give(self, command: Command, header: Any) -> None:
        """Pass a command to the loop; in lock-step for the tick of its stamp."""
        tick = None
        stamp = nanoseconds(header.stamp) if header else 0
        if self._mode == "lockstep":
            tick = self._stamped_tick(stamp)
        elif self._mode == "realtime":
            self.ages.check(stamp)
        if self._driver is not None:
            command = self._driver.added(command)
        self._loop.orders.command(command, tick)

    def _stamped_tick(self, stamp: int) -> int | None:
        """Return the tick that a command in lock-step answers; None: no tick has its stamp.

        While time waits for commands, only the present tick is accepted; else RbdynError is
        raised. While time runs freely after a timeout, an answer to a past tick makes the loop
        wait again.
        """
        time, now = self._loop.time, self._loop.time.tick
        tick = self._stamps.tick_of(stamp)
        if time.locked or tick is None or tick > now or stamp <= 0:
            self._stamps.check(stamp, now)
        return tick

    def _on_trajectory(self, message: Any) -> None:
        assert self._trajectories is not None
        now = self._stamps.of(self._loop.time.tick)
        trajectory = self._trajectories.parse(message, now)
        if self._loop.time.diverged:
            raise refusal("the state diverged; reset first")
        if trajectory:
            self._loop.orders.track(trajectory)
        else:
            self._loop.orders.stop_tracking()
