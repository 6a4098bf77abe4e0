# SPDX-License-Identifier: Apache-2.0
"""Watch the senders of commands: refuse answers to old states, and log when commands stop."""

import time
from collections.abc import Callable

from rclpy.node import Node

from rbdyn_ros.errors import apart, refusal
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.graph.endpoints import UNKNOWN, described, other_publishers, sender_name
from rbdyn_ros.ros.common.parsing.stamps import TickStamps
from rbdyn_ros.runtime.loop import Loop

#: Commands count as back after this time without a gap [s]. So a sender that is always slower than
#: command_timeout is logged only once.
BACK = 1.0
#: Largest number of senders whose names are remembered, and shortest time between two look-ups of
#: names [s].
MOST, PAUSE = 100, 0.1
#: Words for the effect of each value of on_timeout: the joints ...
EFFECTS = {
    "zero": "get no effort",
    "gravity": "are held against gravity",
    "hold": "are braked to rest and held there",
}


class AnswerAges:
    """Refuses commands that answer an old state.

    Only a command with the stamp of a published state is checked. Any other stamp, such as 0 or
    the time of another clock, does not refer to a state.

    Args:
        stamps: stamps of the ticks of the loop.
        newest: returns the tick of the newest published state; -1: no state yet.
        factor: returns the real-time factor: simulated time per wall time.
        timeout: largest age of the answered state, in wall time [s]; 0: unlimited.

    Attributes:
        late: number of refused commands.
    """

    def __init__(
        self,
        stamps: TickStamps,
        newest: Callable[[], int],
        factor: Callable[[], float],
        timeout: float,
    ) -> None:
        self._stamps, self._newest, self._factor = stamps, newest, factor
        self._timeout, self.late = timeout, 0

    def check(self, stamp_ns: int) -> None:
        """Raise RbdynError if a command with this stamp answers a state that is too old."""
        if not self._timeout or stamp_ns <= 0:
            return
        tick, newest = self._stamps.tick_of(stamp_ns), self._newest()
        if tick is None or tick >= newest:
            return
        age = (newest - tick) * self._stamps.period_ns / NANOSECONDS / self._factor()
        if age > self._timeout:
            self.late += 1
            found, most = apart(age, self._timeout, digits=4)
            text = f"the command answers a state that is {found} s older than the newest one"
            raise refusal(f"{text}; answer_timeout is {most} s", "late")


class CommanderWatch:
    """Logs when commands stop, with the node that sent them, and when they are back.

    Args:
        node: node that logs and finds the senders in the graph.
        loop: loop that gets the commands.
    """

    def __init__(self, node: Node, loop: Loop) -> None:
        self._node, self._loop = node, loop
        self._names: dict[tuple[str, bytes | None], str] = {}
        self._heard: float | None = None
        self._who = ""  # sender of the last command; empty: unknown
        self._asked = -PAUSE  # time of the last query of a name [s]
        self._stopped = False
        self._since: float | None = None  # time since which commands arrive again

    def note(self, topic: str, sender: bytes | None) -> None:
        """Note an accepted command: its topic, and the GID of its publisher (None: unknown)."""
        now, key = time.monotonic(), (topic, sender)
        if sender is None and self._heard is not None and now - self._heard > BACK:
            self._names.pop(key, None)  # after a gap, another node may send the commands
        who = self._names.get(key)
        if who is None and now - self._asked >= PAUSE:
            self._asked = now
            # look up the name now: the graph forgets it later
            who = self._commander(topic, sender)
            if who:
                if len(self._names) == MOST:
                    del self._names[next(iter(self._names))]  # drop the oldest name
                self._names[key] = who
        self._who, self._heard = who or "", now

    def note_process(self, who: str) -> None:
        """Note accepted commands of a process `who` that did not arrive on a topic."""
        self._who, self._heard = who, time.monotonic()

    def poll(self, now: float) -> None:
        """Log when commands have stopped and when they are back; `now`: steady clock [s].

        Only one thread may call it.
        """
        heard, loop = self._heard, self._loop
        if heard is None:
            return
        timeout, silence = loop.settings.command_timeout, now - heard
        if silence > timeout:
            self._since = None
            stale, held = loop.readout.latest().stale, int(loop.held_dofs.sum())
            if not self._stopped and stale and loop.readout.command_age() > timeout:
                self._stopped = True
                self._node.get_logger().warning(self._stop_text(silence, stale - held, held))
            return
        if not self._stopped:
            return
        self._since = heard if self._since is None else self._since
        if now - self._since >= BACK:
            self._stopped = False
            self._node.get_logger().info(f"commands are back: {self._who}")

    def _stop_text(self, silence: float, stale: int, held: int) -> str:
        policy, who = self._loop.settings.on_timeout, self._who or "a node that has ended"
        rest = f"; joints that wait for their first command ({held}) stay held" if held else ""
        return (
            f"commands stopped: {who} sent none for {silence:.2f} s. The joints without a command "
            f"({stale}) {EFFECTS[policy]} (on_timeout is '{policy}') until commands come "
            f"again{rest}"
        )

    def _commander(self, topic: str, sender: bytes | None) -> str:
        """Return the sender and the topic for a message, or "" if it is not in the graph yet."""
        full = self._node.resolve_topic_name(topic)
        if sender is None:
            names = other_publishers(self._node, full, 0)
        else:
            names = [sender_name(self._node, full, sender)]
        known = [described(name) for name in names if name != UNKNOWN]
        return f"{', '.join(known)} on {full}" if known else ""
