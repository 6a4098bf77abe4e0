"""The shortest way from Python to machine code whose address is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rbdyn_ros.engine import jit

INT64 = ir.IntType(64)
CACHE_DIRECTORY = jit.cache_below("specialize", Path(__file__).parent.glob("*.py"))


@intrinsic
def _call(context, address, table, row, out, times):
    def generate(context, builder, signature, values):
        kind = ir.FunctionType(INT64, [INT64] * 4)
        function = builder.inttoptr(values[0], kind.as_pointer())
        return builder.call(function, values[1:])

    return types.int64(*[types.int64] * 5), generate


def _enter(address, table, row, out, times):
    return _call(address, table, row, out, times)


def entry() -> Callable[..., int]:
    """Return a function that calls what is at an address with four whole numbers.

    It takes a third of the time that ctypes takes, and releases the GIL.
    """
    compiled: Any = jit.compile_cached(_enter, jit.OPTIONS, CACHE_DIRECTORY)
    signature = (types.int64,) * 5
    compiled.compile(signature)
    point: Callable[..., int] = compiled.overloads[signature].entry_point
    return point
