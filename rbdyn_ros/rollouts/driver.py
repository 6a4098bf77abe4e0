# SPDX-License-Identifier: Apache-2.0
"""The compiled loop over robots and steps, which calls the code of a step by its address.

The code of a step works on one block of memory, whose slots hold W numbers, one for each of the W
robots that advance side by side. A thread takes a block of W robots, reads their numbers into its
memory, advances them, and writes the numbers back. Lists of slots locate the numbers.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.engine.compiler.addresses import INT64, call_address

#: Functions of a step: called before the first step, at every step, and at every row of outputs.
BEGIN, ADVANCE, OBSERVE = range(3)

#: Words that all threads share: the next free block, and 1 to stop. Each word has its own cache
#: line.
NEXT, STOP, WORDS = 0, 8, 16

#: Words of a thread: its block, the end of its blocks, its next step, and the number of finished
#: robot-steps; and, in another cache line, 1 while the thread works.
BLOCK, END, STEP, DONE, BUSY, OWN_WORDS = 0, 1, 2, 3, 8, 16

#: Columns of `Kept.segments`.
SLOT, PLACE, LENGTH, PER_CONTACT = range(4)

CACHE_DIRECTORY = jit.cache_below("rollouts", Path(__file__).parent.rglob("*.py"))
kernel = jit.kernels_in(CACHE_DIRECTORY)


class Numbers(NamedTuple):
    """Where a thread reads or writes numbers of robots, and their slots in the memory.

    Attributes:
        at: (n,), address of the number of robot 0.
        by: (n,), distance to the number of the next robot [bytes]; 0: all robots share the number.
        slots: (n,), slot of each number.
    """

    at: Any
    by: Any
    slots: Any


class Rows(NamedTuple):
    """Numbers of robots for each step, and their slots in the memory.

    Attributes:
        values: (robots, steps or rows, n).
        slots: (n,), slots of the numbers of a step.
    """

    values: Any
    slots: Any


class Health(NamedTuple):
    """The counters of inertias that were not positive, and whether robots have diverged.

    Attributes:
        nbad: (robots,), how often an inertia was not positive so far.
        diverged: (robots,), whether a number of the state is not finite.
        slots: slots of nbad and of the state.
    """

    nbad: Any
    diverged: Any
    slots: Any


class Kept(NamedTuple):
    """The engine's memory between steps in addition to the state, mostly of friction.

    Attributes:
        values: (robots, n), copied bit for bit; the first entry is the number of contacts. (1, n)
            zeros if a call does not continue from an earlier call.
        segments: (k, 4), groups of adjacent numbers, with columns SLOT, PLACE, LENGTH,
            PER_CONTACT. If PER_CONTACT is not 0, only this many numbers for each contact are in
            use.
    """

    values: Any
    segments: Any


class RolloutTask(NamedTuple):
    """Sizes of a call.

    Attributes:
        robots: number of robots.
        nstep: number of steps; 0: only the outputs.
        every: steps from one row of outputs to the next.
        chunk: blocks that a thread takes at a time.
        piece: number of steps of one block that a thread does before it returns.
        goes_on: 0 if robots begin without memory of earlier steps and store no memory.
    """

    robots: int
    nstep: int
    every: int
    chunk: int
    piece: int
    goes_on: int


class Work(NamedTuple):
    """The arrays of a call.

    Attributes:
        ids: the robots; empty: all.
        read: Numbers, read at the start.
        write: Numbers, written at the end.
        ctrl: Rows, the inputs of each step.
        out: Rows, outputs.
        health: Health.
        kept: Kept.
        task: RolloutTask.
    """

    ids: Any
    read: Numbers
    write: Numbers
    ctrl: Rows
    out: Rows
    health: Health
    kept: Kept
    task: RolloutTask


def array_at(kind, size=8):
    """Return a function of an address and a length that returns an array over that memory."""

    @intrinsic
    def made(context, address, count):
        def generate(context, builder, signature, values):
            array = make_array(signature.return_type)(context, builder)
            element = context.get_data_type(kind).as_pointer()
            populate_array(
                array,
                data=builder.inttoptr(values[0], element),
                shape=cgutils.pack_array(builder, [values[1]]),
                strides=cgutils.pack_array(builder, [values[1].type(size)]),
                itemsize=values[1].type(size),
                meminfo=None,
            )
            return array._getvalue()

        return types.Array(kind, 1, "C")(types.int64, types.int64), generate

    return made


ints_at, floats_at = array_at(types.int64), array_at(types.float64)


@intrinsic
def call_memory(context, address, memory):
    """Call machine code, void f(double *memory), by its address, unless the address is zero."""

    def generate(context, builder, signature, values):
        with builder.if_then(builder.icmp_unsigned("!=", values[0], INT64(0))):
            call_address(builder, values[0], [values[1]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def add(context, words, place, value):
    """Add to a word atomically, and return its old value."""

    def generate(context, builder, signature, values):
        array = make_array(signature.args[0])(context, builder, values[0])
        word = cgutils.gep(builder, array.data, values[1])
        return builder.atomic_rmw("add", word, values[2], "seq_cst")

    return types.int64(words, types.int64, types.int64), generate


def drive(code, address, memory, work, words, own):
    """Do one piece of the work of a thread; return whether work is left.

    A thread stays with its block until it has done all steps. Unused lanes of the last block
    repeat its last robot.

    Args:
        code: addresses of the functions BEGIN, ADVANCE and OBSERVE; 0: no function.
        address: address of `memory`.
        memory: (slots, W), aligned to 64 bytes.
        work: Work.
        words: words NEXT and STOP, which all threads share.
        own: words BLOCK, END, STEP, DONE, BUSY of the thread.
    """
    width, task = memory.shape[1], work.task
    blocks = (task.robots + width - 1) // width
    left = task.piece
    while left > 0 and add(words, STOP, 0) == 0:
        if own[BLOCK] == own[END]:
            own[BLOCK] = add(words, NEXT, task.chunk)
            own[END] = min(own[BLOCK] + task.chunk, blocks)
            if own[BLOCK] >= blocks:
                own[BLOCK] = own[END]
                add(own, BUSY, -own[BUSY])
                return False
        first = own[BLOCK] * width
        last = min(first + width, task.robots)
        if own[STEP] == 0:
            _enter(memory, address, work, first, last)
            call_memory(code[BEGIN], address)
        begin, end = own[STEP], min(own[STEP] + left, task.nstep)
        _advance(code, address, memory, work, first, last, begin, end)
        left -= max(1, end - begin)
        own[DONE] += (end - begin) * (last - first)
        own[STEP] = end
        if end == task.nstep:
            if end == 0:
                call_memory(code[OBSERVE], address)
            _leave(memory, address, work, first, last)
            own[STEP] = 0
            own[BLOCK] += 1
    if left > 0:  # the whole call must stop
        add(own, BUSY, -own[BUSY])
        return False
    return True


@kernel
def _robot(work, place):
    """Return the number of a robot from its position in the call."""
    return work.ids[place] if len(work.ids) > 0 else place


@kernel
def _enter(memory, address, work, first, last):
    """Read the numbers of a block's robots into the memory of the thread; reset nbad."""
    width, read = memory.shape[1], work.read
    whole = len(work.ids) == 0 and last - first == width
    for lane in range(width):
        memory[work.health.slots[0], lane] = 0.0  # reset nbad
    for k in range(len(read.slots)):
        slot, at, by = read.slots[k], read.at[k], read.by[k]
        if whole and by == 8:
            column = floats_at(at + by * first, width)
            for lane in range(width):
                memory[slot, lane] = column[lane]
        else:
            for lane in range(width):
                robot = _robot(work, min(first + lane, last - 1))
                memory[slot, lane] = floats_at(at + by * robot, 1)[0]
    if len(work.kept.segments) > 0:
        _exchange(memory, address, work, first, True)


