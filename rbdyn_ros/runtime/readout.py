# SPDX-License-Identifier: Apache-2.0
"""Read the states, the statistics and the timing of a loop."""

import time
from typing import NamedTuple

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime import shared
from rbdyn_ros.runtime.compiled import Words, wait_at
from rbdyn_ros.runtime.mailbox import Mailbox, fetch
from rbdyn_ros.runtime.requests import Requests
from rbdyn_ros.runtime.settings import FAST
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.state import Layout, LoopState
from rbdyn_ros.runtime.stream import StateStream
from rbdyn_ros.runtime.timing import Timing
from rbdyn_ros.runtime.wakeup import Wakeup

#: A reader skips to the latest state if it is behind by more than this share of all slots.
BACKLOG = 0.75


class _Source(NamedTuple):
    """The mailbox with the states, the layout of the states, and their Model."""

    states: Mailbox
    layout: Layout
    m: Model

    def empty_record(self) -> tuple[Words, Array]:
        return np.zeros(shared.NSTATE_WORDS, np.int64), np.zeros(self.layout.length)


class Readout:
    """Reads the states of a loop. Only one thread may call `next_state`; see also `stream`.

    Args:
        s: memory shared with the loop.
        requests: sends requests to the loop.
        m: the robot.
        wakeup: the loop notifies it at every state.

    Attributes:
        stream: record of published states; only the thread that calls `next_state` may use it.
    """

    def __init__(self, s: Shared, requests: Requests, m: Model, wakeup: Wakeup) -> None:
        self._shared, self._requests, self._wakeup = s, requests, wakeup
        s.states_wakeup[()] = wakeup.descriptor
        self._fast = s.time_mode == FAST
        self.stream = StateStream(s, lambda words, row: _as_state(self._source, words, row, 0))
        self.move(m)

    def move(self, m: Model) -> None:
        """Read from another row of shared memory, with states of another Model, from now on.

        Call it only while no loop runs and no thread reads.
        """
        s = self._shared
        states = Mailbox(s.state_version, s.state_slots, s.state_float_slots)
        self._source = _Source(states, Layout(m), m)
        assert self._source.layout.length == len(s.row)

    @property
    def _states(self) -> Mailbox:
        return self._source.states

    @property
    def begun(self) -> bool:
        """Return whether the loop has handed over a state yet."""
        return bool(self._states.version[0] > 0)

    def next_state(self, timeout: float) -> LoopState | None:
        """Wait for the state after the last returned state; return None after the timeout.

        Every state is returned once and in order, unless the caller falls behind by BACKLOG.

        Args:
            timeout: longest wait [s]; 0: do not wait.
        """
        s, last = self._shared, int(self._shared.stream_version)
        give_up = time.monotonic() + timeout
        newest = int(self._states.version[0])
        # wait in a loop, because a notification may be about a state that was read already
        while newest == last and time.monotonic() < give_up:
            self._wakeup.wait(max(give_up - time.monotonic(), 1e-3))
            newest = int(self._states.version[0])
        if newest == last:
            return None
        # in mode fast the loop waits for the reader, so no state may be skipped
        close = newest - last <= BACKLOG * len(self._states.words) or self._fast
        inbox = s.stream_words, s.stream_row
        version = fetch(*self._states.arrays, last + 1 if close else 0, *inbox)
        if version <= 0:
            return None
        s.stream_version[()] = s.asked[shared.READ] = version
        return _as_state(self._source, *inbox, version - last - 1)

    def newer(self, version: int, timeout: float) -> tuple[int, LoopState] | None:
        """Wait for a state newer than a version; return the newest state and its version.

        Any thread may call it.

        Args:
            version: version of the last state that the caller has; 0: no state yet.
            timeout: longest wait [s]; after it, return None.
        """
        words = self._states.version
        if words[0] == version:
            wait_at(
                words.ctypes.data, version, round(timeout * NANOSECONDS), np.zeros(2, np.int64)
            )
        if words[0] == version:
            return None
        source = self._source
        record = source.empty_record()
        found = fetch(*source.states.arrays, 0, *record)
        return (found, _as_state(source, *record, 0)) if found > 0 else None

    def latest(self) -> LoopState:
        """Return the latest state; before the loop starts: the state at the start."""
        with self._requests.lock:
            if not self.begun and not self._requests.running:
                self._requests.run_once()
        source = self._source
        words, row = source.empty_record()
        while fetch(*source.states.arrays, 0, words, row) <= 0:
            time.sleep(1e-4)
        return _as_state(source, words, row, 0)

    def command_age(self) -> float:
        """Return the age of the oldest command in force [s]; infinite before the first command."""
        s = self._shared
        return float(s.age) / NANOSECONDS if s.begun else float("inf")

    @property
    def saturated_ticks(self) -> int:
        """Number of ticks with a clamped effort."""
        return int(self._shared.clamped)

    @property
    def lockstep_timeouts(self) -> int:
        """Number of timeouts of lock-step."""
        return int(self._shared.timeouts)

    def timing(self) -> Timing:
        """Return the timing of the loop since its start."""
        s = self._shared
        return Timing.of(
            int(s.ticks),
            int(s.overruns),
            int(s.period),
            int(s.active),
            s.lateness,
            int(s.latest),
            s.work,
            int(s.longest),
        )


def _as_state(source: _Source, words: Words, row: Array, missed: int) -> LoopState:
    (
        tick, epoch, paused, fault, saturated, stale, bad, singular, unsolved, dropped,
        tracking, measured,
    ) = words.tolist()  # fmt: skip
    return LoopState(
        source.m,
        source.layout,
        row.copy(),
        tick,
        epoch,
        bool(paused),
        fault,
        saturated,
        stale,
        bad,
        singular,
        unsolved,
        dropped,
        bool(tracking),
        measured,
        missed,
    )
