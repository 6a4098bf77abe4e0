# SPDX-License-Identifier: Apache-2.0
"""Decide whether this node publishes /clock, so that exactly one node in a graph does."""

import math
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.ros.common.graph.endpoints import described, other_publishers
from rbdyn_ros.ros.common.graph.listener import Listener
from rbdyn_ros.ros.common.graph.qos import reliable
from rbdyn_ros.ros.simulator.graph.claims import CLOCK, Claims
from rbdyn_ros.ros.simulator.topics.outputs import HEARTBEAT

#: Time to discover other nodes [s]. A DDS participant announces itself every 3 s. A new
#: participant often misses the replies to its first announcement, and must wait for the next
#: announcements.
DISCOVERY = 3.5
#: A discovered publisher sends a message within this time [s], even if its simulation is paused.
AUDIBLE = HEARTBEAT + 0.5
#: A node that gives up its publisher does so within this time of its start [s].
CROWDED = 2 * (DISCOVERY + AUDIBLE)


def publishes(
    me: str, strangers: Sequence[str], heard: bool, earlier: bool, waited: float
) -> bool | None:
    """Return whether a node publishes /clock, or None while that is undecided.

    Args:
        me: name of the node.
        strangers: names of the other nodes with a publisher of /clock, without later simulators.
        heard: whether a message has arrived on /clock.
        earlier: whether an earlier simulator claims /clock.
        waited: time since the node began to look for others [s].
    """
    if earlier:
        return False
    if waited < DISCOVERY:
        return None
    if strangers and heard:
        return False
    if strangers and waited < DISCOVERY + AUDIBLE:
        return None
    return not any(other < me for other in strangers)


class ClockClaim:
    """A publisher of /clock that sends nothing until it is clear that no other node publishes.

    Of several simulators, the one that started first keeps its publisher (claims.py). A node that
    receives the time of another publisher, such as the player of a recording, gives up its own
    publisher. If no publisher sends, the node with the first name keeps its publisher.

    Args:
        node: node that publishes.
        claims: claims of the simulators.
        publish: whether to publish if possible; False: only receive.
    """

    def __init__(self, node: Node, claims: Claims, publish: bool = True) -> None:
        self._node, self._claims = node, claims
        self._me = node.get_fully_qualified_name()
        self._created = self._alone = time.monotonic()
        self._heard: int | None = None
        self.publisher: Any = None
        if publish:
            self.publisher = node.create_publisher(Clock, CLOCK, reliable(1))

    def _hear(self, tick: Clock) -> None:
        self._heard = nanoseconds(tick.clock)

    def settle(self, stop: threading.Event) -> int:
        """Keep the publisher or give it up; return the time at which stamps begin [ns].

        Raises:
            KeyboardInterrupt: stop was set.
        """
        with Listener(self._node, stop) as listener:
            listener.subscribe(Clock, self._claims.clock, self._hear, reliable(1))
            if self.publisher is not None:
                self._decide(listener)
            if self.publisher is None:
                self._listen(listener)
        self._alone = time.monotonic()
        return self._heard or 0

    def _decide(self, listener: Listener) -> None:
        logger = self._node.get_logger()
        begun = max(self._created, time.monotonic() - DISCOVERY)
        while (kept := self._publishes(begun)) is None:
            listener.spin(0.1)
        if kept:
            self._heard = None  # the node that sent this time has ended
            return
        who = ", ".join(map(described, self._strangers())) or "another simulator"
        self._node.destroy_publisher(self.publisher)
        self.publisher = None
        text = f"/clock has a publisher already, {who}: this node does not publish it"
        logger.warning(text)

    def _publishes(self, begun: float) -> bool | None:
        self._claims.poll()
        waited = time.monotonic() - begun
        earlier = self._claims.earlier(self._claims.clock) is not None
        heard = self._heard is not None
        return publishes(self._me, self._strangers(), heard, earlier, waited)

    def _strangers(self) -> list[str]:
        """Return the nodes of other publishers of /clock, except simulators that started later."""
        topic = self._claims.clock
        others = Counter(other_publishers(self._node, topic, 1))
        return sorted((others - Counter(self._claims.later(topic))).elements())

    def _listen(self, listener: Listener) -> None:
        """Wait for a message on /clock, whose publisher may have been discovered just now."""
        give_up = time.monotonic() + DISCOVERY + AUDIBLE
        while self._heard is None and time.monotonic() < give_up:
            listener.spin(0.1)
        if self._heard is None:
            self._node.get_logger().warning("no message came on /clock: stamps begin at 0")

    def watch(self) -> None:
        """Warn once if another node keeps publishing /clock.

        A simulator that started later gives way, so this does not warn of its node.
        """
        now = time.monotonic()
        strangers: list[str] = []
        if self.publisher is not None and self._node.count_publishers(self._claims.clock) > 1:
            strangers = self._strangers()
        if not strangers:
            self._alone = now
        elif now - self._alone > CROWDED:
            self._alone = math.inf
            text = f"/clock has another publisher, {', '.join(map(described, strangers))}"
            self._node.get_logger().warning(f"{text}; set publish_clock to false on all but one")
