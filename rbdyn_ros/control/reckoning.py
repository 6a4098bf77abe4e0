"""Dead reckoning: where the arm is while its states are not believed.

A prediction by forward dynamics of the efforts sent, corrected by the numbers that still tell the
truth. Of a joint whose positions and velocities disagree, those lie that changed without efforts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.faults import Fault
from rbdyn_ros.control.history import DUE, EFFORT, PUSH, QPOS, QVEL, History
from rbdyn_ros.control.inspection import MIXED_UP
from rbdyn_ros.control.kernels import entry
from rbdyn_ros.control.state_kernels import LONGEST
from rbdyn_ros.control.witness import accelerate
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.nanoseconds import NANOSECONDS

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Matrix, Vector

#: A lie begins before it is suspicious: the prediction starts at the least suspicious state of
#: this time [s], or, of a freeze, where the numbers began to repeat.
LURKING = 0.3
#: It starts still a little earlier, and velocities are averaged over this time [s].
BACK = 0.015
#: A lie about velocities changes the push at once, so it is taken from still earlier [s].
PUSHED = 0.1
#: Only a push that lasted this long will go on: a payload does, a hand may let go [s].
LASTED = 0.15
#: Longest step of the prediction, and the longest time over which it is made [s].
STEP, LONGEST_RECKONING = 2e-3, 0.5
#: A state agrees with the prediction if it differs by less [rad or m], and [rad/s or m/s].
NEAR, ALIKE = 0.03, 0.3
#: Positions and velocities of a joint tell the same if they differ by less [rad/s or m/s].
SAME = 0.05
#: Rate at which the estimated velocity follows true positions [1/s].
FOLLOWING = 80.0
#: The same for late positions, as a part of the rate of their lag: from 1 on the filter diverges.
FOLLOWING_LATE = 0.3
#: The clock lies if velocities by the steady clock miss the measured ones by less than this part.
BY_STEADY_CLOCK = 0.5


class Reckoning:
    """Estimates the state of an arm from its history and from the numbers that are still true.

    Args:
        arm: the robot.

    Attributes:
        history: states before those that are not believed.
        frozen: (nv,) joints whose numbers may be frozen; they correct nothing.
        qpos, qvel: (nv,) estimated state.
        push: (nv,) unexplained acceleration that lasted before; it is taken as constant.
    """

    def __init__(self, arm: Arm) -> None:
        n = arm.m.nv
        self.history = History(n)
        self._estimate = np.zeros((3, n))
        self.qpos, self.qvel, self.push = self._estimate
        self._told = np.zeros((2, n))  # position and velocity that corrected it last
        self._true = np.zeros((2, n))  # whether positions and velocities are true
        self.frozen = np.zeros(n, bool)
        self._timely = False  # the clock lies, so states count as measured when they arrive
        self._unknown = np.full(n, np.nan)
        self._time = self._corrected = self._acting = 0
        self.use(arm)

    def use(self, arm: Arm) -> None:
        """Continue with another arm of the same joints."""
        self._arm, self._d = arm, make_data(arm.m)

    def begin(self, now: int, effort: Array, lying: bool) -> None:
        """Estimate the present state from the history.

        Args:
            now: steady clock [ns].
            effort: (nv,) commands sent last.
            lying: whether the newest state of the history lies.
        """
        known = self.history
        now += known.shift
        first = self._onset()
        self._expect_push(known.before(first, PUSHED))
        self._timely = False
        if lying:
            self._judge(first)
            if self.frozen.sum() > 1:  # a driver that freezes joints freezes all of them
                self._true[:] = 0.0
            self._true[:, self.frozen] = 0.0
        else:
            first, self._true[:] = known.last, 0.0
        measured = known.arrival if self._timely else known.time
        self.qpos[:], self.qvel[:] = known.row(first, QPOS), known.row(first, QVEL)
        self._time = max(measured(first), now - int(LONGEST_RECKONING * NANOSECONDS))
        self._corrected = self._time
        self._told[:] = self.qpos, self.qvel
        self._acting = known.arrived_before(first, self._time)
        for k in range(first + 1, known.last + 1):
            self._replay(measured(k), effort)
            self.correct(known.row(k, QPOS), known.row(k, QVEL))
        self._replay(now, effort)

    def _onset(self) -> int:
        """Return the number of a state before the lie."""
        known = self.history
        last = first = known.last
        if known.trusted < last:
            first = known.least_suspicious(known.before(last, LURKING), last)
        if known.thawed < last:
            first = min(first, known.repeated_since(known.thawed))
        return known.before(first, BACK)

    def _expect_push(self, last: int) -> None:
        """Set the push to the part that lasted up to a remembered state: its smallest value."""
        pushes = self.history.rows(self.history.before(last, LASTED), last, PUSH)
        self.push[:] = np.maximum(pushes.min(axis=0), 0.0) + np.minimum(pushes.max(axis=0), 0.0)

    def _judge(self, first: int) -> None:
        """Judge which numbers are true: the efforts explain how they changed since a state."""
        known = self.history
        moved, told, due = self._velocities(known.last, known.time)
        moved0, told0, due0 = self._velocities(first, known.time)
        doubtful = np.abs(moved - told) > SAME
        steady = np.abs(self._velocities(known.last, known.arrival)[0] - told)[doubtful].sum()
        self._timely = steady < BY_STEADY_CLOCK * np.abs(moved - told)[doubtful].sum()
        if self._timely or not doubtful.any():
            self._true[:] = 1.0
            return
        # each doubtful joint votes, a joint whose model is wrong with less weight
        odd = np.abs(moved - moved0 - due + due0)[doubtful]
        strange = np.abs(told - told0 - due + due0)[doubtful]
        votes = ((strange - odd) / (strange + odd)).sum()
        if np.isnan(votes):  # the history has estimated states: the last verdict stays
            return
        self._true[0] = self._changed(QPOS) and (votes >= 0.0 or not self._changed(QVEL))
        self._true[1] = self._changed(QVEL) and not self._true[0].any()

    def _changed(self, kind: int) -> bool:
        """Whether numbers of the newest states differ; true ones of a moving arm do."""
        known = self.history
        last = known.last
        return bool(
            (known.rows(known.before(last, BACK), last, kind) != known.row(last, kind)).any()
        )

    def _velocities(self, last: int, clock: Callable[[int], int]) -> tuple[Array, Array, Array]:
        """Return mean velocities up to a state, by positions and a clock, as measured, and due."""
        known = self.history
        first = max(min(known.before(last, BACK), last - 1), 0)
        told, due = (known.rows(first, last, k).mean(axis=0) for k in (QVEL, DUE))
        time = (clock(last) - clock(first)) / NANOSECONDS
        way = known.row(last, QPOS) - known.row(first, QPOS)
        return (way / time if time > 0.0 else told), told, due

    def _replay(self, until: int, effort: Array) -> None:
        """Predict up to a time of the history [ns]; `effort` are the commands sent last."""
        known = self.history
        while self._acting < known.last and known.arrival(self._acting + 1) <= until:
            self._advance(known.arrival(self._acting + 1), known.row(self._acting, EFFORT))
            self._acting += 1
        self._advance(
            until, effort if self._acting == known.last else known.row(self._acting, EFFORT)
        )

    def correct(self, qpos: Array, qvel: Array, late: float = 0.0) -> None:
        """Correct the estimate by the true numbers of a state; repeated ones say nothing.

        Velocity and push follow true positions, or the push follows true velocities, by filters
        of critical damping. Source: Brookner, Tracking and Kalman Filtering Made Easy, 1998,
        1.3 and 1.2.10 (g-h and g-h-k filters).

        Args:
            qpos: (nv,) measured position.
            qvel: (nv,) measured velocity.
            late: time since the measurement [s].
        """
        time = min((self._time - self._corrected) / NANOSECONDS, LONGEST)
        if time > 0.0:
            self._corrected = self._time
            late = 0.0 if self._timely else late
            _correct.call(qpos, qvel, late, time, self._told, self._estimate, self._true)

    def difference(self, qpos: Array, qvel: Array, dofs: Ints, names: Sequence[str]) -> Fault:
        """Return the fault of a state of joints (n,) that is not near the estimated one."""
        off, slip = np.abs(qpos - self.qpos)[dofs], np.abs(qvel - self.qvel)[dofs]
        k = int(np.maximum(off / NEAR, slip / ALIKE).argmax())
        dof = dofs[k]
        text = (
            f"after a wrong state, joint '{names[k]}' is at {qpos[dof]:.4g} with velocity "
            f"{qvel[dof]:.4g}, but was estimated at {self.qpos[dof]:.4g} with velocity "
            f"{self.qvel[dof]:.4g}; allowed differences are {NEAR:g} and {ALIKE:g}"
        )
        return Fault("velocity", text, True, MIXED_UP)

    def agrees(self, qpos: Array, qvel: Array, dofs: Ints) -> bool:
        """Whether a state of joints is near the estimated one."""
        off, slip = np.abs(qpos - self.qpos)[dofs], np.abs(qvel - self.qvel)[dofs]
        return bool(off.max() < NEAR and slip.max() < ALIKE)

    def advance(self, now: int, effort: Array) -> None:
        """Predict the state at a later time of the steady clock [ns], under commands (nv,)."""
        self._advance(now + self.history.shift, effort)

    def remember(self) -> None:
        """Remember the estimate as a state; nothing is known about the velocity that is due."""
        now, unknown = self._time, self._unknown
        self.history.add(
            now, now, self.qpos, self.qvel, self.push, unknown, 0.0, 0.0, measured=False
        )

    def _advance(self, until: int, effort: Array) -> None:
        time = (until - self._time) / NANOSECONDS
        if time <= 0.0:
            return
        self._time = until
        count = math.ceil(time / STEP)
        h = time / count
        for _ in range(count):
            self.qvel += h * (
                accelerate(self._arm, self._d, self.qpos, self.qvel, effort) + self.push
            )
            self.qpos += h * self.qvel


@entry
def _correct(
    qpos: Vector,
    qvel: Vector,
    late: float,
    time: float,
    told: Matrix,
    estimate: Matrix,
    true: Matrix,
) -> None:
    """Correct the estimate (3, nv): position, velocity and push.

    `told` (2, nv) are the numbers that corrected it `time` ago. `true` (2, nv) says whether
    positions and velocities are true; numbers that are far off are not, from then on.
    """
    n = len(qpos)
    for k in range(n):
        if qpos[k] != told[0, k] and abs(qpos[k] + late * estimate[1, k] - estimate[0, k]) > NEAR:
            true[0] = 0.0
        if qvel[k] != told[1, k] and abs(qvel[k] - estimate[1, k]) > ALIKE:
            true[1] = 0.0
    rate = FOLLOWING if late * FOLLOWING < FOLLOWING_LATE else FOLLOWING_LATE / late
    kept = np.exp(-rate * time)
    lost = 1.0 - kept
    for k in range(n):
        place = true[0, k] > 0.0 and qpos[k] != told[0, k]
        speed = true[1, k] > 0.0 and qvel[k] != told[1, k]
        told[0, k], told[1, k] = qpos[k], qvel[k]
        off = qpos[k] + late * estimate[1, k] - estimate[0, k] if place else 0.0
        if speed:
            slip = qvel[k] - estimate[1, k]
            estimate[0, k] += off
            estimate[1, k] = qvel[k]
            estimate[2, k] += lost**2 / time * slip
        else:
            estimate[0, k] += (1.0 - kept**3) * off
            estimate[1, k] += 1.5 * lost**2 * (1.0 + kept) / time * off
            estimate[2, k] += lost**3 / time**2 * off
