# SPDX-License-Identifier: Apache-2.0
"""Compile programs for W robots at once: every number is a vector with one lane per robot."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from rbdyn_ros.engine.compiler.processor import processor
from rbdyn_ros.specialization import machine
from rbdyn_ros.specialization.languages.llvm_code import POINTER, Module, load, store
from rbdyn_ros.specialization.programs.program import Program


@dataclass(frozen=True, slots=True)
class Lanes:
    """Machine code of programs that share one memory, whose slots hold W numbers each.

    Attributes:
        width: number of robots, W.
        slots: for each array, its first slot and its length.
        size: number of slots; the memory is (size, W), aligned to cache lines.
        code: the compiled functions, void f(double *memory).
    """

    width: int
    slots: dict[str, tuple[int, int]]
    size: int
    code: machine.Code

    def address(self, name: str) -> int:
        """Return the address of a program."""
        return self.code.addresses[name]

    def memory(self) -> tuple[int, NDArray[np.float64]]:
        """Return the address of a new memory of zeros, and the memory."""
        count = self.size * self.width
        raw = np.zeros(count + 8)
        first = -raw.ctypes.data % 64 // 8
        rows = raw[first : first + count]
        return int(rows.ctypes.data), rows.reshape(-1, self.width)


def compile_lanes(
    programs: Mapping[str, Program],
    width: int | None = None,
    room: Mapping[str, int] | None = None,
    beside: Lanes | None = None,
) -> Lanes:
    """Compile programs. Arrays of the same name share their memory.

    Args:
        programs: programs by name.
        width: W; None: the length of a vector register.
        room: smallest lengths of arrays, by name; None: arrays are as long as the programs need.
        beside: other programs for the same W, whose memory is used and must be large enough; None:
            a separate memory.
    """
    lanes = width or processor().vector_width
    slots, size = (dict(beside.slots), beside.size) if beside else ({}, 0)
    lengths = dict(room or {})
    for program in programs.values():
        for array, length in program.lengths().items():
            lengths[array] = max(lengths.get(array, 0), length)
    for array, length in lengths.items():
        if array not in slots:
            slots[array] = size, length
            size += length
        assert slots[array][1] >= length

    def make() -> str:
        memory = LaneMemory({array: first for array, (first, _) in slots.items()}, lanes)
        module = Module(lanes, processor().vector_width)
        for name, program in programs.items():
            module.add(name, program, memory)
        return module.text()

    written = [
        f"{name}: {program.operations} {program.outputs}" for name, program in programs.items()
    ]
    if beside or room:
        written.append(repr({array: slots[array] for array in lengths}))
    key = [hashlib.sha256("\n".join(written).encode()).hexdigest(), "lanes", str(lanes)]
    return Lanes(lanes, slots, size, machine.code(key, tuple(programs), make))


class LaneMemory:
    """All arrays in one memory of slots of W numbers.

    Args:
        slots: first slot of each array.
        width: W.
    """

    arguments: Sequence[ir.Type] = (POINTER,)

    def __init__(self, slots: dict[str, int], width: int) -> None:
        self.slots, self.width = slots, width

    def load(self, builder: ir.IRBuilder, given: Any, array: str, place: int) -> Any:
        """Return the numbers of W robots at a place of an array; given[0] is the memory."""
        start = (self.slots[array] + place) * self.width
        return load(builder, given[0], start, self.width)

    def store(self, builder: ir.IRBuilder, given: Any, array: str, place: int, x: Any) -> None:
        """Write the numbers x of W robots to a place of an array."""
        store(builder, given[0], (self.slots[array] + place) * self.width, x)
