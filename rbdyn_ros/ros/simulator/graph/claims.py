# SPDX-License-Identifier: Apache-2.0
"""Claims on topics: only one simulator may publish a joint_states topic, and only one /clock.

Every simulator announces its topics and the time of its start on a hidden topic. If two simulators
claim the same topic, the simulator that started later gives the topic up. Both see the same order,
so exactly one simulator keeps the topic, whichever discovers the other first. The announcements of
a killed process vanish.
"""

import json
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from rbdyn_ros.errors import refusal
from rbdyn_ros.ros.common.graph.endpoints import UNKNOWN, other_publishers
from rbdyn_ros.ros.common.graph.hidden_node import hidden_node
from rbdyn_ros.ros.common.graph.qos import LATCHED
from rbdyn_ros.ros.common.lifecycle.holders import process_of

#: Topic of the announcements. The name is absolute, because all namespaces share /clock and /tf.
TOPIC = "/_simulators"
CLOCK = "/clock"
#: QoS of the topic: it keeps the announcements of 1000 simulators until they are read.
MOST = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@dataclass(frozen=True)
class Claim:
    """The topics that a simulator publishes.

    Attributes:
        since: start of the simulator on the clock of its computer [ns].
        token: random text that orders simulators with the same start.
        node: full name of the simulator node.
        helper: full name of the node that announces the claim.
        topics: topics that only one simulator may publish.
        frames: frames of the published transforms, each joined with its topic.
    """

    since: int
    token: str
    node: str
    helper: str
    topics: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()

    def is_before(self, other: "Claim") -> bool:
        """Return whether this claim is earlier, so that the other simulator gives up its topic."""
        return (self.since, self.token) < (other.since, other.token)

    def to_text(self) -> str:
        """Return the text that announces this claim."""
        return json.dumps(vars(self))

    @classmethod
    def from_text(cls, text: str) -> "Claim | None":
        """Return the claim that a text announces, or None if the text announces no claim."""
        try:
            given = json.loads(text)
            token, node, helper = (str(given[name]) for name in ("token", "node", "helper"))
            topics, frames = (tuple(map(str, given[name])) for name in ("topics", "frames"))
            return cls(int(given["since"]), token, node, helper, topics, frames)
        except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
            return None


class Claims:
    """Announces the claim of this simulator and compares it with the claims of other simulators.

    Only one thread may use it: `poll` reads the announcements, not an executor.

    Args:
        node: main node.

    Attributes:
        own: the claim of this simulator.
        clock: name of the simulator's clock topic, /clock unless it is remapped.
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._helper = helper = hidden_node(node, "claims")
        self.clock = node.resolve_topic_name(CLOCK)
        self._publisher = helper.create_publisher(String, TOPIC, LATCHED)
        self._heard = helper.create_subscription(String, TOPIC, lambda _: None, MOST)
        name, own = node.get_fully_qualified_name(), helper.get_fully_qualified_name()
        self.own = Claim(time.time_ns(), secrets.token_hex(8), name, own)
        self._others: dict[str, Claim] = {}
        self._reported: set[tuple[str, str]] = set()

    def announce(
        self, topics: Sequence[str] | None = None, frames: Sequence[str] | None = None
    ) -> None:
        """Announce topics and frames; None: keep the topics or frames announced before."""
        topics = self.own.topics if topics is None else tuple(topics)
        frames = self.own.frames if frames is None else tuple(frames)
        self.own = replace(self.own, topics=topics, frames=frames)
        self._publisher.publish(String(data=self.own.to_text()))

    def poll(self) -> None:
        """Read the announcements that have arrived, and log conflicts with other simulators."""
        handle: Any = self._heard.handle
        with handle:
            while (taken := handle.take_message(String, False)) is not None:
                claim = Claim.from_text(taken[0].data)
                if claim is not None and claim.token != self.own.token:
                    self._others[claim.token] = claim
        if self._others:
            self._forget_ended()
        for other in self._others.values():
            self._report(other)

    def _forget_ended(self) -> None:
        """Drop the claims of nodes that have left the graph."""
        there = Counter(other_publishers(self._helper, TOPIC, 1))
        if UNKNOWN in there:
            return
        self._others = {k: c for k, c in self._others.items() if there[c.helper]}

    def _report(self, other: Claim) -> None:
        """Log once that another simulator gives up, or publishes the same transforms."""
        topics = _common(self.own.topics, other.topics, without=self.clock)
        if topics and self.own.is_before(other):
            text = (
                f"another simulator, node {other.node}, started to publish {topics[0]}; that "
                "simulator will exit"
            )
            self._warn_once(other, text)
        frames = _common(self.own.frames, other.frames)
        if frames and not topics:
            text = (
                f"node {other.node} publishes transforms of the same frames, such as {frames[0]}; "
                "give each simulator its own frame_prefix"
            )
            self._warn_once(other, text)

    def _warn_once(self, other: Claim, text: str) -> None:
        if (other.token, text) not in self._reported:
            self._reported.add((other.token, text))
            self._logger.warning(text)

    def earlier(self, topic: str) -> Claim | None:
        """Return the claim of an earlier simulator on a topic, or None."""
        for other in self._others.values():
            if topic in other.topics and other.is_before(self.own):
                return other
        return None

    def nodes(self) -> set[str]:
        """Return the full names of all simulator nodes, including the node of each robot."""
        found: set[str] = set()
        for claim in (self.own, *self._others.values()):
            own = claim.node.rpartition("/")[2]
            spaces = (topic.rpartition("/")[0] for topic in claim.topics if topic != self.clock)
            found |= {claim.node, *(f"{space}/{own}" for space in spaces)}
        return found

    def later(self, topic: str) -> list[str]:
        """Return the names of the nodes of later simulators that claim a topic."""
        others = self._others.values()
        return [c.node for c in others if topic in c.topics and self.own.is_before(c)]

    def check(self) -> None:
        """Raise RbdynError if an earlier simulator claims a topic of this simulator."""
        for topic in self.own.topics:
            other = self.earlier(topic)
            if other is None:
                continue
            hint = "in a namespace of its own (--ros-args -r __ns:=/left -p frame_prefix:=left/)"
            if topic == self.clock:
                hint = "with -p publish_clock:=false -p use_sim_time:=true"
            process = process_of(other.node)
            where = f" ({process})" if process else ""
            text = (
                f"another simulator, node {other.node}, publishes {topic} already{where}; end it, "
                f"or start this one {hint} or with another ROS_DOMAIN_ID"
            )
            raise refusal(text, "claimed", topic)

    def close(self) -> None:
        """Leave the graph."""
        self._helper.destroy_node()


def _common(own: Iterable[str], other: Iterable[str], without: str = "") -> list[str]:
    others = set(other)
    return [name for name in own if name in others and name != without]