@kernel
def _leave(memory, address, work, first, last):
    """Write the numbers of a block, nbad, diverged and the engine's memory back to the robots."""
    width, write, health = memory.shape[1], work.write, work.health
    whole = len(work.ids) == 0 and last - first == width
    for k in range(len(write.slots)):
        slot, at, by = write.slots[k], write.at[k], write.by[k]
        if whole and by == 8:
            column = floats_at(at + by * first, width)
            for lane in range(width):
                column[lane] = memory[slot, lane]
        else:
            for lane in range(last - first):
                robot = _robot(work, first + lane)
                floats_at(at + by * robot, 1)[0] = memory[slot, lane]
    for lane in range(last - first):
        finite = True
        for k in range(1, len(health.slots)):
            finite = finite and np.isfinite(memory[health.slots[k], lane])
        robot = _robot(work, first + lane)
        health.nbad[robot] += int(memory[health.slots[0], lane])
        health.diverged[robot] = not finite
    if len(work.kept.segments) > 0 and work.task.goes_on != 0:
        _exchange(memory, address, work, first, False)


@kernel
def _exchange(memory, address, work, place, entering):
    """Copy the engine's memory of a robot into the thread's memory if `entering`, else back."""
    bits = ints_at(address, memory.shape[0])
    robot = _robot(work, place) if work.task.goes_on != 0 else 0
    kept, segments = work.kept.values[robot], work.kept.segments
    count = kept[0] if entering else bits[segments[0, SLOT]]
    for s in range(len(segments)):
        slot, begin, per = segments[s, SLOT], segments[s, PLACE], segments[s, PER_CONTACT]
        length = per * count if per > 0 else segments[s, LENGTH]
        for k in range(length):
            if entering:
                bits[slot + k] = kept[begin + k]
            else:
                kept[begin + k] = bits[slot + k]


