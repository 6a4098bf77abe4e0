"""History of an armed arm: its last states, with the efforts that answered them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.kernels import copy, entry
from rbdyn_ros.nanoseconds import NANOSECONDS

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Matrix, Vector

#: Remembered states: at 1 kHz half a second.
REMEMBERED = 512
#: A state with a smaller suspicion is trusted; a suspicion of 1 is a fault.
TRUSTED = 0.25
#: A joint with a smaller suspicion is trusted not to have frozen.
THAWED = 0.05
#: Suspicions that differ by less are equal: the motion of an honest arm causes as much.
EQUAL = 0.02
#: After a longer pause the clock has jumped [ns].
LONGEST_PAUSE = NANOSECONDS
#: Rows of a remembered state: position, velocity, push, velocity due, and the commands since then.
QPOS, QVEL, PUSH, DUE, EFFORT, ROWS = range(6)


class History:
    """The last states of an arm; they are numbered from 0 on.

    Args:
        n: degrees of freedom (nv).

    Times are those of the clock of the states, whatever its pace.

    Attributes:
        shift: difference of this clock from the steady clock, at the newest state [ns].
        last: number of the newest state, or -1.
        trusted: number of the last state whose positions and velocities agree well, or 0.
        thawed: number of the last state whose joints are hardly suspected to have frozen, or 0.
    """

    def __init__(self, n: int) -> None:
        self._ring = np.zeros((REMEMBERED, ROWS, n))
        self._times, self._arrivals = np.zeros((2, REMEMBERED), np.int64)
        self._suspicions = np.zeros(REMEMBERED)
        self._rows, self._efforts = list(self._ring), list(self._ring[:, EFFORT])
        self.shift = 0
        self.forget()

    def forget(self) -> None:
        """Forget all states."""
        self.last, self.trusted, self.thawed = -1, 0, 0
        self._newest = 0  # time of the newest measured state [ns]

    def add(
        self,
        time: int,
        arrival: int,
        qpos: Array,
        qvel: Array,
        push: Array,
        due: Array,
        suspicion: float,
        frost: float,
        measured: bool = True,
    ) -> None:
        """Remember a state; after a jump of the clock it is the first one.

        A measured state may be older than the estimates before it, which were up to date.

        Args:
            time: of its measurement [ns].
            arrival: time of its arrival, from which on its answer acts [ns].
            qpos: (nv,) position; this and the next three are own arrays.
            qvel: (nv,) velocity.
            push: (nv,) acceleration that the model does not explain, see Witness.
            due: (nv,) velocity that the efforts sent should have given so far, see Witness.
            suspicion: that positions and velocities disagree, from 0 to 1, a fault.
            frost: suspicion that a joint has frozen.
            measured: whether it is no estimate.
        """
        if measured:
            if self.last >= 0 and not 0 <= time - self._newest <= LONGEST_PAUSE:
                self.forget()
            self._newest = time
        self.last = number = self.last + 1
        k = number % REMEMBERED
        _remember.call(
            qpos, qvel, push, due, self._rows[k], k, time, arrival, self._times, self._arrivals
        )
        self._suspicions[k] = suspicion
        if suspicion < TRUSTED or number - self.trusted >= REMEMBERED:
            self.trusted = number
        if frost < THAWED or number - self.thawed >= REMEMBERED:
            self.thawed = number

    def sent(self, effort: Array) -> None:
        """Remember the commands (nv,), an own array, that answered the newest state."""
        copy.call(effort, self._efforts[self.last % REMEMBERED])

    def row(self, number: int, kind: int) -> Array:
        """Return a row (nv,) of a remembered state."""
        row: Array = self._ring[number % REMEMBERED, kind]
        return row

    def rows(self, first: int, last: int, kind: int) -> Array:
        """Return one row of the states from `first` to `last` (states, nv)."""
        rows: Array = self._ring[np.arange(first, last + 1) % REMEMBERED, kind]
        return rows

    def time(self, number: int) -> int:
        """Return the time of measurement of a state [ns]."""
        return int(self._times[number % REMEMBERED])

    def arrival(self, number: int) -> int:
        """Return the time of arrival of a state [ns]."""
        return int(self._arrivals[number % REMEMBERED])

    def before(self, number: int, age: float) -> int:
        """Return the number of a state that is older by an age [s], or the oldest one."""
        return self._until(self.time(number) - int(age * NANOSECONDS), number, self._times)

    def arrived_before(self, number: int, time: int) -> int:
        """Return the number of the last state up to `number` that arrived before a time [ns]."""
        return self._until(time, number, self._arrivals)

    def least_suspicious(self, first: int, last: int) -> int:
        """Return the number of the least suspicious state; of equal ones, the newest."""
        suspicions = self._suspicions[np.arange(last, first - 1, -1) % REMEMBERED]
        return last - int((suspicions < suspicions.min() + EQUAL).argmax())

    def repeated_since(self, number: int) -> int:
        """Return when a joint froze whose numbers repeat since a state, or an earlier one.

        Of several joints it is the latest state from which on the numbers of one repeat until now:
        those of a joint at rest may have repeated for longer.
        """
        oldest = max(0, self.last + 1 - REMEMBERED)
        same = [self.rows(oldest, self.last, k) == self.row(self.last, k) for k in (QPOS, QVEL)]
        other = ~np.logical_and(*same)
        since = oldest + len(other) - other[::-1].argmax(axis=0)
        since[~other.any(axis=0)] = oldest
        runs = since[since <= number]
        return int(runs.max()) if len(runs) else number

    def _until(self, latest: int, number: int, times: Ints) -> int:
        """Return the last state, up to a number, with a time up to `latest` [ns]."""
        oldest = max(0, self.last + 1 - REMEMBERED)
        while number > oldest and times[number % REMEMBERED] > latest:
            number -= 1
        return number


@entry
def _remember(
    qpos: Vector,
    qvel: Vector,
    push: Vector,
    due: Vector,
    row: Matrix,
    i: int,
    time: int,
    arrival: int,
    times: Ints,
    arrivals: Ints,
) -> None:
    for k in range(len(qpos)):
        row[QPOS, k], row[QVEL, k] = qpos[k], qvel[k]
        row[PUSH, k], row[DUE, k] = push[k], due[k]
    times[i], arrivals[i] = time, arrival
