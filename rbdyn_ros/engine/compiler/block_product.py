# SPDX-License-Identifier: Apache-2.0
"""The product of two 6 x 6 blocks, by vector instructions.

Numba compiles loops over six numbers, or six named numbers, to one instruction per number. This
code uses vectors of four and two numbers, which LLVM compiles for any processor, and takes a third
of the time.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rbdyn_ros.engine.compiler.jit import DISABLED

_DOUBLE, _INDEX = ir.DoubleType(), ir.IntType(64)
#: Vectors of a row: their first column and their length.
_PARTS = ((0, 4), (4, 2))
#: Order of the sum: the last rows (linear motion) come first, because their large numbers cancel.
_ORDER = range(5, -1, -1)
_CONTRACT = ("contract",)  # as in jit.OPTIONS


@intrinsic
def _compiled(context: Any, C: Any, c: Any, A: Any, a: Any, B: Any, b: Any) -> Any:
    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        starts = []
        for kind, array, first in zip(sig.args[::2], args[::2], args[1::2], strict=True):
            data = context.make_array(kind)(context, builder, array).data
            starts.append(builder.gep(data, [first]))
        _write(builder, *starts)
        return context.get_dummy_value()

    index = types.int64
    return types.void(C, index, A, index, B, index), code


def _write(builder: Any, C: Any, A: Any, B: Any) -> None:
    """Generate the code that subtracts A^T B from C, for three pointers to blocks."""
    rows = [[_load(builder, B, 6 * k + first, size) for first, size in _PARTS] for k in range(6)]
    for i in range(6):
        found = [_load(builder, C, 6 * i + first, size) for first, size in _PARTS]
        for k in _ORDER:
            factor = builder.load(_at(builder, A, 6 * k + i))
            for n, (_first, size) in enumerate(_PARTS):
                product = builder.fmul(_spread(builder, factor, size), rows[k][n], flags=_CONTRACT)
                found[n] = builder.fsub(found[n], product, flags=_CONTRACT)
        for n, (first, size) in enumerate(_PARTS):
            builder.store(found[n], _vector_at(builder, C, 6 * i + first, size), align=8)


def _at(builder: Any, start: Any, n: int) -> Any:
    return builder.gep(start, [_INDEX(n)])


def _vector_at(builder: Any, start: Any, n: int, size: int) -> Any:
    return builder.bitcast(_at(builder, start, n), ir.VectorType(_DOUBLE, size).as_pointer())


def _load(builder: Any, start: Any, n: int, size: int) -> Any:
    return builder.load(_vector_at(builder, start, n, size), align=8)


def _spread(builder: Any, number: Any, size: int) -> Any:
    """Return a vector of `size` copies of a number."""
    vector = ir.VectorType(_DOUBLE, size)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.IntType(32)(0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), size), [0] * size)
    return builder.shuffle_vector(first, first, places)


def _in_python(C: Any, c: int, A: Any, a: int, B: Any, b: int) -> None:
    for i in range(6):
        for k in _ORDER:
            for j in range(6):
                C[c + 6 * i + j] -= A[a + 6 * k + i] * B[b + 6 * k + j]


#: subtract_product(C, c, A, a, B, b) subtracts A^T B from C. The blocks begin at c, a and b.
subtract_product = _in_python if DISABLED else _compiled
