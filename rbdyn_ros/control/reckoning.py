"""Dead reckoning: where the arm is while its states are unknown, from the efforts sent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.kernels import copy, entry
from rbdyn_ros.control.witness import accelerate
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.nanoseconds import NANOSECONDS

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Matrix, Vector

#: Remembered states: at 1 kHz half a second.
REMEMBERED = 512
#: The prediction does not start from a state with a larger suspicion; a suspicion of 1 is a fault.
TRUSTED = 0.25
#: A lie begins a little before it is suspicious, so the start is this much older [s].
BACK = 0.015
#: A lie about velocities changes the push at once, so it is taken from still earlier [s].
PUSHED = 0.1
#: Only a push that lasted this long will go on: a payload does, a hand may let go [s]. With a
#: longer time the push that belongs to a drifting position is forgotten too.
LASTED = 0.15
#: A disagreement of positions and velocities that stays allowed for longer is smaller than the
#: error of a prediction without feedback, so the start is at most this much older [s].
HORIZON = 0.1
#: Longest step of the prediction, and the longest time over which it is made [s].
STEP, LONGEST_RECKONING = 2e-3, 0.5
#: A state agrees with the prediction if it differs by less [rad or m], and [rad/s or m/s].
NEAR, ALIKE = 0.03, 0.3
#: Rows of a remembered state: position, velocity, push, and the commands since then.
QPOS, QVEL, PUSH, EFFORT = range(4)


class Reckoning:
    """Remembers states with the efforts sent, and predicts the arm from the last trusted state.

    Args:
        arm: the robot.

    Attributes:
        qpos, qvel: (nv,) predicted state.
        push: (nv,) unexplained acceleration that lasted before; it is taken as constant.
    """

    def __init__(self, arm: Arm) -> None:
        n = arm.m.nv
        self._ring = np.zeros((REMEMBERED, 4, n))
        self._times, self._arrivals = np.zeros((2, REMEMBERED), np.int64)
        #: States so far, and the numbers of the last trusted and of the last moving one.
        self._count = self._trusted = self._thawed = 0
        self._rows, self._efforts = list(self._ring), list(self._ring[:, EFFORT])
        self.qpos, self.qvel, self.push = np.zeros((3, n))
        self._time = 0
        self.use(arm)

    def use(self, arm: Arm) -> None:
        """Continue with another arm of the same joints."""
        self._arm, self._d = arm, make_data(arm.m)

    def forget(self) -> None:
        """Forget all states."""
        self._count = self._trusted = self._thawed = 0

    def add(
        self,
        time: int,
        arrival: int,
        qpos: Array,
        qvel: Array,
        push: Array,
        suspicion: float,
        frost: float = 0.0,
    ) -> None:
        """Remember a state.

        Args:
            time: of its measurement on the steady clock [ns].
            arrival: time of its arrival, from which on its answer acts [ns].
            qpos: (nv,) position; this and the next two are own arrays.
            qvel: (nv,) velocity.
            push: (nv,) acceleration that the model does not explain, see Witness.
            suspicion: that positions and velocities disagree, from 0 to 1, a fault.
            frost: suspicion that a joint has frozen.
        """
        k = self._count % REMEMBERED
        _remember.call(
            qpos, qvel, push, self._rows[k], k, time, arrival, self._times, self._arrivals
        )
        self._count += 1
        if suspicion < TRUSTED or self._count - self._trusted > REMEMBERED:
            self._trusted = self._count
        if frost < TRUSTED or self._count - self._thawed > REMEMBERED:
            self._thawed = self._count

    def sent(self, effort: Array) -> None:
        """Remember the commands (nv,), an own array, that answered the newest state."""
        copy.call(effort, self._efforts[(self._count - 1) % REMEMBERED])

    def begin(self, now: int, effort: Array) -> None:
        """Predict the present state from the last trusted one.

        Args:
            now: steady clock [ns].
            effort: (nv,) commands sent last.
        """
        last = self._count - 1
        first = self._before(max(self._trusted, 1) - 1, BACK)
        first = max(first, self._before(last, HORIZON))
        first = min(first, self._before(max(self._thawed, 1) - 1, BACK))
        start = first % REMEMBERED
        self.qpos[:], self.qvel[:] = self._ring[start, :PUSH]
        self._expect_push(self._before(first, PUSHED))
        self._time = int(self._times[start])
        self._time = max(self._time, now - int(LONGEST_RECKONING * NANOSECONDS))
        acting = self._until(self._time, first, self._arrivals)
        for k in range(acting, last):
            answered = int(self._arrivals[(k + 1) % REMEMBERED])
            self.advance(answered, self._ring[k % REMEMBERED, EFFORT])
        self.advance(now, effort)

    def _expect_push(self, last: int) -> None:
        """Set the push to the part that lasted up to a remembered state: its smallest value."""
        rows = np.arange(self._before(last, LASTED), last + 1) % REMEMBERED
        pushes = self._ring[rows, PUSH]
        self.push[:] = np.maximum(pushes.min(axis=0), 0.0) + np.minimum(pushes.max(axis=0), 0.0)

    def _before(self, number: int, age: float) -> int:
        """Return the number of a remembered state that is older by an age [s], or the oldest."""
        latest = int(self._times[number % REMEMBERED]) - int(age * NANOSECONDS)
        return self._until(latest, number, self._times)

    def _until(self, latest: int, number: int, times: Ints) -> int:
        """Return the last remembered state, up to a number, with a time up to `latest` [ns]."""
        oldest = max(0, self._count - REMEMBERED)
        while number > oldest and times[number % REMEMBERED] > latest:
            number -= 1
        return number

    def agrees(self, qpos: Array, qvel: Array, dofs: Ints) -> bool:
        """Whether a state of joints is near the predicted one."""
        off, slip = np.abs(qpos - self.qpos)[dofs], np.abs(qvel - self.qvel)[dofs]
        return bool(off.max() < NEAR and slip.max() < ALIKE)

    def advance(self, now: int, effort: Array) -> None:
        """Predict the state at a later time [ns], under commands (nv,)."""
        time = (now - self._time) / NANOSECONDS
        if time <= 0.0:
            return
        self._time = now
        count = math.ceil(time / STEP)
        h = time / count
        for _ in range(count):
            self.qvel += h * (
                accelerate(self._arm, self._d, self.qpos, self.qvel, effort) + self.push
            )
            self.qpos += h * self.qvel


@entry
def _remember(
    qpos: Vector,
    qvel: Vector,
    push: Vector,
    row: Matrix,
    i: int,
    time: int,
    arrival: int,
    times: Ints,
    arrivals: Ints,
) -> None:
    for k in range(len(qpos)):
        row[QPOS, k], row[QVEL, k], row[PUSH, k] = qpos[k], qvel[k], push[k]
    times[i], arrivals[i] = time, arrival
