"""Limit how often the same line is logged."""

from __future__ import annotations

import math


class Throttle:
    """Passes one report per interval and counts all of them.

    Args:
        interval: between two reports that pass [s].
    """

    def __init__(self, interval: float = 1.0) -> None:
        self.interval = interval
        self.count = 0
        self._next = -math.inf

    def due(self, now: float) -> bool:
        """Count a report; return whether it passes. `now` is on the steady clock [s]."""
        self.count += 1
        if now < self._next:
            return False
        self._next = now + self.interval
        return True
