# SPDX-License-Identifier: Apache-2.0
"""The clock for ages, timeouts and watchdogs of an arm: the steady or the simulator's clock."""

from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds, steady_ns
from rbdyn_ros.ros.common.graph.hidden_node import hidden_node

CLOCK = "/clock"
#: A stamp this far from the simulator's clock, or farther, is from another clock [ns].
SAME = 10 * NANOSECONDS


class ArmTime:
    """The time of an arm: the simulator's clock for a simulated arm, else the steady clock.

    Simulated time stands still while the simulator waits or is late. The simulator's clock is used
    only if the states are stamped with it. So the steady clock still watches a real arm if
    use_sim_time is set by mistake. An armed arm can change to the simulator's clock, whose first
    message may come late. An armed arm never changes back to the steady clock.

    Args:
        node: main node; its remappings give the name of /clock.
        simulated: whether the states may come from a simulator.

    Attributes:
        simulated: whether the simulator's clock is used now.
    """

    def __init__(self, node: Node, simulated: bool) -> None:
        self.simulated = False
        self._clock = self._stamp = 0  # newest received time, and time of the newest state [ns]
        # this clock is ahead of the simulator's by this time [ns], so a reset does not set it back
        self._lead = 0
        self._helper: Node | None = None
        self._heard: Any = None
        if simulated:
            self._helper = helper = hidden_node(node, "time")
            qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
            topic = node.resolve_topic_name(CLOCK)
            # `poll` reads this topic: a callback for each tick would cost more than the control
            self._heard = helper.create_subscription(Clock, topic, lambda _: None, qos)

    def now(self) -> int:
        """Return the time [ns]. Any thread may call it."""
        if not self.simulated:
            return steady_ns()
        return max(self._clock, self._stamp) + self._lead

    def arrival(self, stamp: int) -> int:
        """Note the stamp [ns] of a state that arrives now; return the time of arrival [ns]."""
        self._stamp = stamp
        return self.now()

    def poll(self, armed: bool) -> None:
        """Read the simulator's clock; call it from one thread only."""
        if self._heard is None:
            return
        clock, handle = self._clock, self._heard.handle
        with handle:
            while (taken := handle.take_message(Clock, False)) is not None:
                clock = nanoseconds(taken[0].clock)
        self.hear(clock, armed)

    def hear(self, clock: int, armed: bool) -> None:
        """Process a new time of the simulator's clock [ns]; `armed`: whether the arm is armed."""
        if clock < self._clock:
            before = max(self._clock, self._stamp)
            self._stamp = min(self._stamp, clock)
            self._lead += before - clock
        self._clock = clock
        same = clock > 0 and abs(clock - self._stamp) < SAME
        if not armed:
            self._lead, self.simulated = 0, same
        elif same and not self.simulated:
            self._lead = steady_ns() - max(clock, self._stamp)
            self.simulated = True

    def close(self) -> None:
        """Leave the graph."""
        if self._helper is not None:
            self._helper.destroy_node()
