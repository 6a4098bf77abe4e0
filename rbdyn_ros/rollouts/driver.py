"""The compiled loop over robots and steps. It calls the code of a step by its address.

That code works on one block of memory: slots of W numbers, one for each of the W robots that
advance side by side. Lists of slots locate the numbers.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from rbdyn_ros.engine import jit
from rbdyn_ros.engine.addresses import INT64, call_address

#: Functions of a step: before the first step, at every step, and at every row of outputs.
BEGIN, ADVANCE, OBSERVE = range(3)

#: Columns of health: the counter nbad, and 1 if the final state is not finite.
NBAD, DIVERGED = range(2)

CACHE_DIRECTORY = jit.cache_below("rollouts", Path(__file__).parent.glob("*.py"))


class CallTable(NamedTuple):
    """Numbers of robots, and their slots in the memory of a robot.

    Attributes:
        values: an array whose first axis is robots and whose last axis is entries.
        slots: (n,), by entry; for health, the slots of nbad and of the state.
    """

    values: Any
    slots: Any


class BlockPiece(NamedTuple):
    """A block of robots over a range of steps.

    Attributes:
        every: steps from one row of outputs to the next.
        first: robot.
        last: robot, not included.
        begin: step.
        end: step, not included.
    """

    every: int
    first: int
    last: int
    begin: int
    end: int


@intrinsic
def call_memory(context, address, memory):
    """Call machine code, void f(double *memory), by its address, unless that is zero."""

    def generate(context, builder, signature, values):
        with builder.if_then(builder.icmp_unsigned("!=", values[0], INT64(0))):
            call_address(builder, values[0], [values[1]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def drive(code, address, memory, fresh, start, ctrl, out, health, piece):
    """Advance the robots of a piece over its steps, W at a time.

    If the piece does not have all steps, its robots must be one block, in the same memory as for
    the steps before. Unused lanes of the last block repeat the last robot.

    Args:
        code: addresses by BEGIN, ADVANCE, OBSERVE; 0: nothing to call.
        address: of memory.
        memory: (slots, W), aligned to 64 bytes.
        fresh: (slots,), initial values.
        start: CallTable of (nbatch, n), the start of each robot.
        ctrl: CallTable of (nbatch, nstep, n), the inputs of each step.
        out: CallTable of (nbatch, rows, n), outputs.
        health: CallTable of (nbatch, 2), by NBAD, DIVERGED.
        piece: BlockPiece.
    """
    width, most, nstep = memory.shape[1], len(health.values) - 1, ctrl.values.shape[1]
    for block in range(piece.first, piece.last, width):
        if piece.begin == 0:
            for lane in range(width):
                for k in range(len(fresh)):
                    memory[k, lane] = fresh[k]
                for k in range(len(start.slots)):
                    memory[start.slots[k], lane] = start.values[min(block + lane, most), k]
            call_memory(code[BEGIN], address)
        for n in range(piece.begin, piece.end):
            for lane in range(width):
                for k in range(len(ctrl.slots)):
                    memory[ctrl.slots[k], lane] = ctrl.values[min(block + lane, most), n, k]
            call_memory(code[ADVANCE], address)
            if (n + 1) % piece.every == 0:
                call_memory(code[OBSERVE], address)
                for lane in range(width):
                    for k in range(len(out.slots)):
                        robot, row = min(block + lane, most), n // piece.every
                        out.values[robot, row, k] = memory[out.slots[k], lane]
        if piece.end == nstep:
            for lane in range(width):
                finite = True
                for k in range(1, len(health.slots)):
                    finite = finite and np.isfinite(memory[health.slots[k], lane])
                robot = min(block + lane, most)
                health.values[robot, NBAD] = int(memory[health.slots[0], lane])
                health.values[robot, DIVERGED] = 0 if finite else 1


_FLOATS, _INTS = types.float64[::1], types.int64[::1]
_SLOTS, _INT = types.float64[:, ::1], types.int64
_START, _CTRL, _OUT, _HEALTH = (
    types.NamedTuple((values, _INTS), CallTable)
    for values in (
        _SLOTS,
        types.Array(types.float64, 3, "A", readonly=True),
        types.float64[:, :, ::1],
        types.int64[:, ::1],
    )
)
_PIECE = types.NamedUniTuple(_INT, len(BlockPiece._fields), BlockPiece)
_DRIVE = (_INTS, _INT, _SLOTS, _FLOATS, _START, _CTRL, _OUT, _HEALTH, _PIECE)


@functools.cache
def compiled_drive():
    """Return the compiled loop over the robots: without the GIL, and without type checks."""
    kernel: Any = jit.compile_cached(drive, jit.OPTIONS, CACHE_DIRECTORY)
    if _DRIVE not in kernel.overloads:
        kernel.compile(_DRIVE)
    return kernel.overloads[_DRIVE].entry_point
