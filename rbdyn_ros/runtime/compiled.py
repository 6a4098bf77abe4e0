# SPDX-License-Identifier: Apache-2.0
"""Atomic words and system calls for the compiled loop.

System calls are external symbols. With pointers from ctypes, which hold addresses of one process,
Numba could not cache the loop.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.engine.compiler.addresses import call_address
from rbdyn_ros.nanoseconds import NANOSECONDS

Words = NDArray[np.int64]

CLOCK_MONOTONIC = 1
TIMER_ABSTIME = 1
POLLIN = 1
#: Number of the system call futex, and its operations; they also work between processes.
SYS_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine(), 98)
FUTEX_WAIT, FUTEX_WAKE, EVERYONE = 0, 1, 2**31 - 1
#: PTHREAD_MUTEX_RECURSIVE of Linux.
RECURSIVE = 1

# On 64-bit Linux a timespec is two int64. A pollfd is one int64: fd, events << 32, revents << 48.
_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))
_clock_nanosleep = types.ExternalFunction(
    "clock_nanosleep", types.int32(types.int32, types.int32, types.intp, types.intp)
)
_poll = types.ExternalFunction("poll", types.int32(types.intp, types.uint64, types.int32))
_write = types.ExternalFunction("write", types.int64(types.int32, types.intp, types.int64))
_read = types.ExternalFunction("read", types.int64(types.int32, types.intp, types.int64))
_syscall = types.ExternalFunction(
    "syscall", types.int64(types.int64, types.intp, types.int64, types.int64, types.intp)
)
_mutexattr_init = types.ExternalFunction("pthread_mutexattr_init", types.int32(types.intp))
_mutexattr_settype = types.ExternalFunction(
    "pthread_mutexattr_settype", types.int32(types.intp, types.int32)
)
_mutex_init = types.ExternalFunction("pthread_mutex_init", types.int32(types.intp, types.intp))
_mutex_lock = types.ExternalFunction("pthread_mutex_lock", types.int32(types.intp))
_mutex_unlock = types.ExternalFunction("pthread_mutex_unlock", types.int32(types.intp))
_memcpy = types.ExternalFunction("memcpy", types.intp(types.intp, types.intp, types.uint64))


CACHE_DIRECTORY = jit.cache_below("runtime", Path(__file__).parent.rglob("*.py"))

kernel = jit.kernels_in(CACHE_DIRECTORY)


def _word_pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    data = make_array(kind)(context, builder, array).data
    return cgutils.gep(builder, data, index)


@intrinsic  # type: ignore[untyped-decorator]
def load_acquire(typing_context: Any, words: Any, index: Any) -> Any:  # noqa: ARG001
    """Read a word; everything that its writer wrote before this word is then visible."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _word_pointer(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(words, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def store_release(typing_context: Any, words: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Write a word; a thread that reads it can read everything that was written before it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _word_pointer(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def fence(typing_context: Any) -> Any:  # noqa: ARG001
    """Keep all memory accesses before the fence ahead of all accesses after the fence."""

    def generate(context: Any, builder: ir.IRBuilder, _signature: Any, _args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


def _element(context: Any, builder: Any, address: Any, index: Any, kind: Any) -> Any:
    pointer = builder.inttoptr(address, context.get_data_type(kind).as_pointer())
    return builder.load(builder.gep(pointer, [index]))


@intrinsic  # type: ignore[untyped-decorator]
def number_at(typing_context: Any, address: Any, index: Any) -> Any:  # noqa: ARG001
    """Read an entry of an array of floats at an address."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return _element(context, builder, args[0], args[1], types.float64)

    return types.float64(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def set_number_at(typing_context: Any, address: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Write an entry of an array of floats at an address."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], context.get_data_type(types.float64).as_pointer())
        builder.store(args[2], builder.gep(pointer, [args[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def word_at(typing_context: Any, address: Any, index: Any) -> Any:  # noqa: ARG001
    """Read an entry of an array of integers at an address."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return _element(context, builder, args[0], args[1], types.int64)

    return types.int64(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def set_word_at(typing_context: Any, address: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Write an entry of an array of integers at an address, atomically."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], context.get_data_type(types.int64).as_pointer())
        builder.store_atomic(args[2], builder.gep(pointer, [args[1]]), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def load_word_at(typing_context: Any, address: Any) -> Any:  # noqa: ARG001
    """Read a word at an address, as `load_acquire` does."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], context.get_data_type(types.int64).as_pointer())
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def call_c(typing_context: Any, function: Any, first: Any, second: Any, third: Any) -> Any:  # noqa: ARG001
    """Call the C function `int f(void *, void *, void *)`; all four arguments are addresses."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, args: Any) -> Any:
        return call_address(builder, args[0], args[1:], ir.IntType(32))

    return types.int32(types.int64, types.int64, types.int64, types.int64), generate


@kernel
def wake_at(address: int) -> None:
    """Wake the processes that wait for a change of the word at an address."""
    _syscall(SYS_FUTEX, address, FUTEX_WAKE, EVERYONE, 0)


@kernel
def wait_at(address: int, value: int, timeout_ns: int, timespec: Words) -> None:
    """Sleep until `wake_at` or the timeout [ns]; return at once if the word is not `value`.

    Only the lower half of the word is compared, which comes first in memory on all processors that
    Numba supports. `timespec` is scratch memory.
    """
    timespec[0] = timeout_ns // NANOSECONDS
    timespec[1] = timeout_ns % NANOSECONDS
    _syscall(SYS_FUTEX, address, FUTEX_WAIT, value & 0xFFFFFFFF, timespec.ctypes.data)


@kernel
def copy_memory(target: int, source: int, count: int) -> None:
    """Copy `count` numbers of eight bytes to another address; the areas must not overlap."""
    _memcpy(target, source, 8 * count)


@kernel
def make_mutex(memory: Words) -> None:
    """Make a recursive mutex in (16,) words of memory."""
    attributes = memory[12:].ctypes.data
    _mutexattr_init(attributes)
    _mutexattr_settype(attributes, RECURSIVE)
    _mutex_init(memory.ctypes.data, attributes)


@kernel
def lock_mutex(address: int) -> None:
    """Wait for a mutex and lock it."""
    _mutex_lock(address)


@kernel
def unlock_mutex(address: int) -> None:
    """Unlock a mutex."""
    _mutex_unlock(address)


@kernel
def steady_clock(timespec: Words) -> int:
    """Return the time of CLOCK_MONOTONIC [ns], as time.monotonic_ns() does; timespec: scratch."""
    _clock_gettime(CLOCK_MONOTONIC, timespec.ctypes.data)
    now: int = timespec[0] * NANOSECONDS + timespec[1]
    return now


@kernel
def sleep_until(deadline: int, timespec: Words) -> None:
    """Sleep until a time of the steady clock [ns], even if signals arrive; timespec: scratch."""
    timespec[0] = deadline // NANOSECONDS
    timespec[1] = deadline % NANOSECONDS
    while _clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, timespec.ctypes.data, 0) != 0:
        pass


@kernel
def write_word(words: Words, index: int, value: int) -> None:
    """Write a word for another thread, which can then read everything written before it."""
    store_release(words, index, value)


@kernel
def notify(descriptor: int, word: Words) -> None:
    """Wake the thread that waits at an eventfd; `word` is scratch."""
    word[0] = 1
    _write(descriptor, word.ctypes.data, 8)


@kernel
def wait_notified(descriptor: int, timeout_ms: int, word: Words) -> bool:
    """Sleep until an eventfd is signalled; return False after the timeout. `word` is scratch."""
    word[0] = descriptor | (POLLIN << 32)
    if _poll(word.ctypes.data, 1, timeout_ms) <= 0:
        return False
    _read(descriptor, word.ctypes.data, 8)
    return True
