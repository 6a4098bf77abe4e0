# SPDX-License-Identifier: Apache-2.0
"""Packets between a client and a box, which can be lost, late, doubled or overtaken.

Over TCP packets are not lost or overtaken: a lost packet comes again later, and all packets behind
it wait.

Random numbers are functions of seed, tick and purpose (runtime/kernels/noise.py), so in lock-step
the same seed gives the same faults.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from rbdyn_ros.runtime.kernels.noise import WIRE, uniform

#: Most boxes in a loop, each of which draws random numbers of its own.
MOST_BOXES = 1024
#: Most packets that wait in a broken TCP connection; further packets are dropped.
MOST_QUEUED = 4096
#: Purposes for which a connection draws random numbers.
_DROP, _JITTER, _DOUBLE, _AGAIN = range(4)


@dataclass(frozen=True, slots=True)
class LineFaults:
    """Faults in one direction.

    Attributes:
        delay, jitter: a packet comes after the delay and a random part of the jitter [ticks].
        drop, double: probabilities that a packet is lost, or comes twice.
        dead: whether all packets are lost.
    """

    delay: int = 0
    jitter: int = 0
    drop: float = 0.0
    double: float = 0.0
    dead: bool = False


FAULTLESS = LineFaults()


P = TypeVar("P")


class WireLine(Generic[P]):
    """One direction of the wire.

    Args:
        seed: seed of the random numbers.
        direction: 0 for states, 1 for commands.
        number: number of the box; each box has its own random numbers.
        again: over TCP, ticks until a lost packet comes again; 0 for datagrams.

    Attributes:
        faults: faults, which can change at any time.
    """

    def __init__(self, seed: int, direction: int, number: int = 0, again: int = 0) -> None:
        self.faults = FAULTLESS
        self._again, self._last = again, 0
        self._seed, self._direction, self._number = seed, direction, number
        self._tick = self._nth = 0  # tick and number of the last packet
        self._way: list[tuple[int, int, P]] = []  # arrival tick, number and packet
        self._count = 0
        self._drawn(0, _DROP)  # compile the kernel before a client waits

    def send(self, tick: int, packet: P) -> None:
        """Send a packet at a tick; the faults can drop, delay or double it."""
        f = self.faults
        self._count += 1
        self._nth = self._nth + 1 if tick == self._tick else 0
        self._tick = tick
        if self._again:
            self._queue(tick, packet)
            return
        if f.dead or self._drawn(tick, _DROP) < f.drop:
            return
        self._enter(tick, _JITTER, packet)
        if self._drawn(tick, _DOUBLE) < f.double:
            self._enter(tick, _AGAIN, packet)

    def arrived(self, tick: int) -> list[P]:
        """Return the packets that arrive at a tick, the newest first: it overtakes older packets.

        Over TCP they arrive in order.
        """
        if self._again and self.faults.dead:
            return []  # the packet comes when the link is back
        here = [item for item in self._way if item[0] <= tick]
        self._way = [item for item in self._way if item[0] > tick]
        return [packet for _, _, packet in sorted(here, key=lambda item: -item[1])]

    @property
    def is_empty(self) -> bool:
        """Return whether no packet is under way."""
        return not self._way

    def clear(self) -> None:
        """Drop the packets under way."""
        self._way.clear()
        self._last = 0

    def _queue(self, tick: int, packet: P) -> None:
        """Send a packet over TCP, behind all earlier packets; a full buffer drops it."""
        f = self.faults
        if len(self._way) >= MOST_QUEUED:
            return  # the sender's buffer is full
        lost = self._drawn(tick, _DROP) < f.drop
        late = f.delay + int(self._drawn(tick, _JITTER) * (f.jitter + 1))
        self._last = max(self._last, tick + late + (self._again if lost else 0))
        self._way.append((self._last, -self._count, packet))

    def _enter(self, tick: int, use: int, packet: P) -> None:
        late = self.faults.delay + int(self._drawn(tick, use) * (self.faults.jitter + 1))
        self._way.append((tick + late, self._count, packet))

    def _drawn(self, tick: int, use: int) -> float:
        stream = (self._nth * MOST_BOXES + self._number) * 4 + use
        return float(uniform(self._seed, tick, WIRE, 2 * stream + self._direction))
