"""Topics that command a robot: each message is judged, then given to the loop or refused."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rbdyn_ros.ros.common.qos import reliable
from rbdyn_ros.ros.common.qos_reports import for_subscription
from rbdyn_ros.ros.common.trajectory import TrajectoryGate
from rbdyn_ros.ros.simulator.commands import Gate, Tally
from rbdyn_ros.ros.simulator.stamps import judge_stamp, tick_of
from rbdyn_ros.ros.simulator.topic_based import TOPIC, TopicBasedGate
from rbdyn_ros.runtime.compiled import NANOSECONDS
from rbdyn_ros.runtime.orders import Command
from rbdyn_ros.runtime.runtime import SILENT, Runtime


class Reception:
    """Subscribes to the command topics of a robot.

    Args:
        node: subscribes.
        runtime: gets the commands.
        gate: judges them.
        time_base: stamp of tick 0 [ns].

    Attributes:
        tally: of what was taken and refused.
    """

    def __init__(self, node: Node, runtime: Runtime, gate: Gate, time_base: int) -> None:
        self._node, self._runtime, self._gate = node, runtime, gate
        self._time_base = time_base
        self.tally = Tally()
        self._subscribe(JointState, "joint_commands", self._on_joint_command)
        self._subscribe(Float64MultiArray, "effort_commands", self._on_efforts)
        self._subscribe_to(
            "rbdyn_interfaces", "JointCommand", "joint_commands_by_mode", self._on_command_by_mode
        )

    def take_trajectories(self, gate: TrajectoryGate) -> None:
        """Subscribe to joint_trajectory."""
        self._trajectories = gate
        self._subscribe_to(
            "trajectory_msgs", "JointTrajectory", "joint_trajectory", self._on_trajectory
        )

    def take_from_bridge(self, gate: TopicBasedGate) -> None:
        """Subscribe to what ros2_control's topic based hardware sends."""
        self._bridge = gate
        self._subscribe(JointState, TOPIC, self._on_bridge)

    def _subscribe(self, kind: Any, topic: str, callback: Callable[[Any], None]) -> None:
        events = for_subscription(self._node, topic)
        self._node.create_subscription(kind, topic, callback, reliable(10), event_callbacks=events)

    def _subscribe_to(
        self, package: str, kind: str, topic: str, callback: Callable[[Any], None]
    ) -> None:
        """Subscribe to a topic whose type may not be installed."""
        try:
            message = getattr(importlib.import_module(f"{package}.msg"), kind)
        except (ImportError, AttributeError):  # a folder of its sources passes for a package
            self._node.get_logger().warning(f"{package} is not installed: no topic {topic}")
            return
        self._subscribe(message, topic, callback)

    def _on_joint_command(self, message: JointState) -> None:
        judged = self._gate.by_name(
            message.name, message.position, message.velocity, message.effort
        )
        self._take("joint_commands", judged, message.header)

    def _on_command_by_mode(self, message: Any) -> None:
        judged = self._gate.by_mode(
            message.name,
            message.mode,
            message.position,
            message.velocity,
            message.effort,
            message.stiffness,
            message.damping,
        )
        self._take("joint_commands_by_mode", judged, message.header)

    def _on_efforts(self, message: Float64MultiArray) -> None:
        self._take("effort_commands", self._gate.in_order(message.data), None)

    def _on_bridge(self, message: JointState) -> None:
        judged = self._bridge.judge(
            message.name, message.position, message.velocity, message.effort
        )
        self._take(TOPIC, judged, message.header)

    def _take(self, topic: str, judged: Command | str, header: Any) -> None:
        """Give a command to the loop, or say why it is refused."""
        tick = None
        if not isinstance(judged, str) and self._runtime.settings.time_mode == "lockstep":
            stamp = header.stamp.sec * NANOSECONDS + header.stamp.nanosec if header else 0
            tick, refusal = self._judge_stamp(stamp)
            judged = refusal or judged
        if isinstance(judged, str):
            self.refuse(topic, judged)
            return
        self.tally.accept()
        self._runtime.command(judged, tick)

    def _judge_stamp(self, stamp: int) -> tuple[int | None, str]:
        """Return the tick a command is for, and why it is refused or nothing.

        While time runs free an answer to a tick that has passed already begins the waiting.
        """
        now, period = self._runtime.tick, self._runtime.period_ns
        tick = tick_of(stamp, self._time_base, period)
        if not self._runtime.locked and tick is not None and tick <= now and stamp > 0:
            return tick, ""
        return tick, judge_stamp(stamp, now, self._time_base, period)

    def _on_trajectory(self, message: Any) -> None:
        now = self._time_base + self._runtime.tick * self._runtime.period_ns
        judged = self._trajectories.judge(message, now)
        if isinstance(judged, str):
            self.refuse("joint_trajectory", judged)
            return
        if self._runtime.faulty:
            self.refuse("joint_trajectory", "the state diverged; reset first")
            return
        taken = self._runtime.follow(judged) if judged else self._runtime.stop_following()
        if taken:
            self.tally.accept()
        else:
            self.refuse("joint_trajectory", SILENT)

    def refuse(self, topic: str, why: str) -> None:
        """Count a message that is refused, and say so once a second."""
        sentence = self.tally.refuse(topic, why, time.monotonic())
        if sentence:
            self._node.get_logger().warning(sentence)
