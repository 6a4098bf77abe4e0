# SPDX-License-Identifier: Apache-2.0
"""Record which states of a loop were published, and share this with the publishing kernels."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.runtime.compiled import Words
from rbdyn_ros.runtime.kernels.stream import NTOPIC
from rbdyn_ros.runtime.shared import EPOCH, MEASURED, NEVERY, TICK, Shared
from rbdyn_ros.runtime.state import LoopState


@dataclass(frozen=True, slots=True, eq=False)
class StreamTopic:
    """A topic whose messages compiled code publishes as bytes.

    Attributes:
        publish: address of a C function, int publish(publisher, message, 0); it returns 0 on
            success.
        publisher: address of the publisher, the first argument of `publish`.
        message: words that describe the bytes, the second argument of `publish`.
        content: the bytes of the message.
        of_measurement: whether the message has the stamp of the measurement, not of the state.
        every: period [ticks].
        stamps: offsets of the stamps in the bytes, each of a second and a nanosecond in 32 bits.
        places: offsets of the numbers in the bytes (n,).
        picks: indices of the numbers in the row of a state (n,).
    """

    publish: int
    publisher: int
    message: Words
    content: bytearray
    of_measurement: bool
    every: int
    stamps: Ints
    places: Ints
    picks: Ints

    @property
    def words(self) -> list[int]:
        """Row of this topic in the table for the kernels."""
        address = np.frombuffer(self.content, np.uint8).ctypes.data
        head = [self.publish, self.publisher, self.message.ctypes.data, address]
        head += [self.of_measurement, self.every, len(self.stamps), self.stamps.ctypes.data]
        return [*head, len(self.places), self.places.ctypes.data, self.picks.ctypes.data]


class StreamPlan:
    """The topics that compiled code publishes, and the states that it leaves to Python.

    Args:
        topics: topics that compiled code publishes, in this order.
        others: periods of all topics that Python publishes [ticks].
        fastest: states with a larger joint speed are left to Python [rad/s or m/s].

    Attributes:
        periods: (NEVERY,) the different periods; 0: unused entry.
        table: a row of words for each topic, for the kernels.
        fastest: the argument.
    """

    def __init__(
        self, topics: Sequence[StreamTopic], others: Iterable[int], fastest: float = math.inf
    ) -> None:
        periods = sorted(set(others))
        if len(periods) > NEVERY:
            periods = [math.gcd(*periods)]
        self.periods = [*periods, *[0] * (NEVERY - len(periods))]
        self.table = np.array([topic.words for topic in topics], np.int64).reshape(-1, NTOPIC)
        self.fastest = fastest
        self._topics = topics  # keep the topics alive, because the table has their addresses


class StateStream:
    """The record of the published states of a loop. Only the thread that publishes may use it.

    Args:
        s: memory shared with the loop and the kernels.
        as_state: makes a state from the words and the row of a record.

    Attributes:
        time_base: stamp of tick 0 [ns].
    """

    def __init__(self, s: Shared, as_state: Callable[[Words, Array], LoopState]) -> None:
        self._shared, self._as_state, self.time_base = s, as_state, 0

    @property
    def place(self) -> int:
        """Address of the word that holds the address of the loop's row; `stream` needs it."""
        return int(self._shared.place.ctypes.data)

    @property
    def version(self) -> int:
        """Version of the record that was read last."""
        return int(self._shared.stream_version)

    @property
    def last(self) -> tuple[int, int] | None:
        """Epoch and tick of the state that was published last; None before the first state."""
        s = self._shared
        return (int(s.stream_epoch), int(s.stream_tick)) if s.stream_epoch >= 0 else None

    @property
    def newest(self) -> tuple[int, int]:
        """Epoch and stamp [ns] of the state published last; (-1, 0) before the first state."""
        last, s = self.last, self._shared
        return (-1, 0) if last is None else (last[0], self.time_base + last[1] * int(s.period))

    @property
    def state(self) -> LoopState | None:
        """State that was published last, or None. Call it only while no new state waits."""
        s = self._shared
        return self._as_state(s.stream_words, s.stream_row) if s.stream_epoch >= 0 else None

    @property
    def kept(self) -> LoopState | None:
        """Newest state that was published on joint_states, or None."""
        s = self._shared
        return self._as_state(s.stream_kept_words, s.stream_kept_row) if s.stream_kept else None

    @property
    def kept_tick(self) -> int:
        """Tick of the newest measurement that was published on joint_states, or -1."""
        s = self._shared
        return int(s.stream_kept_words[MEASURED]) if s.stream_kept else -1

    def note(self) -> None:
        """Record that the last state that was read has been published."""
        s = self._shared
        s.stream_epoch[()], s.stream_tick[()] = s.stream_words[EPOCH], s.stream_words[TICK]
        s.stream_known[:] = s.stream_words

    def keep(self, kept: bool = True) -> None:
        """Keep the state read last as the newest on joint_states; kept=False: keep no state."""
        s = self._shared
        s.stream_kept[()] = kept
        if kept:
            s.stream_kept_words[:], s.stream_kept_row[:] = s.stream_words, s.stream_row

    def arm(self, plan: StreamPlan) -> None:
        """Let compiled code publish plain states by a plan, which the caller must keep alive."""
        s = self._shared
        s.stream_every[:] = plan.periods
        s.stream_topics[()], s.stream_ntopic[()] = plan.table.ctypes.data, len(plan.table)
        s.stream_time_base[()], s.stream_fastest[()] = self.time_base, plan.fastest
        s.stream_armed[()] = 1

    @property
    def armed(self) -> bool:
        """Return whether compiled code publishes plain states."""
        return bool(self._shared.stream_armed)

    def disarm(self) -> None:
        """Leave every state to Python."""
        self._shared.stream_armed[()] = 0
