# SPDX-License-Identifier: Apache-2.0
"""Processes that end with their parent, and daemons that would outlive a run."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)


def end_with(parent: int) -> None:
    """Let SIGKILL end this process when its parent process has ended, also by SIGKILL."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it has ended before
        os._exit(1)


def signal_name(number: int) -> str:
    """Return the name of a signal; those of real time have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def adopt() -> None:
    """Become the parent of all processes that descendants of this one leave behind."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> set[int]:
    """Return the children of this process."""
    found, own = set(), str(os.getpid())
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            text = (process / "stat").read_text(encoding="utf-8", errors="replace")
            if text.rpartition(")")[2].split()[1] == own:
                found.add(int(process.name))
    return found


def end_children(but: set[int]) -> None:
    """Kill the children of this process but some, and all their descendants; see `adopt`."""
    while left := children() - but:
        for child in left:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
