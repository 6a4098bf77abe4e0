# SPDX-License-Identifier: Apache-2.0
"""Operations on 6 x 6 blocks row by row, in vector instructions.

Numba compiles a loop over six numbers, or six variables, to one instruction per number. The code
here has vectors of four and two numbers, which LLVM turns into the instructions of any processor.
A product takes a third of the time.

A block is an array with the numbers of its rows one after another, and the index of the first.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rbdyn_ros.engine.compiler.jit import DISABLED

_DOUBLE, _INDEX, _PLACE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
#: Vectors of a row: their first column and their length.
_PARTS = ((0, 4), (4, 2))
#: Order of the sums: the last rows, of linear motion, have the largest numbers, and cancel first.
_ORDER = range(5, -1, -1)
_CONTRACT = ("contract",)  # as in jit.OPTIONS


class _Row:
    """The code for six numbers in vectors."""

    def __init__(self, builder: Any, parts: list[Any]) -> None:
        self.builder, self.parts = builder, parts

    def __sub__(self, other: _Row) -> _Row:
        return self._with(self.builder.fsub, other.parts)

    def __add__(self, other: _Row) -> _Row:
        return self._with(self.builder.fadd, other.parts)

    def __mul__(self, factor: Any) -> _Row:
        return self._with(self.builder.fmul, [self._spread(factor, part) for part in self.parts])

    def _with(self, operation: Any, others: list[Any]) -> _Row:
        pairs = zip(self.parts, others, strict=True)
        return _Row(self.builder, [operation(a, b, flags=_CONTRACT) for a, b in pairs])

    def _spread(self, factor: Any, part: Any) -> Any:
        """Return a vector as long as `part` in which each number is `factor`."""
        vector, places = part.type, ir.VectorType(_PLACE, part.type.count)
        first = ir.Constant(vector, ir.Undefined)
        first = self.builder.insert_element(first, factor, _PLACE(0))
        return self.builder.shuffle_vector(first, first, ir.Constant(places, None))


class _Block:
    """The code that reads and writes a block."""

    def __init__(self, builder: Any, start: Any) -> None:
        self.builder, self.start = builder, start

    def __getitem__(self, n: int) -> Any:
        return self.builder.load(self.builder.gep(self.start, [_INDEX(n)]))

    def row(self, i: int) -> _Row:
        loads = [self.builder.load(place, align=8) for place in self._places(i)]
        return _Row(self.builder, loads)

    def store(self, i: int, row: _Row) -> None:
        for place, part in zip(self._places(i), row.parts, strict=True):
            self.builder.store(part, place, align=8)

    def _places(self, i: int) -> list[Any]:
        found = []
        for first, size in _PARTS:
            place = self.builder.gep(self.start, [_INDEX(6 * i + first)])
            found.append(self.builder.bitcast(place, ir.VectorType(_DOUBLE, size).as_pointer()))
        return found


class _Array:
    """A block in plain Python, if nothing is compiled."""

    def __init__(self, array: Any, first: int) -> None:
        self.numbers = array[first:]

    def __getitem__(self, n: int) -> Any:
        return self.numbers[n]

    def row(self, i: int) -> Any:
        return self.numbers[6 * i : 6 * i + 6].copy()

    def store(self, i: int, row: Any) -> None:
        self.numbers[6 * i : 6 * i + 6] = row


def _operation(work: Callable[..., None]) -> Any:
    """Return a function of blocks, each given as array and index, and of tuples of numbers."""

    def typed(*kinds: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            values = iter(zip(kinds, args, strict=True))
            work(*_operands(context, builder, values))
            return context.get_dummy_value()

        return types.void(*kinds), code

    # Numba wants each argument by name
    def of_two(context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return typed(a, b, c, d)

    def of_more(context: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        return typed(a, b, c, d, e, f)

    if DISABLED:
        return functools.wraps(work)(lambda *args: work(*_operands_in_python(iter(args))))
    return intrinsic(of_two if len(inspect.signature(work).parameters) == 2 else of_more)


def _operands(context: Any, builder: Any, values: Iterator[tuple[Any, Any]]) -> Iterator[Any]:
    for kind, value in values:
        if isinstance(kind, types.UniTuple):
            yield _numbers(builder, kind.count, value)
        else:
            data = context.make_array(kind)(context, builder, value).data
            index, first = next(values)
            place = context.cast(builder, first, index, types.int64)
            yield _Block(builder, builder.gep(data, [place]))


def _operands_in_python(values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        yield np.array(value) if isinstance(value, tuple) else _Array(value, next(values))


def _numbers(builder: Any, count: int, value: Any) -> Any:
    """Return the numbers of a tuple, or a row if there are six."""
    numbers = [builder.extract_value(value, n) for n in range(count)]
    if count != 6:
        return numbers
    parts = []
    for first, size in _PARTS:
        part = ir.Constant(ir.VectorType(_DOUBLE, size), ir.Undefined)
        for n in range(size):
            part = builder.insert_element(part, numbers[first + n], _PLACE(n))
        parts.append(part)
    return _Row(builder, parts)


@_operation
def subtract_product(C: Any, A: Any, B: Any) -> None:
    """Subtract A^T B from C."""
    rows = [B.row(k) for k in range(6)]
    for i in range(6):
        row = C.row(i)
        for k in _ORDER:
            row -= rows[k] * A[6 * k + i]
        C.store(i, row)


@_operation
def subtract_row(y: Any, A: Any, x: Any) -> None:
    """Subtract A^T x from y, where x and y have six numbers."""
    row = y.row(0)
    for k in _ORDER:
        row -= A.row(k) * x[k]
    y.store(0, row)


@_operation
def divide_rows(A: Any, D: Any) -> None:
    """Replace A by L^-1 A. D has the numbers of L above its diagonal."""
    rows = [A.row(i) for i in range(6)]
    for i in _ORDER:
        for k in range(5, i, -1):
            rows[i] -= rows[k] * D[6 * i + k]
        A.store(i, rows[i])


@_operation
def divide_columns(B: Any, D: Any) -> None:
    """Replace B^T by B^T U^-1. Below its diagonal D holds U, on it the inverses of U's."""
    rows = [B.row(i) for i in range(6)]
    for i in _ORDER:
        for k in range(5, i, -1):
            rows[i] -= rows[k] * D[6 * k + i]
        rows[i] *= D[7 * i]
        B.store(i, rows[i])


@_operation
def add_wrenches(C: Any, arm: Any, x: Any, y: Any, z: Any) -> None:
    """Add [(arm x) F; F] to C. The rows of F are the three rows x, y and z."""
    a, b, c = arm[0], arm[1], arm[2]
    C.store(0, C.row(0) + z * b - y * c)
    C.store(1, C.row(1) + x * c - z * a)
    C.store(2, C.row(2) + y * a - x * b)
    for k, row in enumerate((x, y, z)):
        C.store(3 + k, C.row(3 + k) + row)