@kernel
def _advance(code, address, memory, work, first, last, begin, end):
    """Do steps of a block, and store the rows of outputs that are due."""
    width, ctrl, out = memory.shape[1], work.ctrl, work.out
    for n in range(begin, end):
        for lane in range(width):
            for k in range(len(ctrl.slots)):
                memory[ctrl.slots[k], lane] = ctrl.values[min(first + lane, last - 1), n, k]
        call_memory(code[ADVANCE], address)
        if (n + 1) % work.task.every == 0:
            call_memory(code[OBSERVE], address)
            row = n // work.task.every
            for lane in range(last - first):
                for k in range(len(out.slots)):
                    out.values[first + lane, row, k] = memory[out.slots[k], lane]


def settled(own, tries):
    """Check up to `tries` times whether all threads have finished; return the result."""
    for _ in range(tries):
        busy = 0
        for k in range(len(own)):
            busy += add(own[k], BUSY, 0)
        if busy == 0:
            return True
    return False


_FLOATS, _INTS, _INT = types.float64[:, ::1], types.int64[::1], types.int64
_READ_ONLY = types.Array(types.float64, 3, "A", readonly=True)
_NUMBERS = types.NamedUniTuple(_INTS, 3, Numbers)
_WORK = types.NamedTuple(
    (
        _INTS,
        _NUMBERS,
        _NUMBERS,
        types.NamedTuple((_READ_ONLY, _INTS), Rows),
        types.NamedTuple((types.float64[:, :, ::1], _INTS), Rows),
        types.NamedTuple((_INTS, types.boolean[::1], _INTS), Health),
        types.NamedUniTuple(types.int64[:, ::1], 2, Kept),
        types.NamedUniTuple(_INT, len(RolloutTask._fields), RolloutTask),
    ),
    Work,
)


@functools.cache
def compiled_drive():
    """Return `drive`, compiled: without the GIL, and without type checks."""
    return _point(drive, (_INTS, _INT, _FLOATS, _WORK, _INTS, _INTS))


@functools.cache
def compiled_settled():
    """Return `settled`, compiled."""
    return _point(settled, (types.int64[:, ::1], _INT))


def _point(function, signature):
    compiled: Any = jit.compile_cached(function, jit.OPTIONS, CACHE_DIRECTORY)
    if signature not in compiled.overloads:
        compiled.compile(signature)
    return compiled.overloads[signature].entry_point
