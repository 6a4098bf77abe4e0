# SPDX-License-Identifier: Apache-2.0
"""Contacts of the tool with its surroundings, as programs ask for them (tool_contact)."""

from __future__ import annotations

from collections import deque

import numpy as np

from rbdyn_ros.arrays import Array

#: Force at which a contact counts, and where it began [N]. The vendor's are not public.
CONTACT, BEGAN = 10.0, 3.0
#: Ticks of the past that count.
PAST = 500


class ToolPast:
    """The last joints of the arm and forces on its tool.

    Args:
        step: ticks of a step of the controller.
    """

    def __init__(self, step: int) -> None:
        self._step = step
        self._past: deque[tuple[Array, Array]] = deque(maxlen=PAST)

    def add(self, q: Array, force: Array) -> None:
        """Add a tick: joints (6,), and the force on the tool (3,)."""
        self._past.appendleft((q.copy(), force.copy()))

    def joints(self, steps: int) -> Array:
        """Return the joints (6,) of some steps ago, at most of the whole past."""
        return self._past[min(max(steps, 0) * self._step, len(self._past) - 1)][0]

    def contact(self, direction: Array) -> int:
        """Return how many steps ago a contact began; 0: there is none.

        Args:
            direction: (3,) in which the tool would move on; zero: any.
        """
        length = float(np.linalg.norm(direction))
        forces = [force for _, force in self._past]
        if not forces:
            return 0

        def against(force: Array) -> float:
            return float(-force @ direction / length if length > 0.0 else np.linalg.norm(force))

        if against(forces[0]) < CONTACT:
            return 0
        ticks = next((k for k, force in enumerate(forces) if against(force) < BEGAN), len(forces))
        return max(1, ticks // self._step)
