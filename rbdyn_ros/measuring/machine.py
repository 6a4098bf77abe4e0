"""What machine this is, in words."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def processor() -> str:
    """Return the name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, names), "") or platform.processor() or platform.machine()


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def machine() -> str:
    """Return processor, cores and Python in a line."""
    count = cores()
    plural = "" if count == 1 else "s"
    return f"{processor()}, {count} core{plural}, Python {platform.python_version()}"
