# SPDX-License-Identifier: Apache-2.0
"""The velocity by which an arm is braked after a fault: the median of three.

    measured   the velocity of the newest state
    moved      the way of the positions over the last WINDOW, by its time
    due        the velocity REACH before, and what the efforts sent have changed since then

So one wrong source is outvoted: velocities of a wrong sign or scale, positions that drift, a clock
of another pace, a model without the payload. Of states that repeat, `measured` is the old
velocity and `moved` is 0, and the result lies between them. Of a joint that is really blocked both
are 0, and the model, in which it goes on, has no say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.base.kernels import entry
from rbdyn_ros.control.base.state_kernels import LONGEST
from rbdyn_ros.nanoseconds import NANOSECONDS

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector

#: Times over which positions and efforts are compared with velocities [s].
WINDOW, REACH = 0.015, 0.1
#: Shortest time between two remembered states [s], and their number: they must span REACH.
SPACING, REMEMBERED = 0.004, 32
#: Rows of a remembered state.
QPOS, QVEL, DUE, ROWS = range(4)


class VelocityVote:
    """Remembers states of the last 0.1 s, and returns the median of three velocities.

    Args:
        n: degrees of freedom (nv).
    """

    def __init__(self, n: int) -> None:
        self._ring = np.zeros((REMEMBERED, ROWS, n))
        self._times = np.zeros(REMEMBERED, np.int64)
        self._rows = list(self._ring)
        self._votes = np.zeros((3, n))
        self.forget()

    def forget(self) -> None:
        """Forget all states: until the next ones, the measured velocity counts alone."""
        self._count, self._newest = 0, 0

    def add(self, time: int, qpos: Array, qvel: Array, due: Array) -> None:
        """Remember a state, unless it is close to the one before; a pause begins anew.

        Args:
            time: of measurement [ns].
            qpos: (nv,) position; this and the next two are own arrays.
            qvel: (nv,) velocity.
            due: (nv,) velocity that the efforts sent should have given so far, see Witness.
        """
        if not 0 <= time - self._newest <= LONGEST * NANOSECONDS:
            self.forget()
        self._newest = time
        last = self._times[(self._count - 1) % REMEMBERED]
        if self._count > 0 and time - last < SPACING * NANOSECONDS:
            return
        k = self._count % REMEMBERED
        _remember.call(qpos, qvel, due, self._rows[k], k, time, self._times)
        self._count += 1

    def velocity(self, time: int, qpos: Array, qvel: Array, due: Array, current: bool) -> Array:
        """Return the median (nv,) for a state, which need not be remembered; arguments as add.

        Unless the state may be `current`, it is an old one, and the model decides alone.
        """
        votes = self._votes
        votes[:] = qvel
        near, far = self._before(time, WINDOW), self._before(time, REACH)
        passed = 0.0 if near is None else (time - int(self._times[near])) / NANOSECONDS
        if near is not None and passed > 0.0:
            votes[0] = (qpos - self._ring[near, QPOS]) / passed
        if far is not None:
            votes[1] = self._ring[far, QVEL] + due - self._ring[far, DUE]
        found: Array = np.median(votes, axis=0) if current else votes[1].copy()
        return found

    def _before(self, time: int, age: float) -> int | None:
        """Return the place of the last state that is older by an age [s], or of the oldest."""
        oldest = max(0, self._count - REMEMBERED)
        for number in range(self._count - 1, oldest - 1, -1):
            if number == oldest or self._times[number % REMEMBERED] <= time - age * NANOSECONDS:
                return number % REMEMBERED
        return None


@entry
def _remember(
    qpos: Vector, qvel: Vector, due: Vector, row: Matrix, k: int, time: int, times: Ints
) -> None:
    for i in range(len(qpos)):
        row[QPOS, i], row[QVEL, i], row[DUE, i] = qpos[i], qvel[i], due[i]
    times[k] = time
