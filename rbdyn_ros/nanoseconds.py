# SPDX-License-Identifier: Apache-2.0
"""Convert times of ROS 2 messages to nanoseconds, and read a clock."""

import time as clocks
from typing import Any

#: Nanoseconds per second.
NANOSECONDS = 1_000_000_000


def nanoseconds(time: Any) -> int:
    """Return a Time or a Duration of builtin_interfaces as a number [ns]."""
    return int(time.sec) * NANOSECONDS + int(time.nanosec)


def steady_ns() -> int:
    """Return the time [ns] of a steady clock, which also runs while the machine sleeps."""
    return clocks.clock_gettime_ns(clocks.CLOCK_BOOTTIME)
