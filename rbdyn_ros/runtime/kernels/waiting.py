# SPDX-License-Identifier: Apache-2.0
"""Wait for the next tick: until its deadline, until its commands arrive, or not at all."""

from __future__ import annotations

from rbdyn_ros.runtime.compiled import (
    kernel,
    load_acquire,
    sleep_until,
    steady_clock,
    wait_notified,
)
from rbdyn_ros.runtime.kernels.port import is_heard, read_port, wait_for_port
from rbdyn_ros.runtime.mailbox import fetch
from rbdyn_ros.runtime.settings import FAST, LOCKSTEP
from rbdyn_ros.runtime.shared import EDITS, PACE, PAUSE, READ, STEPS, STOP, Shared
from rbdyn_ros.runtime.types import GRIP

#: Interval of the checks for requests while time is paused or lock-step waits [ns].
POLL = 5_000_000
#: In mode fast: largest number of states that may wait for their reader, and time for which the
#: loop then sleeps [ns].
AHEAD, SHORT = 32, 50_000
#: Longer sleeps are interrupted to check for requests [ns].
LONG = 20_000_000


@kernel
def wait_for_turn(s: Shared) -> None:
    """Sleep until the next tick may be due; then read the newest commands."""
    if s.halted == 1:
        now = steady_clock(s.scratch)
        sleep_until(min(max(s.deadline, now + SHORT), now + POLL), s.scratch)
    elif s.locked == 1:
        _wait_for_commands(s)
    elif s.time_mode == FAST:
        if _is_ahead(s):
            sleep_until(steady_clock(s.scratch) + SHORT, s.scratch)
    elif _sleep_to_deadline(s):
        _note_lateness(s, steady_clock(s.scratch) - s.deadline)
    read_commands(s)


@kernel
def _sleep_to_deadline(s):
    """Sleep until the deadline; return False if a request arrives earlier.

    Requests are noticed only while the deadline is more than LONG away.
    """
    while s.deadline - steady_clock(s.scratch) > LONG:
        sleep_until(steady_clock(s.scratch) + LONG, s.scratch)
        if _is_requested(s):
            return False
    sleep_until(s.deadline, s.scratch)
    return True


@kernel
def may_tick(s: Shared) -> bool:
    """Return whether a tick may be made now."""
    if s.halted == 1:
        return False
    if s.locked == 1:
        return _is_complete(s)
    return not _is_ahead(s) if s.time_mode == FAST else s.woken >= s.deadline


@kernel
def _wait_for_commands(s):
    """Wait for the commands of this tick; after lockstep_timeout let time run freely again."""
    began = steady_clock(s.scratch)
    read_commands(s)
    while not _is_complete(s):
        s.waiting = 1
        if _is_requested(s):
            break
        waited = steady_clock(s.scratch) - began
        if s.lockstep_timeout > 0 and waited >= s.lockstep_timeout:
            s.locked = 0
            s.timeouts += 1
            s.deadline = steady_clock(s.scratch)
            break
        left = s.lockstep_timeout - waited if s.lockstep_timeout > 0 else POLL
        if is_heard(s):
            wait_for_port(s, min(left, POLL))
        else:
            wait_notified(s.orders_wakeup, max(1, min(left, POLL) // 1_000_000), s.scratch)
        read_commands(s)
    s.waiting = 0


@kernel
def _is_requested(s):
    if load_acquire(s.asked, STOP) != 0 or s.paused != load_acquire(s.asked, PAUSE):
        return True
    if s.paused == 1 and not steps_left(s):
        return True
    return load_acquire(s.asked, EDITS) != s.done[EDITS]


@kernel
def _is_complete(s):
    """Return whether each required joint has a command for this tick, or is in mode GRIP."""
    for k in range(len(s.dof_required)):
        grips = s.mode[k] == GRIP and s.held[k] == 1
        if s.dof_required[k] == 1 and s.due[k] != s.tick and not grips:
            return False
    return True


@kernel
def _is_ahead(s):
    return load_acquire(s.state_version, 0) - load_acquire(s.asked, READ) >= AHEAD


@kernel
def _note_lateness(s, lateness):
    s.latest = max(s.latest, lateness)
    s.lateness[min(max(lateness // 1000, 0), len(s.lateness) - 1)] += 1


@kernel
def read_commands(s: Shared) -> None:
    """Read the newest commands from mailbox and port; note their arrival on the stopwatch."""
    found = fetch(
        s.command_version, s.command_words, s.command_floats, 0, s.letter_words, s.letter_floats
    )
    if found < 0:
        s.missed += 1  # the record was overwritten during the copy; the next tick reads it
    if found > 0:
        _open_letter(s)
    read_port(s)


@kernel
def _open_letter(s):
    """Copy the new commands of the record that was read last to the inbox."""
    now = steady_clock(s.scratch)
    for k in range(len(s.letter_arrival)):
        if s.letter_arrival[k] != s.inbox_known[k]:
            s.inbox_known[k] = s.letter_arrival[k]
            s.inbox_arrival[k] = s.letter_arrival[k]
            s.inbox_mode[k] = s.letter_mode[k]
            s.inbox_tick[k] = s.letter_tick[k]
            for n in range(5):
                s.inbox[n, k] = s.letter[n, k]
            age = now - s.letter_arrival[k] if ages_by_wall_clock(s) else 0
            s.inbox_since[k] = s.watch - age
            s.inbox_new[k] = 1
            s.due[k] = s.letter_tick[k]
            # lock-step waits from the first stamped command on, even if this command is late
            if s.due[k] >= 0 and s.dof_required[k] == 1:
                s.locked = s.time_mode == LOCKSTEP


@kernel
def ages_by_wall_clock(s: Shared) -> bool:
    """Return whether commands age with wall time; otherwise they age with simulated time."""
    return s.time_mode != FAST and s.locked == 0 and s.paused == 0


@kernel
def schedule(s: Shared, ticked: bool) -> None:
    """Set the next deadline; an overrun restarts the schedule. ticked: whether a tick was made."""
    pace = load_acquire(s.asked, PACE)
    finished = steady_clock(s.scratch)
    if ticked:
        work = finished - s.woken
        s.longest = max(s.longest, work)
        s.work[min(max(work // 1000, 0), len(s.work) - 1)] += 1
    if s.halted == 1 or s.locked == 1 or s.time_mode == FAST:
        s.deadline = finished + pace
        return
    if s.woken < s.deadline:
        return  # the loop woke early to serve a request
    s.deadline += pace
    if finished >= s.deadline:
        s.overruns += ticked
        s.deadline = finished + pace


@kernel
def steps_left(s: Shared) -> bool:
    """Return whether requested single steps remain."""
    return load_acquire(s.asked, STEPS) > s.done[STEPS]
