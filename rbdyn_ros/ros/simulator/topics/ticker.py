# SPDX-License-Identifier: Apache-2.0
"""Periodic events in ticks of a loop."""

from rbdyn_ros.runtime.state import LoopState


class Ticker:
    """Checks whether a periodic event is due.

    Args:
        every: period [ticks].
    """

    def __init__(self, every: int) -> None:
        self.every = every
        self._last = (-1, -1)

    def due(self, state: LoopState) -> bool:
        """Return whether the event is due at a state; that is so once in each period.

        Call it at least once in each period.
        """
        turn = (state.epoch, state.tick // self.every)
        if turn == self._last:
            return False
        self._last = turn
        return True
