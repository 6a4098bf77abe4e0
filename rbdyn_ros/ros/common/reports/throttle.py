# SPDX-License-Identifier: Apache-2.0
"""Limit how often the same line is logged."""

import math

#: Shortest interval between two reports that are logged [s].
INTERVAL = 1.0


class Throttle:
    """Lets one report per INTERVAL pass, and counts all reports."""

    def __init__(self) -> None:
        self.count = 0
        self._next = -math.inf

    def due(self, now: float) -> bool:
        """Count a report; return whether it passes. `now` is on the steady clock [s]."""
        self.count += 1
        if now < self._next:
            return False
        self._next = now + INTERVAL
        return True
