# SPDX-License-Identifier: Apache-2.0
"""Log which node has an incompatible QoS on one of our topics, and how to mend it.

A publisher and a subscription with incompatible QoS exchange no messages, and ROS 2 does not name
the other node.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
    qos_policy_name_from_kind,
)

try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
except ImportError:  # the name of this module before Iron
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks

from rbdyn_ros.ros.common.graph.endpoints import UNKNOWN, full_name

#: Delay from the event to the log line [s]: a node's name appears in the graph after its topics.
PATIENCE = 1.0
#: Number of log lines remembered for each topic, so that no line is repeated.
REMEMBERED = 16

#: For each policy: functions that return whether a publisher offers only the weak value, and
#: whether a subscription demands the strong value; and the names of both values.
_Test = Callable[[QoSProfile], bool]
_POLICIES: dict[int, tuple[_Test, _Test, str, str]] = {
    int(QoSPolicyKind.RELIABILITY): (
        lambda qos: qos.reliability == ReliabilityPolicy.BEST_EFFORT,
        lambda qos: qos.reliability == ReliabilityPolicy.RELIABLE,
        "best effort",
        "reliable",
    ),
    int(QoSPolicyKind.DURABILITY): (
        lambda qos: qos.durability == DurabilityPolicy.VOLATILE,
        lambda qos: qos.durability == DurabilityPolicy.TRANSIENT_LOCAL,
        "volatile",
        "transient local",
    ),
}


def for_subscription(node: Node, topic: str) -> SubscriptionEventCallbacks:
    """Return the `event_callbacks` for `node.create_subscription`: they log incompatible QoS.

    Args:
        node: node that subscribes, and logs.
        topic: name of the topic, as given to the subscription.
    """
    return SubscriptionEventCallbacks(incompatible_qos=_Report(node, topic, publishes=False))


def for_publisher(node: Node, topic: str) -> PublisherEventCallbacks:
    """Return the `event_callbacks` for `node.create_publisher`: they log incompatible QoS.

    Args:
        node: node that publishes, and logs.
        topic: name of the topic, as given to the publisher.
    """
    return PublisherEventCallbacks(incompatible_qos=_Report(node, topic, publishes=True))


class _Report:
    """Handles events of incompatible QoS on one of our topics and logs them a little later."""

    def __init__(self, node: Node, topic: str, *, publishes: bool) -> None:
        self._node, self._publishes = node, publishes
        self._topic = node.resolve_topic_name(topic)
        self._policies: set[int] = set()
        self._logged: deque[str] = deque(maxlen=REMEMBERED)
        self._timer: Any = None

    def __call__(self, event: Any) -> None:
        self._policies.add(int(event.last_policy_kind))
        if self._timer is None:
            # on the steady clock: simulated time may be paused
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._timer = self._node.create_timer(PATIENCE, self._log, clock=steady)

    def _log(self) -> None:
        self._node.destroy_timer(self._timer)
        self._timer = None
        noticed, self._policies = self._policies, set()
        # an event names only the last incompatible policy, so check the others in the graph
        for policy in sorted(noticed | set(_POLICIES)):
            nodes = self._others(policy)
            line = log_line(self._topic, policy, nodes, publishes=self._publishes)
            if (nodes or policy in noticed) and line not in self._logged:
                self._logged.append(line)
                self._node.get_logger().warning(line)

    def _others(self, policy: int) -> list[str]:
        """Return the nodes in the graph that are incompatible with our end in this policy."""
        if policy not in _POLICIES:
            return []
        weak, demanding = _POLICIES[policy][:2]
        publishers = self._node.get_publishers_info_by_topic(self._topic)
        subscriptions = self._node.get_subscriptions_info_by_topic(self._topic)
        if self._publishes:
            ours, theirs, unfit, others = publishers, subscriptions, weak, demanding
        else:
            ours, theirs, unfit, others = subscriptions, publishers, demanding, weak
        me = self._node.get_fully_qualified_name()
        if not any(unfit(end.qos_profile) for end in ours if full_name(end) == me):
            return []
        found = {full_name(end) for end in theirs if others(end.qos_profile)}
        return sorted(found - {UNKNOWN})


def log_line(topic: str, policy: int, nodes: Sequence[str], *, publishes: bool) -> str:
    """Return the line of the log: the incompatibility and its remedy.

    Args:
        topic: full name of the topic.
        policy: number of the QoSPolicyKind.
        nodes: names of the nodes at the other end; empty: unknown.
        publishes: whether our end publishes; otherwise it subscribes.
    """
    who = f"node {', '.join(nodes)}" if nodes else "an unknown node"
    theirs, ours = ("subscription", "publisher") if publishes else ("publisher", "subscription")
    lost = f"{who} receives nothing" if publishes else f"nothing is received from {who}"
    if policy not in _POLICIES:
        name = qos_policy_name_from_kind(QoSPolicyKind(policy)).lower().replace("_", " ")
        return (
            f"{lost} on {topic}: the {name} of its {theirs} is incompatible with this {ours}. "
            f"Leave the {name} there at its default"
        )
    weak, demanding = _POLICIES[policy][2:]
    there, here = (demanding, weak) if publishes else (weak, demanding)
    return (
        f"{lost} on {topic}: its {theirs} is {there}, this {ours} is {here}. "
        f"Make its {theirs} {here}"
    )
