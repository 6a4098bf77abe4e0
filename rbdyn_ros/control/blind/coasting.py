# SPDX-License-Identifier: Apache-2.0
"""Let an armed arm coast while its newest state is late.

The last effort of a law belongs to the moment of its state. While it acts on, it accelerates a
light arm far beyond its bounds before the missing states are a fault. So an arm whose newest state
is late coasts: the efforts carry it, balance the Coriolis forces of the velocity that it has by
the model, and damp this velocity gently. They drive no joint that is blocked meanwhile. If states
come in time the law goes on; if not, the arm is braked from where it coasted to.
"""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.nanoseconds import NANOSECONDS

#: Rate at which a coasting arm becomes slower [1/s]. With 10 the law has to catch up so much after
#: a gap of 60 ms that a light joint becomes 1.4 times as fast as without gaps.
DAMPING = 5.0


class Coasting:
    """Computes the efforts of a coasting arm.

    Args:
        arm: the robot.

    Attributes:
        active: whether the arm coasts.
    """

    def __init__(self, arm: Arm) -> None:
        n = arm.m.nv
        self._place, self._speed, self._qacc, self._effort = np.zeros((4, n))
        self._rest = np.zeros(n)
        self._begun, self._answered = 0, 0
        self.active = False
        self.use(arm)

    def use(self, arm: Arm) -> None:
        """Continue with another arm of the same joints."""
        self._arm = arm

    def begin(self, now: int, place: Array, speed: Array) -> None:
        """Start to coast.

        Args:
            now: steady clock [ns].
            place: (nv,) where the arm should be.
            speed: (nv,) its velocity there.
        """
        self.active = True
        self._begun = self._answered = now
        self._place[:], self._speed[:] = place, speed

    def end(self) -> None:
        """Stop coasting: a state came in time, or the arm is braked."""
        self.active = False

    def since(self, now: int) -> float:
        """Return the time since the last call [s]; now: steady clock [ns]."""
        passed, self._answered = (now - self._answered) / NANOSECONDS, now
        return max(passed, 0.0)

    def foreseen(self, now: int) -> tuple[Array, Array]:
        """Return where the arm should be by now, and its velocity, (nv,) each."""
        left = math.exp(-DAMPING * max(now - self._begun, 0) / NANOSECONDS)
        return self._place + (1.0 - left) / DAMPING * self._speed, left * self._speed

    def effort(self, now: int) -> Array:
        """Return the efforts (nv,) of the coasting arm; they overcome no friction."""
        place, speed = self.foreseen(now)
        np.multiply(speed, -DAMPING, out=self._qacc)
        self._arm.inverse_dynamics(place, speed, self._qacc, self._effort)
        return self._arm.command(self._effort, place, speed, self._rest)
