"""When the next tick comes: at its time, when all commands for it are there, or at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.runtime.compiled import (
    kernel,
    load_acquire,
    sleep_until,
    steady_clock,
    wait_notified,
)
from rbdyn_ros.runtime.mailbox import fetch
from rbdyn_ros.runtime.settings import FAST, LOCKSTEP
from rbdyn_ros.runtime.shared import (
    EDITS,
    PACE,
    PAUSE,
    PAUSE_TICK,
    READ,
    STEPS,
    STOP,
)

if TYPE_CHECKING:
    from rbdyn_ros.runtime.shared import Shared

#: While time stands, and while lock-step waits, the loop looks this often what is asked [ns].
LOOK = 5_000_000
#: As fast as possible, no more states wait for their reader than these; it naps so long [ns].
AHEAD, NAP = 32, 50_000
#: In a longer sleep it is looked what is asked [ns].
LONG = 20_000_000


@kernel
def wait_for_turn(s: Shared) -> None:
    """Sleep until there may be something to do; read the commands that have come meanwhile."""
    if s.halted == 1:
        now = steady_clock(s.scratch)
        sleep_until(min(max(s.deadline, now + NAP), now + LOOK), s.scratch)
    elif s.locked == 1:
        _wait_for_commands(s)
    elif s.time_mode == FAST:
        if _is_ahead(s):
            sleep_until(steady_clock(s.scratch) + NAP, s.scratch)
    elif _sleep_to_deadline(s):
        _note_lateness(s, steady_clock(s.scratch) - s.deadline)
    read_commands(s)


@kernel
def _sleep_to_deadline(s):
    """Sleep to the deadline; return False if something is asked before, in a long period."""
    while s.deadline - steady_clock(s.scratch) > LONG:
        sleep_until(steady_clock(s.scratch) + LONG, s.scratch)
        if _is_asked(s):
            return False
    sleep_until(s.deadline, s.scratch)
    return True


@kernel
def may_tick(s: Shared) -> bool:
    """Whether a tick may be made: time does not stand, and nobody has to be waited for."""
    if s.halted == 1:
        return False
    if s.locked == 1:
        return _is_complete(s)
    return not _is_ahead(s) if s.time_mode == FAST else s.woken >= s.deadline


@kernel
def _wait_for_commands(s):
    """Wait for the commands of this tick; in vain for too long, time runs free again."""
    began = steady_clock(s.scratch)
    read_commands(s)
    while not _is_complete(s):
        s.waiting = 1
        if _is_asked(s):
            break
        waited = steady_clock(s.scratch) - began
        if s.lockstep_timeout > 0 and waited >= s.lockstep_timeout:
            s.locked = 0
            s.given_up += 1
            s.deadline = steady_clock(s.scratch)
            break
        left = s.lockstep_timeout - waited if s.lockstep_timeout > 0 else LOOK
        wait_notified(s.orders_bell, max(1, min(left, LOOK) // 1_000_000), s.scratch)
        read_commands(s)
    s.waiting = 0


@kernel
def _is_asked(s):
    if load_acquire(s.asked, STOP) != 0 or s.paused != stands(s):
        return True
    if s.paused == 1 and not steps_left(s):
        return True
    return load_acquire(s.asked, EDITS) != s.done[EDITS]


@kernel
def stands(s: Shared) -> bool:
    """Whether time shall stand; asked for from a tick on, so that robots stop at the same one."""
    reached = s.tick >= load_acquire(s.asked, PAUSE_TICK) or s.fault >= 0
    return load_acquire(s.asked, PAUSE) != 0 and reached


@kernel
def _is_complete(s):
    """Whether each joint that lock-step waits for has a command for this tick."""
    for k in range(len(s.dof_required)):
        if s.dof_required[k] == 1 and s.due[k] != s.tick:
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
    """Take the newest commands out of the mailbox and note when they came, by the watch."""
    found = fetch(
        s.command_version, s.command_words, s.command_floats, 0, s.inbox_words, s.inbox_floats
    )
    if found < 0:
        _read_again(s)
    if found <= 0:
        return
    now = steady_clock(s.scratch)
    for k in range(len(s.inbox_arrival)):
        if s.inbox_arrival[k] != s.inbox_known[k]:
            s.inbox_known[k] = s.inbox_arrival[k]
            age = now - s.inbox_arrival[k] if follows_the_wall(s) else 0
            s.inbox_since[k] = s.watch - age
            s.inbox_new[k] = 1
            s.due[k] = s.inbox_tick[k]
            # who answers a tick is waited for from now on, even if this answer came too late
            if s.due[k] >= 0 and s.dof_required[k] == 1:
                s.locked = s.time_mode == LOCKSTEP


@kernel
def _read_again(s):
    """Forget what was overwritten while it was copied; it is new when it is read the next time."""
    s.missed += 1
    for k in range(len(s.inbox_new)):
        if s.inbox_new[k] == 1:
            s.inbox_new[k] = 0
            s.inbox_known[k] = 0


@kernel
def follows_the_wall(s: Shared) -> bool:
    """Whether commands grow older as they do on the wall; otherwise as time is simulated."""
    return s.time_mode != FAST and s.locked == 0 and s.paused == 0


@kernel
def schedule(s: Shared, ticked: bool) -> None:
    """Set the next deadline; late by a whole period it begins anew: never a burst to catch up."""
    pace = load_acquire(s.asked, PACE)
    finished = steady_clock(s.scratch)
    if ticked:
        work = finished - s.woken
        s.longest = max(s.longest, work)
        s.work[min(work // 1000, len(s.work) - 1)] += 1
    if s.halted == 1 or s.locked == 1 or s.time_mode == FAST:
        s.deadline = finished + pace
        return
    if s.woken < s.deadline:
        return  # something was asked, and done, before the time had come
    s.deadline += pace
    if finished >= s.deadline:
        s.overruns += ticked
        s.deadline = finished + pace


@kernel
def steps_left(s: Shared) -> bool:
    """Whether single steps were asked for that are not made yet."""
    return load_acquire(s.asked, STEPS) > s.done[STEPS]
