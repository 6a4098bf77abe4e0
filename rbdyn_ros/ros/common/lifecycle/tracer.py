# SPDX-License-Identifier: Apache-2.0
"""Fork a process that has imported ROS 2."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path


def fork() -> int:
    """Fork as os.fork does.

    rcl may load LTTng, which has threads, and functions that stop and start them about a fork.
    """
    tracer = Tracer()
    tracer.call("before_fork")
    child = os.fork()
    tracer.call("after_fork_child" if child == 0 else "after_fork_parent")
    return child


class Tracer:
    """LTTng, if this process has loaded it."""

    def __init__(self) -> None:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"/\S*/liblttng-ust(-[0-9a-f]+)?\.so\S*", maps)
        self._library = ctypes.CDLL(found[0]) if found else None
        self._signals = ctypes.create_string_buffer(128)  # a sigset_t

    def call(self, name: str) -> None:
        """Call before_fork, or after_fork_child or after_fork_parent."""
        for prefix in ("lttng_ust_", "ust_"):
            if hasattr(self._library, prefix + name):
                getattr(self._library, prefix + name)(self._signals)
                return
