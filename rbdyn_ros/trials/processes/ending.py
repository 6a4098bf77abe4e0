# SPDX-License-Identifier: Apache-2.0
"""Fork processes that end with their parent, and end daemons that would outlive a run."""

import contextlib
import ctypes
import os
import re
import signal
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)


def end_with(parent: int) -> None:
    """Make the kernel kill this process when its parent ends, even if the parent is killed."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent has already ended
        os._exit(1)


def signal_name(number: int) -> str:
    """Return the name of a signal, or "signal N" for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def adopt() -> None:
    """Become the parent of all orphaned descendants of this process."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> set[int]:
    """Return the children of this process."""
    found, own = set(), str(os.getpid())
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            text = (process / "stat").read_text(encoding="utf-8", errors="replace")
            if text.rpartition(")")[2].split()[1] == own:
                found.add(int(process.name))
    return found


def end_children(but: set[int]) -> None:
    """Kill the children of this process and their descendants, except the children in `but`."""
    while left := children() - but:
        for child in left:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def fork_with_ros() -> int:
    """Fork as os.fork does.

    rcl may load LTTng, whose threads must stop before a fork and start again after it.
    """
    tracer = Tracer()
    tracer.call("before_fork")
    child = os.fork()
    tracer.call("after_fork_child" if child == 0 else "after_fork_parent")
    return child


class Tracer:
    """Calls LTTng if this process has loaded it."""

    def __init__(self) -> None:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"/\S*/liblttng-ust(-[0-9a-f]+)?\.so\S*", maps)
        self._library = ctypes.CDLL(found[0]) if found else None
        self._signals = ctypes.create_string_buffer(128)  # memory for a sigset_t

    def call(self, name: str) -> None:
        """Call LTTng's function before_fork, after_fork_child or after_fork_parent."""
        for prefix in ("lttng_ust_", "ust_"):
            if hasattr(self._library, prefix + name):
                getattr(self._library, prefix + name)(self._signals)
                return
