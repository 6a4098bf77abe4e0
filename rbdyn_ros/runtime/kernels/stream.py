# SPDX-License-Identifier: Apache-2.0
"""Publish plain states without Python: as bytes, through a C function.

A state is plain if it differs only in its numbers from the last state that Python published, and
no topic that only Python publishes is due. Python publishes all other states; the order is kept.
So Python runs only as often as the slower topics need it, not for every message of joint_states.
"""

from __future__ import annotations

from numba.extending import intrinsic, types

from rbdyn_ros.engine.compiler.views import view_at
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime import shared
from rbdyn_ros.runtime.compiled import (
    Words,
    call_c,
    copy_memory,
    kernel,
    load_acquire,
    lock_mutex,
    steady_clock,
    store_release,
    unlock_mutex,
    wait_notified,
    word_at,
)
from rbdyn_ros.runtime.mailbox import fetch
from rbdyn_ros.runtime.shared import SHARED, Shared

#: Number of words of a topic. They are: its function `publish(publisher, message, 0)` with its
#: arguments; the bytes to which the message points; whether its stamp is the stamp of the
#: measurement; its period; the counts and offsets of stamps and numbers in the bytes; and the
#: indices of the numbers in a row.
NTOPIC = 11
PUBLISH, PUBLISHER, MESSAGE, BYTES, OF_MEASUREMENT, EVERY = range(6)
NSTAMP, STAMPS, NNUMBER, PLACES, PICKS = range(6, NTOPIC)


@intrinsic
def shared_at(context, row):
    """Return the Shared of a loop from the address of its row."""

    def generate(context, builder, signature, values):
        word = context.get_value_type(types.int64).as_pointer()
        before = builder.gep(
            builder.inttoptr(values[0], word), [context.get_constant(types.int64, -1)]
        )
        return view_at(context, builder, SHARED, builder.load(before), values[0])

    return SHARED(types.int64), generate


@kernel
def stream(robots: Words, descriptor: int, timeout: int, scratch: Words) -> bool:
    """Publish the plain states of all robots until a state needs Python; False after a timeout.

    Args:
        robots: (n, 2) addresses of each robot's Shared and mutex.
        descriptor: eventfd that the loops notify.
        timeout: longest wait for a state [ns].
        scratch: memory for system calls.
    """
    give_up = steady_clock(scratch) + timeout
    while True:
        waits = False
        for k in range(len(robots)):
            lock_mutex(robots[k, 1])
            waits = not _publish_all(shared_at(word_at(robots[k, 0], 0))) or waits
            unlock_mutex(robots[k, 1])
        if waits:
            return True
        left = give_up - steady_clock(scratch)
        if left <= 0:
            return False
        wait_notified(descriptor, max(1, left // 1_000_000), scratch)


@kernel
def _publish_all(s: Shared) -> bool:
    """Publish the plain states of a robot; return False at a state that Python must publish."""
    while load_acquire(s.state_version, 0) != s.stream_version:
        following = s.stream_version + 1
        # leave a large backlog to Python, which skips states and logs it (BACKLOG in readout.py)
        behind = s.state_version[0] - following > len(s.state_slots) // 2
        if s.stream_armed == 0 or behind:
            return False
        found = fetch(
            *(s.state_version, s.state_slots, s.state_float_slots, following),
            *(s.stream_words, s.stream_row),
        )
        if found != following or not _is_plain(s) or not _publish(s):
            return False
        s.stream_tick = s.stream_words[shared.TICK]
        s.stream_version = following
        store_release(s.asked, shared.READ, following)
    return True


@kernel
def _is_plain(s):
    now, known = s.stream_words, s.stream_known
    if now[shared.FAULT] >= 0 or now[shared.MEASURED] < 0 or now[shared.TICK] <= s.stream_tick:
        return False
    if now[shared.EPOCH] != s.stream_epoch or now[shared.PAUSED] != known[shared.PAUSED]:
        return False
    if now[shared.BAD] > known[shared.BAD] or now[shared.SINGULAR] > known[shared.SINGULAR]:
        return False
    for k in (shared.UNSOLVED, shared.DROPPED):
        if now[k] > 0 and known[k] == 0:
            return False
    if now[shared.SATURATED] >= 0 and known[shared.SATURATED] < 0:
        return False
    for n in range(shared.NEVERY):
        if s.stream_every[n] > 0 and _is_due(s, s.stream_every[n]):
            return False
    for k in range(len(s.row_qvel)):
        if not abs(s.stream_row[len(s.row_qpos) + k]) <= s.stream_fastest:
            return False
    return True


@kernel
def _is_due(s, every):
    return s.stream_words[shared.TICK] // every != s.stream_tick // every


@kernel
def _publish(s):
    """Publish the due topics of a state; return False after an error."""
    keep = False
    for k in range(s.stream_ntopic):
        topic = s.stream_topics + 8 * NTOPIC * k
        if _is_due(s, word_at(topic, EVERY)):
            _fill(s, topic)
            arguments = word_at(topic, PUBLISHER), word_at(topic, MESSAGE)
            if call_c(word_at(topic, PUBLISH), arguments[0], arguments[1], 0) != 0:
                s.stream_armed = 0  # Python publishes this state and reports the error
                return False
            keep = keep or word_at(topic, OF_MEASUREMENT) == 1
    if keep:
        s.stream_kept = 1
        words, row = s.stream_kept_words.ctypes.data, s.stream_kept_row.ctypes.data
        copy_memory(words, s.stream_words.ctypes.data, len(s.stream_words))
        copy_memory(row, s.stream_row.ctypes.data, len(s.stream_row))
    return True


@kernel
def _fill(s, topic):
    """Write the stamp (sec, nanosec) and the numbers of a state into the message of a topic."""
    tick = s.stream_words[shared.MEASURED if word_at(topic, OF_MEASUREMENT) == 1 else shared.TICK]
    stamp = s.stream_time_base + tick * s.period
    s.stream_scratch[0] = (stamp // NANOSECONDS) | (stamp % NANOSECONDS) << 32
    to, row = word_at(topic, BYTES), s.stream_row.ctypes.data
    for n in range(word_at(topic, NSTAMP)):
        copy_memory(to + word_at(word_at(topic, STAMPS), n), s.stream_scratch.ctypes.data, 1)
    for n in range(word_at(topic, NNUMBER)):
        source = row + 8 * word_at(word_at(topic, PICKS), n)
        copy_memory(to + word_at(word_at(topic, PLACES), n), source, 1)
