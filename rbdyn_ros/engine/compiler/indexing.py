# SPDX-License-Identifier: Apache-2.0
"""Arrays in kernels without negative indices.

In Numba a negative index counts from the end. If an index could be negative, such as a body number
from an array, each access needs three more instructions for this. Without them a step with contact
takes 3 to 19 % less time.

No kernel counts from the end: here an index of -1 is outside the array, and raises an IndexError
with NUMBA_BOUNDSCHECK=1. Slices of arrays and loops over arrays use Numba's code. User functions
get Numba's own arrays, except if a Numba function takes a Model or a Data.

This file uses Numba's interface for extensions: a subclass of its array type, which is the same in
0.62 to 0.68, and Numba's code for an unsigned index. If a Numba version does not allow this,
kernels use Numba's own type, whose indices can count from the end; then only
test_bounds_checked.py fails.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.extending import lower_builtin, lower_cast, models, register_model

_INT64 = ir.IntType(64)


class PlainArray(types.Array):
    """Numba type of arrays of a Model, of a Data and on the stack, and of their slices."""

    def copy(self, *args: Any, **changes: Any) -> types.Array:
        same = super().copy(*args, **changes)
        if same.dtype != self.dtype:  # a view of the same memory as numbers of another type
            return same
        return PlainArray(same.dtype, same.ndim, same.layout, readonly=not same.mutable)

    def above(self) -> types.Array:
        """Return Numba's own type for this array."""
        return types.Array(self.dtype, self.ndim, self.layout, readonly=not self.mutable)


def array_type(element: types.Type, dimensions: int, readonly: bool = False) -> types.Array:
    """Return the type of a C-contiguous array in a kernel."""
    made = PlainArray if _KNOWN else types.Array
    return made(element, dimensions, "C", readonly=readonly)


def _make_known() -> bool:
    """Register PlainArray; return whether this Numba supports it."""
    try:
        PlainArray(types.float64, 2, "C").copy(ndim=1).above()
        register_model(PlainArray)(models.ArrayModel)
    except (AttributeError, TypeError):
        return False
    lower_cast(PlainArray, types.Array)(_same)
    for index in (types.Integer, types.BaseTuple):
        lower_builtin(operator.getitem, PlainArray, index)(_lowered(operator.getitem))
    lower_builtin(operator.setitem, PlainArray, types.Any, types.Any)(_lowered(operator.setitem))
    return True


def _same(context: Any, builder: Any, old: Any, new: Any, value: Any) -> Any:
    return value


def _lowered(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the generator of an access: Numba's own code, but with an unsigned index."""

    def access(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array, index_type, *rest = sig.args
        index, at = _unsigned(context, builder, index_type, args[1])
        typed = signature(sig.return_type, array.above(), index, *rest)
        result = context.get_function(operation, typed)(builder, (args[0], at, *args[2:]))
        if _selects_number(index_type, array):
            last = builder.block.instructions[-1]
            if last is result or isinstance(last, ir.StoreInstr):
                mark(builder, last, array.dtype.name, not array.mutable)
        return result

    return access


def _selects_number(index: types.Type, array: types.Array) -> bool:
    parts = index.types if isinstance(index, types.BaseTuple) else (index,)
    return len(parts) == array.ndim and all(isinstance(part, types.Integer) for part in parts)


def mark(builder: Any, access: Any, kind: str, constant: bool) -> None:
    """Tell LLVM that an access overlaps no access of another kind, and constants never change.

    Memory that a kernel reads as two kinds, such as the rows of rollouts, must therefore be in
    arrays of Numba's own type, which are not marked.
    """
    module = builder.module
    root = module.add_metadata(["rbdyn_ros"])
    element = module.add_metadata([kind, root, _INT64(0)])
    access.set_metadata("tbaa", module.add_metadata([element, element, _INT64(0)]))
    if constant and isinstance(access, ir.LoadInstr):
        access.set_metadata("invariant.load", module.add_metadata([]))


def _unsigned(context: Any, builder: Any, kind: types.Type, value: Any) -> tuple[Any, Any]:
    """Return the type and value of an index, with its integers unsigned."""
    if isinstance(kind, types.Integer):
        return types.uintp, context.cast(builder, value, kind, types.uintp)
    if not isinstance(kind, types.BaseTuple):
        return kind, value
    parts = cgutils.unpack_tuple(builder, value, count=len(kind))
    made = [_unsigned(context, builder, *part) for part in zip(kind.types, parts, strict=True)]
    whole = types.Tuple([part for part, _ in made])
    return whole, context.make_tuple(builder, whole, [part for _, part in made])


_KNOWN = _make_known()
