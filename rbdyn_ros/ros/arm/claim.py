# SPDX-License-Identifier: Apache-2.0
"""The exclusive claim on an arm: one node commands the arm, and one publisher sends its states.

Publishers are told apart by their GIDs, never by the names of their nodes.
"""

from collections.abc import Sequence

from rclpy.node import Node

from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.nanoseconds import NANOSECONDS, steady_ns
from rbdyn_ros.ros.common.graph.endpoints import UNKNOWN, described, other_publishers, sender_name
from rbdyn_ros.ros.common.lifecycle.holders import process_of

#: A publisher that has been silent for this time has ended or been replaced [ns]. This time is not
#: below the largest state_timeout, so the states of an armed arm cannot change their publisher.
QUIET = NANOSECONDS
#: Interval between two queries of the names of publishers [ns].
PAUSE = NANOSECONDS // 10
#: Largest number of other devices on the topic of states; their joint names tell them apart.
MOST_DEVICES = 100
#: Last sentence of the message about another node that commands the arm.
LINGERS = "A node that was killed counts until its DDS lease ends, for up to 20 s"


class StateSource:
    """Decides whether all states of the arm come from one publisher.

    While there are two publishers, the states of both are refused, because it is unknown which of
    the two is the arm.
    """

    def __init__(self) -> None:
        self._owner: bytes | None = None
        self._heard = self._rival_heard = -QUIET
        self.rival: bytes | None = None

    @property
    def owner(self) -> bytes | None:
        """GID of the publisher of the arm's states; None before the first state."""
        return self._owner

    def accepts(self, sender: bytes, arrival: int) -> bool:
        """Return whether to accept a state of the arm.

        Args:
            sender: GID of the state's publisher.
            arrival: time of arrival on the steady clock [ns].
        """
        if sender != self._owner:
            if self._owner is not None and arrival - self._heard <= QUIET:
                self.rival, self._rival_heard = sender, arrival
                return False
            self._owner = sender
        self._heard = arrival
        if self.rival is None:
            return True
        if self.rival != sender and arrival - self._rival_heard <= QUIET:
            return False
        self.rival = None
        return True

    def disputed(self, now: int) -> bool:
        """Return whether two publishers send states at the time `now` of the steady clock [ns]."""
        return self.rival is not None and now - self._rival_heard <= QUIET


class ArmClaim:
    """Finds nodes that command the same arm, and other publishers of its states.

    Args:
        node: node that publishes the efforts and subscribes to the states.
        shown: topic ~/efforts; another publisher there is a controller of the same name.
        efforts: topics that command the arm; for each, whether this node publishes on it.
        states: topic of the states.
    """

    def __init__(self, node: Node, shown: str, efforts: dict[str, bool], states: str) -> None:
        self._node, self._shown, self._efforts, self._states = node, shown, efforts, states
        self._source = StateSource()
        # the two publishers of states that the fault names
        self._two: tuple[bytes | None, bytes | None] | None = None
        self._fault: Fault | None = None
        self._twin: str | None = None  # another controller's process with the same name
        self._asked = -PAUSE  # time of the last query of publishers' names [ns]
        self._devices: set[frozenset[str]] = set()
        self._senders_unknown = False

    def rivals(self) -> Fault | None:
        """Return the fault if other nodes command the arm or send its states, else None.

        Any thread may call it.
        """
        if other_publishers(self._node, self._shown, 1):
            topic = self._shown.rpartition("/")[0]
            self._twin = process_of(topic) if self._twin is None else self._twin
            where = f" ({self._twin})" if self._twin else ""
            remedy = "End it, or give it another name or namespace"
            text = f"another controller is called {topic}{where}. {LINGERS}"
            return Fault("rivals", text, remedy=remedy)
        self._twin = None
        for topic, own in self._efforts.items():
            others = other_publishers(self._node, topic, int(own))
            if others:
                text = (
                    f"{described(others[0])} also publishes efforts for the arm on {topic}. "
                    f"{LINGERS}"
                )
                remedy = "End it, or make it a dry run, which publishes none"
                return Fault("rivals", text, remedy=remedy)
        if self._fault is not None and self._source.disputed(steady_ns()):
            return self._fault
        return self._unknown_senders()

    def _unknown_senders(self) -> Fault | None:
        """Return a fault if several nodes publish states in messages without sender, else None.

        One publisher is expected for each other device, such as a gripper; see note_device.
        """
        expected = 1 + len(self._devices)
        if not self._senders_unknown or self._node.count_publishers(self._states) <= expected:
            return None
        nodes = ", ".join(map(described, other_publishers(self._node, self._states, 0)))
        text = (
            f"more than one publisher of {self._states} may send states of the arm: {nodes}; "
            f"{expected - 1} of them sent states of other devices. {LINGERS}"
        )
        return Fault("rivals", text, remedy="End all but one")

    def note_device(self, names: Sequence[str]) -> None:
        """Note a message that names no joint of the arm: another device publishes on the topic.

        Messages that have a joint in common come from one device.
        """
        joints = frozenset(names)
        if not joints or any(joints <= known for known in self._devices):
            return
        same = {known for known in self._devices if known & joints}
        if same or len(self._devices) < MOST_DEVICES:
            self._devices = (self._devices - same) | {joints.union(*same)}

    def foreign(self, sender: bytes | None, arrival: int) -> Fault | None:
        """Return the fault if another publisher also sends the arm's states, or None.

        Only the thread that receives the states may call it.

        Args:
            sender: GID of the state's publisher; None: unknown.
            arrival: time of arrival on the steady clock [ns].
        """
        self._senders_unknown = sender is None
        if sender is None:
            return None
        source = self._source
        if source.accepts(sender, arrival):
            return None
        two = source.owner, source.rival
        if self._fault is None or (two != self._two and arrival - self._asked >= PAUSE):
            self._asked, self._fault = arrival, self._two_sources(two)
        return self._fault

    def _two_sources(self, two: tuple[bytes | None, bytes | None]) -> Fault:
        names = [sender_name(self._node, self._states, sender) for sender in two if sender]
        # a node may not be in the graph yet
        self._two = two if UNKNOWN not in names else None
        one, other = map(described, names)
        text = f"states of the arm come from two publishers on {self._states}: {one} and {other}"
        remedy = "End one of them, or give it another topic"
        return Fault("rivals", text, blind=True, remedy=remedy)
