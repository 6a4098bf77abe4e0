"""Times in nanoseconds, as in messages of ROS 2."""

from __future__ import annotations

from typing import Any

#: Nanoseconds per second.
NANOSECONDS = 1_000_000_000


def nanoseconds(time: Any) -> int:
    """Return a Time or a Duration of builtin_interfaces [ns]."""
    return int(time.sec) * NANOSECONDS + int(time.nanosec)
