# SPDX-License-Identifier: Apache-2.0
"""Compile the loop in a second process, while this process compiles the engine."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.runtime.kernels import cycle
from rbdyn_ros.runtime.shared import SHARED

_LOOP: Any = cycle.run  # typed Any, because type checkers do not know Numba's attributes
_CHILD = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from rbdyn_ros.runtime.head_start import compile_loop; compile_loop()"
)


def is_compiled() -> bool:
    """Return whether the machine code of the loop is on disk."""
    return jit.DISABLED or jit.is_cached(_LOOP, _LOOP.stats.cache_path)


def compile_loop() -> None:
    """Compile the loop and store it on disk; end early if the process that holds stdin ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _LOOP.compile((SHARED,))


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


@contextlib.contextmanager
def head_start() -> Iterator[Callable[[], object]]:
    """Begin to compile the loop in a second process; yield a function that waits for that process.

    Nothing is done if the loop is on disk already or there is only one processor. If the second
    process fails, this process compiles the loop itself when it needs it. The end of the block
    ends the second process.
    """
    if is_compiled() or len(os.sched_getaffinity(0)) < 2:
        yield lambda: None
        return
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-I", "-c", _CHILD, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process.wait
    finally:
        process.kill()
        process.communicate()
