# SPDX-License-Identifier: Apache-2.0
"""Estimate and correct the delay between the positions and the efforts of a recording.

Efforts that come late by d are e(t) - d e'(t) in the first order, so d is one more unknown of
the least squares, common to all joints.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline
from scipy.linalg import qr

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.identification.data.motion import Motion, dofs_of, kept_samples, of_dofs, resting
from rbdyn_ros.identification.equations.regressor import extra_columns, torque_regressor
from rbdyn_ros.identification.equations.residuals import memory
from rbdyn_ros.model.model import Model

#: A delay is corrected if it is longer than SHORTEST and this many times its standard deviation.
SURE = 4.0
#: Shortest delay that is corrected, and longest delay that can be estimated [s].
SHORTEST, LONGEST = 1e-3, 0.1
#: Number of parts of the motion whose estimates are compared.
PARTS = 8
#: Largest number of samples of the linear estimate.
MOST = 2_000
#: Number of repetitions of the linear estimate.
ROUNDS = 3
#: Length, relative to the longest column, below which a column counts as dependent.
DEPENDENT = 1e-7


def without_delay(
    m: Model, motion: Motion, smoothing: float = 0.01, rest: ArrayLike | None = None
) -> tuple[Motion, float, str]:
    """Return a motion with efforts aligned to its positions, the delay and a note.

    The delay is 0 and the note "" if there is no certain delay.

    Args:
        m: the Model; only its kinematics count.
        motion: the motion whose efforts may be late.
        smoothing: see identify.
        rest: (nv,) positions of joints that are not in the motion; None: qpos0.

    Raises:
        ModelError, ParameterError: for the reasons of identify.
    """
    count = len(motion.time)
    # choose at random, because every tenth sample may have the same phase of a periodic motion
    rows = np.sort(np.random.default_rng(0).choice(count, min(count, MOST), replace=False))
    Q = _basis(m, motion, smoothing, rest, rows)
    found, total, std = motion, 0.0, 0.0
    for _ in range(ROUNDS):
        step, std = _step(Q, found, rows)
        total += step
        if not abs(total) < LONGEST:
            return motion, 0.0, ""
        found = moved_efforts(motion, total)
    if abs(total) < max(SURE * std, SHORTEST):
        return motion, 0.0, ""
    when = "after" if total > 0.0 else "before"
    text = (
        f"efforts come {1e3 * abs(total):.2g} +- {1e3 * std:.1g} ms {when} the positions; "
        "they are shifted by this delay"
    )
    return found, total, text


def _basis(
    m: Model, motion: Motion, smoothing: float, rest: ArrayLike | None, rows: Ints
) -> Array:
    """Return an orthonormal basis (k, n, r) of the efforts that the Model can explain.

    `rows` (k,) are the indices of the samples.
    """
    dofs = dofs_of(m, motion)
    where, n = resting(m, rest), len(dofs)
    qpos = of_dofs(m, dofs, motion.qpos[rows], where)
    qvel, qacc = (of_dofs(m, dofs, columns[rows]) for columns in (motion.qvel, motion.qacc))
    Y = torque_regressor(m, qpos, qvel, qacc)[:, dofs]
    kinds = [
        extra_columns(kind, motion, np.full(n, smoothing))[rows]
        for kind in ("viscous", "coulomb", "armature", "offset")
    ]
    extras = np.einsum("kpi,ij->pikj", np.array(kinds), np.eye(n)).reshape(len(Y), n, -1)
    size = np.abs(motion.effort).max(axis=0)
    kept = kept_samples(m, motion, dofs)[rows][:, :, None]
    A = kept * np.concatenate([Y, extras], axis=2) / np.where(size > 0.0, size, 1.0)[:, None]
    flat = A.reshape(len(Y) * n, -1)
    lengths = np.linalg.norm(flat, axis=0)
    Q, R, _ = qr(flat / np.where(lengths > 0.0, lengths, 1.0), mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > DEPENDENT * diagonal.max(initial=0.0)).sum())
    return np.asarray(Q[:, :rank].reshape(len(Y), n, rank), np.float64)


def _step(Q: Array, motion: Motion, rows: Ints) -> tuple[float, float]:
    """Return the delay of the efforts and its standard deviation [s], from the samples `rows`.

    Q is the basis of these samples, see _basis.
    """
    kept = np.ones(motion.effort.shape, bool) if motion.kept is None else motion.kept
    size = np.abs(motion.effort).max(axis=0)
    size = np.where(size > 0.0, size, 1.0)
    rate = np.gradient(motion.effort, motion.time, axis=0)
    rest, slope = (
        _beyond(Q, np.where(kept, efforts / size, 0.0)[rows]) for efforts in (motion.effort, rate)
    )
    noise = rest.std(axis=0) * np.sqrt(memory(rest))
    weight = np.where(noise > 0.0, 1.0 / np.where(noise > 0.0, noise, 1.0), 0.0)
    power, along = (
        np.array([part.sum() for part in np.array_split(weight**2 * slope * other, PARTS)])
        for other in (slope, rest)
    )
    if power.sum() == 0.0:
        return 0.0, 0.0
    delay = -float(along.sum()) / float(power.sum())
    # the parts of the motion differ by more than noise if the model is not exact
    scatter = np.sqrt(PARTS / (PARTS - 1.0) * np.sum((along + delay * power) ** 2))
    return delay, max(float(power.sum()) ** -0.5, float(scatter) / float(power.sum()))


def _beyond(Q: Array, rows: Array) -> Array:
    """Return the part of rows (p, n) that is orthogonal to the basis."""
    return np.asarray(rows - Q @ np.tensordot(Q, rows, axes=((0, 1), (0, 1))), np.float64)


def moved_efforts(motion: Motion, delay: float) -> Motion:
    """Return a motion with the efforts that were measured `delay` [s] later."""
    if delay == 0.0:
        return motion
    later = motion.time + delay
    inside = (later >= motion.time[0]) & (later <= motion.time[-1])
    effort = CubicSpline(motion.time, motion.effort)(later.clip(*motion.time[[0, -1]]))
    kept = np.ones(effort.shape, bool) if motion.kept is None else motion.kept
    return replace(motion, effort=effort, kept=kept & inside[:, np.newaxis])
