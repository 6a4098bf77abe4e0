# SPDX-License-Identifier: Apache-2.0
"""Estimate a payload and a scale of the friction while an arm runs.

The method is the same as in payload.py: the same filter, regressor, prior and noise. Blocks of
states are folded into triangular factors, so old samples need no memory ("recursive least
squares").

A joint at rest differs: its dry friction can hold any part of the load. So all samples of a rest
form one equation, whose standard deviation is the dry friction.
"""

from collections import deque
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.ndimage import minimum_filter1d

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.description.checks.inertials import as_six
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.terms import gravity_term
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.identification.data.blocks import CUTOFF
from rbdyn_ros.identification.data.motion import Motion, check_identifiable, kept_samples, of_dofs
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.identification.data.signals import MOST_OF_NYQUIST, regular_period, to_motion
from rbdyn_ros.identification.equations.inertia import bodies_of
from rbdyn_ros.identification.equations.iterations import ITERATIONS, SETTLED
from rbdyn_ros.identification.equations.payload import EXPECTED, at_link
from rbdyn_ros.identification.equations.reduced import Equations
from rbdyn_ros.identification.equations.regressor import torque_regressor
from rbdyn_ros.identification.equations.residuals import friction_effort, memory, validate
from rbdyn_ros.identification.equations.solve import Prior, solve
from rbdyn_ros.identification.equations.unknowns import MOVING, NO_EFFORT, largest_efforts
from rbdyn_ros.model.model import Model

