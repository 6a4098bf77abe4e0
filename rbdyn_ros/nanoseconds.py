# SPDX-License-Identifier: Apache-2.0
"""Times in nanoseconds, as in messages of ROS 2, and a clock."""

import time as clocks
from typing import Any

#: Nanoseconds per second.
NANOSECONDS = 1_000_000_000


def nanoseconds(time: Any) -> int:
    """Return a Time or a Duration of builtin_interfaces in nanoseconds."""
    return int(time.sec) * NANOSECONDS + int(time.nanosec)


def steady_ns() -> int:
    """Return the time of a steady clock that continues while the machine sleeps [ns]."""
    return clocks.clock_gettime_ns(clocks.CLOCK_BOOTTIME)
