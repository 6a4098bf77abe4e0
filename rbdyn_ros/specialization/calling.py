# SPDX-License-Identifier: Apache-2.0
"""Call machine code at an address from Python, with little overhead."""

import functools
from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.engine.compiler.addresses import INT64, call_address
from rbdyn_ros.specialization.machine import CACHE_DIRECTORY


@intrinsic
def call_code(context, address, table, row, out, times):
    def generate(context, builder, signature, values):
        return call_address(builder, values[0], values[1:], INT64)

    return types.int64(*[types.int64] * 5), generate


def _enter(address, table, row, out, times):
    return call_code(address, table, row, out, times)


def _fill(address, table, row, out):
    return call_code(address, table, row, out.ctypes.data, 1)


@functools.cache
def entry() -> Callable[..., int]:
    """Return a function that calls machine code, given its address and four integers.

    A call takes a seventh of the time of a ctypes call, and releases the GIL.
    """
    return _point(_enter, (types.int64,) * 5)


@functools.cache
def filling_entry(dimensions: int) -> Callable[..., int]:
    """Return a function that calls machine code, which fills an array.

    The four arguments are the address of the code, of its table and of the row, and the array.
    """
    array = types.Array(types.float64, dimensions, "C")
    return _point(_fill, (types.int64, types.int64, types.int64, array))


def _point(function: Callable[..., int], signature: tuple[Any, ...]) -> Callable[..., int]:
    compiled: Any = jit.compile_cached(function, jit.OPTIONS, CACHE_DIRECTORY)
    compiled.compile(signature)
    point: Callable[..., int] = compiled.overloads[signature].entry_point
    return point
