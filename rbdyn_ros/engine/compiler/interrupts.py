# SPDX-License-Identifier: Apache-2.0
"""Handle Ctrl-C, garbage collection and Python's stack while kernels are compiled or loaded.

LLVM calls Python while it compiles. A KeyboardInterrupt raised in such a call is lost, leaves a
library without code, or crashes the process. So the interrupt is deferred until the present kernel
is compiled.

rclpy handles Ctrl-C in C, so Python's signal module does not report its handler, which also wakes
functions that wait for messages. So the handler is saved and restored by the operating system's
functions.

Python's garbage collector waits too. It would search the compiler's many objects again and again,
which takes a fifth of the start-up time with an empty cache.

Python stores frames in chunks of 16 KiB. A call that does not fit into the present chunk maps a
new chunk, and the return unmaps it. At the end of a chunk the compiler would do so a hundred
thousand times. So the outermost kernel is compiled from a frame that needs 8 MiB, which leaves 8
MiB of its chunk for the frames above it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from rbdyn_ros.collector import uncollected

P = ParamSpec("P")
R = TypeVar("R")

Handler = Callable[[int, Any], object]

_LIBC = ctypes.CDLL(None)
#: Buffer size for a struct sigaction, which has 152 bytes in glibc [bytes].
SIZE = 256


class _Waiting:
    """Defers Ctrl-C in the main thread, the only thread that receives signals."""

    def __init__(self) -> None:
        self.depth = 0  # number of nested blocks in which the handler below is installed
        self.interrupted = False
        self.handler: Handler = self._remember
        self.action = ctypes.create_string_buffer(SIZE)

    def _remember(self, *_: object) -> None:
        self.interrupted = True

    def applies(self) -> bool:
        """Return whether this thread receives Ctrl-C as a KeyboardInterrupt."""
        if threading.current_thread() is not threading.main_thread():
            return False
        return self.depth > 0 or signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def enter(self) -> None:
        if self.depth == 0:
            self.interrupted = False
            _LIBC.sigaction(int(signal.SIGINT), None, self.action)
            signal.signal(signal.SIGINT, self.handler)
        self.depth += 1

    def leave(self) -> None:
        """End a block: restore the handler of Ctrl-C.

        Raise KeyboardInterrupt if Ctrl-C was pressed.
        """
        self.depth -= 1
        if self.depth == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _LIBC.sigaction(int(signal.SIGINT), self.action, None)
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt


_waiting = _Waiting()


def while_compiling(handler: Handler) -> None:
    """From now on, call `handler` if Ctrl-C is pressed while kernels are compiled."""
    _waiting.handler = handler


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Defer the KeyboardInterrupt of a Ctrl-C until the end of the block."""
    if not _waiting.applies():
        yield
        return
    _waiting.enter()
    try:
        yield
    finally:
        _waiting.leave()


def deferring(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function, wrapped so that Ctrl-C and the garbage collector wait until it ends."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with deferred(), uncollected():
            if getattr(_thread, "has_room", False):
                return function(*args, **kwargs)
            _thread.has_room = True
            try:
                return _with_room(function, *args, **kwargs)
            finally:
                _thread.has_room = False

    return run


_thread = threading.local()


def _with_room(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return function(*args, **kwargs)


# stack size in slots of 8 bytes: the memory is reserved but never used
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=(1 << 20) + 1024)
