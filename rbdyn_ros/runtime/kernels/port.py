# SPDX-License-Identifier: Apache-2.0
"""The port: states and commands of the loop in memory that another process shares.

Each direction has a mailbox as in mailbox.py. The loop takes the addresses from the table of its
Port (runtime/port.py): it uses no address, length or count that the other process can write. A
record of commands is accepted as a whole, or refused as a whole.
"""

from __future__ import annotations

from rbdyn_ros.runtime import port_layout as layout
from rbdyn_ros.runtime.compiled import (
    copy_memory,
    fence,
    kernel,
    load_acquire,
    load_word_at,
    number_at,
    set_number_at,
    set_word_at,
    steady_clock,
    wait_at,
    wake_at,
    word_at,
)
from rbdyn_ros.runtime.settings import LOCKSTEP, REALTIME
from rbdyn_ros.runtime.shared import PACE, Shared
from rbdyn_ros.runtime.types import IMPEDANCE


@kernel
def write_port(s: Shared) -> None:
    """Write the measurement that arrives in this tick, and wake the process that waits for it."""
    t = s.port
    if t == 0 or s.measured_tick < 0:
        return
    version = word_at(t, layout.T_WRITTEN) + 1
    set_word_at(t, layout.T_WRITTEN, version)
    slot = version % word_at(t, layout.T_STATE_DEPTH) * word_at(t, layout.T_STATE_STRIDE)
    record = word_at(t, layout.T_STATE_SLOTS) + 8 * slot
    fence()
    set_word_at(record, layout.STATE_TICK, s.measured_tick)
    set_word_at(record, layout.STATE_EPOCH, s.epoch)
    set_word_at(record, layout.STATE_PAUSED, s.paused)
    set_word_at(record, layout.STATE_FAULT, s.fault)
    set_word_at(record, layout.STATE_STALE, s.stale)
    set_word_at(record, layout.STATE_WALL, steady_clock(s.scratch))
    set_number_at(record, layout.STATE_TIME, s.row_time)
    n = word_at(t, layout.T_JOINTS)
    for j in range(n):
        k = word_at(t, layout.TABLE + 2 * j)
        for quantity in range(3):
            place = layout.STATE_WORDS + quantity * n + j
            set_number_at(record, place, s.row_measured[quantity, k])
    set_word_at(word_at(t, layout.T_STATE_VERSION), 0, version)
    wake_at(word_at(t, layout.T_STATE_VERSION))


@kernel
def is_heard(s: Shared) -> bool:
    """Return whether another process uses the port."""
    return s.port != 0 and load_word_at(word_at(s.port, layout.T_CLIENT)) != 0


@kernel
def wait_for_port(s: Shared, timeout_ns: int) -> None:
    """Sleep until there are commands at the port, or the timeout."""
    t = s.port
    wait_at(word_at(t, layout.T_COMMAND_VERSION), word_at(t, layout.T_SEEN), timeout_ns, s.scratch)


@kernel
def read_port(s: Shared) -> None:
    """Copy the newest commands at the port into the inbox."""
    t = s.port
    if t == 0:
        return
    latest = load_word_at(word_at(t, layout.T_COMMAND_VERSION))
    if latest == word_at(t, layout.T_SEEN):
        return
    stride, depth = word_at(t, layout.T_COMMAND_STRIDE), word_at(t, layout.T_COMMAND_DEPTH)
    record = word_at(t, layout.T_RECORD)
    copy_memory(record, word_at(t, layout.T_COMMAND_SLOTS) + 8 * stride * (latest % depth), stride)
    fence()
    if load_word_at(word_at(t, layout.T_COMMAND_VERSION)) - latest >= depth - 1:
        s.missed += 1  # the record was overwritten during the copy, so there is a newer one
        return
    set_word_at(t, layout.T_SEEN, latest)
    if _is_late(s, t, record):
        set_word_at(t, layout.T_LATE, word_at(t, layout.T_LATE) + 1)
        _refuse(t, -1, layout.LATE)
    elif _is_good(t, record):
        set_word_at(t, layout.T_ACCEPTED, word_at(t, layout.T_ACCEPTED) + 1)
        _take(s, t, record)


@kernel
def _is_late(s, t, record):
    """Return whether a record of commands answers a state older than answer_timeout.

    Only in mode realtime can a record be late.
    """
    most, tick = word_at(t, layout.T_ANSWER), word_at(record, layout.COMMAND_TICK)
    if s.time_mode != REALTIME or most == 0 or not 0 <= tick < s.measured_tick:
        return False
    return (s.measured_tick - tick) * load_acquire(s.asked, PACE) > most  # [ns of wall time]


@kernel
def _refuse(t, joint, reason):
    """Count a refused record, and show its first bad joint and the reason to the other process."""
    count = word_at(t, layout.T_REFUSED) + 1
    set_word_at(t, layout.T_WHY, layout.REASONS * joint + reason)
    set_word_at(t, layout.T_REFUSED, count)
    shown = word_at(t, layout.T_SHOWN)
    set_word_at(shown, layout.REFUSED_JOINT - layout.REFUSED, joint)
    set_word_at(shown, layout.REFUSED_REASON - layout.REFUSED, reason)
    set_word_at(shown, 0, count)


@kernel
def _is_good(t, record):
    """Return whether all joints of a record have valid modes and numbers; else refuse it."""
    n = word_at(t, layout.T_JOINTS)
    for j in range(n):
        mode = word_at(record, layout.COMMAND_WORDS + j)
        reason = 0
        if mode < -1 or mode > IMPEDANCE:
            reason = layout.BAD_MODE
        elif mode >= 0 and word_at(t, layout.TABLE + 2 * j + 1) < 0:
            reason = layout.BAD_JOINT
        elif mode >= 0:
            for quantity in range(5):
                number = number_at(record, layout.COMMAND_WORDS + (1 + quantity) * n + j)
                if not abs(number) <= layout.LARGEST or (quantity >= 3 and number < 0.0):
                    reason = layout.BAD_NUMBER
        if reason != 0:
            _refuse(t, j, reason)
            return False
    return True


@kernel
def _take(s, t, record):
    """Copy a record of commands to the inbox; in lock-step they are for the record's tick."""
    n = word_at(t, layout.T_JOINTS)
    arrival = steady_clock(s.scratch)
    tick = word_at(record, layout.COMMAND_TICK) if s.time_mode == LOCKSTEP else -1
    for j in range(n):
        k = word_at(t, layout.TABLE + 2 * j + 1)
        mode = word_at(record, layout.COMMAND_WORDS + j)
        if k < 0:
            continue
        if mode >= 0:
            # the arrival identifies a command, so it must be unique
            s.inbox_arrival[k] = max(arrival, s.inbox_arrival[k] + 1)
            s.inbox_mode[k] = mode
            for quantity in range(5):
                s.inbox[quantity, k] = number_at(
                    record, layout.COMMAND_WORDS + (1 + quantity) * n + j
                )
            s.inbox_since[k] = s.watch
            s.inbox_new[k] = 1
        if mode >= 0 or s.inbox_new[k] == 0:  # a record without commands also answers a state
            s.inbox_tick[k] = tick
            s.due[k] = tick
        if tick >= 0 and s.dof_required[k] == 1:
            s.locked = 1