#: Weight of the prior, as in identify_payload.
STRENGTH = 0.01
#: Unknowns: ten parameters of the payload, the scale of the friction, and the delay of efforts.
BODY, KNOWN, UNKNOWNS = 10, 11, 12
#: Standard deviation of the delay [s].
LATE = 0.005
#: Number of rows of a block from which the correlation of the noise is estimated.
REMEMBERED = 3000
#: Speeds and accelerations of a joint count if their RMS in a block is this many times the noise.
SURE = 3.0
#: Least standard deviation of an effort relative to the largest effort.
EXACT = 1e-3
#: Least number of rows whose residuals show the noise of a joint; fewer rows are overfitted.
ENOUGH = 100
#: An effort above this multiple of the limit is spurious: a saturated drive stays near the limit.
SPURIOUS = 2.0
#: Motion during an interruption below which a joint still rests [rad or m].
SAME = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class OnlineEstimate:
    """A payload and a scale of the friction.

    Attributes:
        mass: mass of the payload [kg].
        com: (3,) centre of mass in the frame of the link [m].
        inertia: (6,) Ixx Iyy Izz Ixy Ixz Iyz about com, in the axes of the link [kg m^2].
        friction_scale: the friction of all joints, relative to the declared friction.
        values: (11,) m, m c, Ixx Ixy Iyy Ixz Iyz Izz about the origin of the link, and the scale.
        covariance: (11, 11) of the values; large where the motion does not determine them.
        excess: (n,) mean effort of joints at rest that the estimate does not explain, relative to
            their noise and dry friction; 0 for joints that move. Above SURE, something other than
            the drives holds the joint, such as a brake.
    """

    mass: float
    com: Array
    inertia: Array
    friction_scale: float
    values: Array
    covariance: Array
    excess: Array

    @property
    def std(self) -> Array:
        """Standard deviations (11,) of the values."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def com_std(self) -> Array:
        """Standard deviations (3,) of com [m]: com = m c / m, linearised."""
        J = np.column_stack([-self.com, np.eye(3)]) / self.mass
        return np.asarray(np.sqrt(np.diag(J @ self.covariance[:4, :4] @ J.T)))


class OnlinePayload:
    """Estimates a rigid body that is fixed to a link, and a scale of the friction.

    Args:
        m: the arm without this body; gravity is in the axes of the base.
        dofs: (n,) degrees of freedom whose efforts are measured.
        link: number of the frame that carries the body.
        friction: declared friction of all dofs (nv,).
        adds: the robot without payloads, whose gravity its own controller adds to the measured
            efforts; None: they include gravity.

    Raises:
        ModelError: the robot is not an arm, or has springs.
        ParameterError: none of the dofs moves the link.
    """

    def __init__(
        self, m: Model, dofs: Ints, link: int, friction: Friction, adds: Model | None = None
    ) -> None:
        check_identifiable(m)
        self._m, self._dofs, self._friction, self._adds = m, dofs, friction, adds
        self._turn = at_link(m, link, dofs)
        self._limits = m.jnt_effort[m.dof_jntid[dofs]]
        self._dry = (friction.coulomb + friction.stribeck)[dofs]
        self._slow = MOVING * friction.smoothing[dofs]
        self._prior = Prior(EXPECTED[None], np.ones(1), np.array([np.sqrt(STRENGTH) * LATE]))
        n = len(dofs)
        # rows of joints that move, then one row for each rest of a joint
        R = np.zeros((1, 2 * n, UNKNOWNS + 1, UNKNOWNS + 1))
        self._eqs = Equations(R, np.zeros((1, 2 * n), np.int64))
        self._rests, self._resting = np.zeros((n, UNKNOWNS + 1)), np.zeros(n, np.int64)
        self._recent: deque[tuple[Array, Bools]] = deque()
        self._largest = np.zeros(n)
        self._place, self._interrupted = np.zeros(n), False
        self._x = self._prior.start

    def update(self, samples: Samples, qpos: Array) -> OnlineEstimate:
        """Take a block of samples into account and return the estimate.

        Args:
            samples: samples of the joints `dofs`, without a gap.
            qpos: (nv,) positions of all joints; only the positions of the other joints are read.

        Raises:
            ParameterError: the block is too short or has a gap, its efforts are all 0 or beyond
                the limits, or its numbers are too large. The block is then ignored.
        """
        before = self._saved()
        try:
            return self._updated(samples, qpos)
        except BaseException:
            vars(self).update(before)
            raise

    def interrupt(self) -> None:
        """Report missing states before the next block: a joint that moved did not rest."""
        self._interrupted = True

    def _saved(self) -> dict[str, Any]:
        """Return the attributes, with copies of the attributes that a block changes."""
        return vars(self) | {
            "_eqs": Equations(self._eqs.R.copy(), self._eqs.count.copy()),
            "_rests": self._rests.copy(),
            "_resting": self._resting.copy(),
            "_recent": self._recent.copy(),
        }

    def _updated(self, samples: Samples, qpos: Array) -> OnlineEstimate:
        self._check(samples)
        most = 0.5 * MOST_OF_NYQUIST / regular_period(samples.time)
        motion = to_motion(samples, min(CUTOFF, most), effort_limits=self._limits)
        largest_efforts(motion)
        motion = _without_noise(motion, samples)
        self._resume(motion)
        block = self._block(motion, qpos)
        fast = np.abs(motion.qvel) > self._slow
        width = 2 * int(np.ceil(1.0 / (CUTOFF * (motion.time[1] - motion.time[0])))) + 1
        slides = minimum_filter1d(fast, width, axis=0) | (self._dry == 0.0)
        kept = kept_samples(self._m, motion, self._dofs)
        for i in range(len(self._dofs)):
            self._fold(i, block[kept[:, i], i], slides[kept[:, i], i])
        self._recent.append((block, kept & slides))
        while sum(len(rows) for rows, _ in self._recent) > REMEMBERED:
            self._recent.popleft()
        largest = np.where(kept, np.abs(motion.effort), 0.0).max(axis=0)
        capped = np.where(self._limits > 0.0, np.minimum(largest, self._limits), largest)
        self._largest = np.maximum(self._largest, capped)
        return self._solved()

    def _check(self, samples: Samples) -> None:
        """Raise ParameterError for an effort that no drive has."""
        largest = np.abs(samples.effort).max(axis=0)
        for i in np.flatnonzero((self._limits > 0.0) & (largest > SPURIOUS * self._limits)):
            text = (
                f"an effort of joint '{samples.names[i]}' is {largest[i]:.3g} N m or N, more than "
                f"{SPURIOUS:g} times its limit {self._limits[i]:.3g}"
            )
            raise ParameterError(Finding("spurious-effort", text, "error", samples.names[i]))

    def _resume(self, motion: Motion) -> None:
        """After an interruption, end the rests of joints that have moved."""
        if self._interrupted:
            for i in np.flatnonzero(np.abs(motion.qpos[0] - self._place) > SAME):
                self._end_rest(int(i))
        self._place, self._interrupted = motion.qpos[-1].copy(), False

    def _block(self, motion: Motion, qpos: Array) -> Array:
        """Return the rows [A b] (p, n, 13) of a motion; qpos (nv,) as in update."""
        m, dofs = self._m, self._dofs
        known = validate(m, Friction.of(m.nv), motion, rest=qpos).predicted
        rows = of_dofs(m, dofs, motion.qpos, qpos)
        if self._adds is not None:
            known = known - _gravity(self._adds, rows)[:, dofs]
        speeds = of_dofs(m, dofs, motion.qvel), of_dofs(m, dofs, motion.qacc)
        block = np.empty((*motion.qpos.shape, UNKNOWNS + 1))
        block[:, :, :BODY] = torque_regressor(m, rows, *speeds)[:, dofs] @ self._turn
        block[:, :, BODY] = friction_effort(self._friction, motion, dofs)
        # efforts that are late by d are e(t) - d e'(t), as in delay.py
        block[:, :, BODY + 1] = -np.gradient(motion.effort, motion.time, axis=0)
        block[:, :, UNKNOWNS] = motion.effort - known
        return block

    def _fold(self, i: int, rows: Array, slides: Bools) -> None:
        """Add the rows (p, 13) of a joint in the order of time: to its factor, or to its rest.

        `i` is the number of the joint; `slides` (p,) marks the rows in which the joint moves.
        """
        self._add(i, rows[slides])
        ends = [0, *(np.flatnonzero(np.diff(slides)) + 1).tolist(), len(rows)]
        for begin, end in pairwise(ends):
            if end > begin and slides[begin]:
                self._end_rest(i)
            else:
                self._rests[i] += rows[begin:end].sum(axis=0)
                self._resting[i] += end - begin

    def _end_rest(self, i: int) -> None:
        """Add the equation of a rest that has ended."""
        if self._resting[i]:
            self._add(len(self._dofs) + i, self._rests[i : i + 1] / self._resting[i])
        self._rests[i], self._resting[i] = 0.0, 0

    def _add(self, k: int, rows: Array) -> None:
        R = self._eqs.R
        R[0, k] = np.linalg.qr(np.concatenate([R[0, k], rows]), mode="r")
        self._eqs.count[0, k] += len(rows)

    def _solved(self) -> OnlineEstimate:
        """Return the estimate from all rows and the unfinished rests."""
        x, eqs = self._x, self._with_rests()
        sigma = self._least
        for _ in range(ITERATIONS):
            A, b = eqs.weighted(np.concatenate([sigma, self._stiction(x, sigma)]))
            x = solve(A, b, self._prior, STRENGTH, x)
            old, sigma = sigma, self._noise(eqs, x)
            if np.all(np.abs(sigma - old) < SETTLED * old):
                break
        self._x = x
        A, _ = eqs.weighted(np.concatenate([sigma, self._stiction(x, sigma)]))
        rooted = np.sqrt(STRENGTH) * self._prior.curve(x)
        back = np.linalg.inv(np.linalg.qr(np.concatenate([A, rooted]), mode="r"))
        mass, com, inertia = (values[0] for values in bodies_of(x[None, :BODY]))
        covariance = (back @ back.T)[:KNOWN, :KNOWN]
        excess = self._excess(x, sigma)
        return OnlineEstimate(
            float(mass), com, as_six(inertia), float(x[BODY]), x[:KNOWN], covariance, excess
        )

    def _excess(self, x: Array, sigma: Array) -> Array:
        mean = self._rests @ np.append(x, -1.0) / np.maximum(self._resting, 1)
        return np.asarray(np.abs(mean) / self._stiction(x, sigma))

    def _with_rests(self) -> Equations:
        """Return the equations with one row for each joint that rests now."""
        n, R = len(self._dofs), self._eqs.R.copy()
        for i in np.flatnonzero(self._resting):
            row = self._rests[i : i + 1] / self._resting[i]
            R[0, n + i] = np.linalg.qr(np.concatenate([R[0, n + i], row]), mode="r")
        return replace(self._eqs, R=R)

    @property
    def _least(self) -> Array:
        """Least standard deviations (n,), which even the best arm and Model have."""
        return np.asarray(np.maximum(EXACT * self._largest, NO_EFFORT))

    def _stiction(self, x: Array, sigma: Array) -> Array:
        """Return the standard deviations (n,) of the efforts of joints at rest, at a solution x.

        `sigma` (n,) are the standard deviations while the joints move.
        """
        return np.asarray(np.hypot(max(1.0, float(x[BODY])) * self._dry, sigma))

    def _noise(self, eqs: Equations, x: Array) -> Array:
        """Return the noise of the efforts (n,), enlarged because samples are correlated."""
        n = len(self._dofs)
        squares, count = eqs.squares(x)[0, :n], eqs.count[0, :n]
        rms = np.sqrt(squares / np.maximum(count, 1))
        rest = [np.where(used, rows @ np.append(x, -1.0), 0.0) for rows, used in self._recent]
        rms = np.where(count < ENOUGH, np.hypot(rms, self._stiction(x, rms)), rms)
        wide = np.sqrt(memory(np.concatenate(rest)))
        return np.asarray(np.maximum(rms, self._least) * wide)


def _without_noise(motion: Motion, samples: Samples) -> Motion:
    """Return a motion without velocities and accelerations that are noise of the encoders.

    A regressor that consists of noise would seem to excite the payload.
    """
    period = float(np.median(np.diff(samples.time)))
    w, left = 2.0 * np.pi * CUTOFF, np.sqrt(2.0 * CUTOFF * period)
    # white noise below the cutoff, differentiated once and twice
    noise = np.diff(samples.qpos, 2, axis=0).std(axis=0) / np.sqrt(6.0)
    slow, soft = w / np.sqrt(3.0) * left * noise, w**2 / np.sqrt(5.0) * left * noise
    if samples.qvel is not None:
        noise = np.diff(samples.qvel, axis=0).std(axis=0) / np.sqrt(2.0)
        slow = np.minimum(slow, left * noise)
        soft = np.minimum(soft, w / np.sqrt(3.0) * left * noise)
    moves, speeds_up = (
        np.sqrt(np.mean(rows**2, axis=0)) > SURE * size
        for rows, size in ((motion.qvel, slow), (motion.qacc, soft))
    )
    return replace(motion, qvel=moves * motion.qvel, qacc=speeds_up * motion.qacc)


def _gravity(m: Model, qpos: Array) -> Array:
    """Return the efforts (p, nv) that hold a robot at positions (p, nv)."""
    d, rows = make_data(m), np.empty(qpos.shape)
    for place, row in zip(qpos, rows, strict=True):
        d.qpos[:] = place
        row[:] = gravity_term(m, d)
    return rows
