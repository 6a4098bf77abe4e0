# SPDX-License-Identifier: Apache-2.0
"""Small arrays on the stack of a kernel, as private scratch memory.

A kernel cannot allocate memory. Scratch arrays in a Data would be copied, reset and hashed with
it. As arguments, scratch arrays would have to be passed through every function in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array, populate_array

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.engine.compiler import indexing

_INT64 = ir.IntType(64)


def stack_floats(rows: int, columns: int) -> Array:
    """Return an uninitialised array (rows, columns); in a kernel both sizes must be literals."""
    return np.full((rows, columns), np.nan)


def stack_ints(rows: int, columns: int) -> Ints:
    """Return an uninitialised array of integers; the sizes are as in stack_floats."""
    return np.full((rows, columns), -1, np.int64)


def _compile(function: Callable[[int, int], Any], element: types.Type) -> None:
    array_type = indexing.array_type(element, 2)

    @type_callable(function)
    def _typed(context: Any) -> Any:
        def typer(rows: types.Type, columns: types.Type) -> types.Type | None:
            sizes = isinstance(rows, types.Literal) and isinstance(columns, types.Literal)
            return array_type if sizes else None

        return typer

    @lower_builtin(function, types.IntegerLiteral, types.IntegerLiteral)
    def _lowered(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rows, columns = (size.literal_value for size in signature.args)
        kind = context.get_data_type(element)
        with builder.goto_entry_block():  # Numba's alloca_once would fill the array with zeros
            place = builder.alloca(ir.ArrayType(kind, rows * columns))
        array = make_array(array_type)(context, builder)
        populate_array(
            array,
            data=builder.bitcast(place, kind.as_pointer()),
            shape=cgutils.pack_array(builder, [_INT64(rows), _INT64(columns)]),
            strides=cgutils.pack_array(builder, [_INT64(8 * columns), _INT64(8)]),
            itemsize=_INT64(8),
            meminfo=None,
        )
        return array._getvalue()


_compile(stack_floats, types.float64)
_compile(stack_ints, types.int64)
