# SPDX-License-Identifier: Apache-2.0
"""Predict the efforts of a motion and compare them with the measured efforts."""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.dynamics.stages import inverse, make_data
from rbdyn_ros.identification.data.motion import (
    Motion,
    check_calculable,
    dofs_of,
    kept_samples,
    of_dofs,
    resting,
)
from rbdyn_ros.identification.equations.regressor import Linearised, extra_columns
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Measured and predicted efforts of the joints of a motion.

    Attributes:
        names: names of the joints (n,).
        time: (p,) times of the samples [s].
        measured, predicted: (p, n) efforts [N m or N].
        full_scale: (n,) effort limits of the joints; NaN for joints without a limit.
        kept: (p, n) samples whose drive was not saturated; only these count below.
    """

    names: tuple[str, ...]
    time: Array
    measured: Array
    predicted: Array
    full_scale: Array
    kept: Bools

    @property
    def rms(self) -> Array:
        """Root mean square of the difference (n,) [N m or N], or NaN if no sample is kept."""
        count = self.kept.sum(axis=0)
        squares = np.where(self.kept, self.measured - self.predicted, 0.0) ** 2
        return np.asarray(np.sqrt(squares.sum(axis=0) / np.where(count > 0, count, np.nan)))

    @property
    def share(self) -> Array:
        """The RMS as a fraction of full scale (n,)."""
        return self.rms / self.full_scale

    @property
    def share_of_peak(self) -> Array:
        """The RMS as a fraction of the largest measured effort (n,); NaN if all efforts are 0."""
        peak = np.abs(self.measured).max(axis=0)
        return self.rms / np.where(peak > 0.0, peak, np.nan)

    @property
    def explained(self) -> Array:
        """Share of the variance of the efforts that is explained (n,), or NaN without variance."""
        count = np.maximum(self.kept.sum(axis=0), 1)
        rows = np.where(self.kept, self.measured, 0.0)
        spread = np.where(self.kept, rows - rows.sum(axis=0) / count, 0.0)
        variance = (spread**2).sum(axis=0) / count
        return 1.0 - self.rms**2 / np.where(variance > 0.0, variance, np.nan)


def validate(
    m: Model,
    friction: Friction,
    motion: Motion,
    offset: ArrayLike | None = None,
    *,
    by_load: ArrayLike | None = None,
    rest: ArrayLike | None = None,
) -> Residuals:
    """Predict the efforts of a motion with a Model and gravity m.opt.gravity.

    Args:
        m: the Model; its rotors (dof_armature) count, its passive forces do not.
        friction: friction of all dofs; Friction.of_model(m) gives the friction of the description.
        motion: the recorded motion.
        offset: (nv,) constant efforts [N m or N]; None: 0.
        by_load: (nv,) dry friction as a share of the effort of bodies and rotors; None: 0.
        rest: (nv,) positions of joints that are not in the motion; None: qpos0.

    Raises:
        ModelError: for the reasons of check_identifiable.
        ParameterError: the motion names joints that the Model lacks, lengths differ, or numbers
            are too large.
    """
    dofs, where = dofs_of(m, motion), resting(m, rest)
    friction.check_dofs(m.nv)
    given = np.zeros(m.nv) if offset is None else offset
    constant = finite("the offset", given, (m.nv,), element="")
    loads = np.zeros(m.nv) if by_load is None else by_load
    shares = finite("the friction by load", loads, (m.nv,), low=0.0, element="")
    bare = m.replaced()
    bare.opt.passive = False
    d = make_data(bare)
    qpos = of_dofs(m, dofs, motion.qpos, where)
    qvel, qacc = of_dofs(m, dofs, motion.qvel), of_dofs(m, dofs, motion.qacc)
    bodies = np.empty((len(qpos), m.nv))
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is refused below
        for k in range(len(qpos)):
            d.qpos[:], d.qvel[:], d.qacc[:] = qpos[k], qvel[k], qacc[k]
            inverse(bare, d)
            bodies[k] = d.qfrc_inverse
        predicted = bodies[:, dofs] + friction_effort(friction, motion, dofs) + constant[dofs]
        if shares.any():
            at = Linearised(bodies[:, dofs], np.zeros((len(qpos), len(dofs), 2)))
            predicted += shares[dofs] * extra_columns("load", motion, friction.smoothing[dofs], at)
        check_calculable(motion.effort - predicted)
    limits = m.jnt_effort[m.dof_jntid[dofs]]
    full_scale = np.where(np.isfinite(limits) & (limits > 0.0), limits, np.nan)
    kept = kept_samples(m, motion, dofs)
    return Residuals(motion.names, motion.time, motion.effort, predicted, full_scale, kept)


def linearised(m: Model, motion: Motion, rest: ArrayLike | None = None) -> Linearised:
    """Return the efforts of bodies and rotors, and their change by a tilt of gravity.

    Efforts are linear in gravity, so a difference is exact. Arguments and errors are as for
    validate.
    """
    none = Friction.of(m.nv)
    effort = validate(m, none, motion, rest=rest).predicted
    tilt = np.empty((*effort.shape, 2))
    for k in range(2):
        turned = m.replaced()
        turned.opt.gravity = m.opt.gravity + np.cross(np.eye(3)[k], m.opt.gravity)
        tilt[:, :, k] = validate(turned, none, motion, rest=rest).predicted - effort
    return Linearised(effort, tilt)


def tilted(m: Model, tilt: Array) -> Model:
    """Return a Model with gravity rotated by small angles (2,) about x and y [rad]."""
    found = m.replaced()
    found.opt.gravity = m.opt.gravity + np.cross([*tilt, 0.0], m.opt.gravity)
    return found


def friction_effort(friction: Friction, motion: Motion, dofs: Ints) -> Array:
    """Return the efforts of friction in a motion (p, n), filtered like its efforts.

    Viscous friction is linear in the velocities, which are filtered already.
    """
    of = {field.name: getattr(friction, field.name)[dofs] for field in fields(friction)}
    coulomb = replace(friction, **of | {"viscous": np.zeros(len(dofs))})

    def efforts(qvel: Array) -> Array:
        rows = np.empty(qvel.shape)
        for speed, row in zip(qvel, rows, strict=True):
            coulomb.effort(speed, row)
        return rows

    rows: Array = of["viscous"] * motion.qvel + motion.of_velocity(efforts)
    return rows


def memory(differences: Array) -> Array:
    """Return the correlation length (n,) of differences (p, n) in samples, 1 or more.

    The length is 1 plus twice the sum of the autocorrelations before the first value that is not
    positive.
    """
    p = len(differences)
    spectrum = np.fft.rfft(differences - differences.mean(axis=0), 2 * p, axis=0)
    correlation = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[:p]
    found = np.ones(differences.shape[1])
    for i, c in enumerate(correlation.T):
        if c[0] > 0.0:
            stop = int(np.argmax(c <= 0.0)) or p
            found[i] += 2.0 * float(np.sum(c[1:stop])) / float(c[0])
    return np.minimum(found, max(1.0, p / 10))
