# SPDX-License-Identifier: Apache-2.0
"""Describe this machine: its processor and cores; and wait for processes to end."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any


def processor() -> str:
    """Return the name of the processor; if it is unknown, the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, names), "") or platform.processor() or platform.machine()


def cores() -> int:
    """Return the number of cores that this process may use."""
    if not hasattr(os, "sched_getaffinity"):  # macOS lacks this function
        return os.cpu_count() or 1
    return len(os.sched_getaffinity(0))


def machine() -> str:
    """Return processor, number of cores and Python version as one line."""
    count = cores()
    plural = "" if count == 1 else "s"
    return f"{processor()}, {count} core{plural}, Python {platform.python_version()}"


def wait_or_kill(process: subprocess.Popen[Any], seconds: float) -> int:
    """Wait for the end of a process, kill the process after a time [s], and return its status."""
    try:
        return process.wait(max(seconds, 0.0))
    # the process hangs, or something such as a debugger has stopped it
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
