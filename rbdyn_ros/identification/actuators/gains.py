# SPDX-License-Identifier: Apache-2.0
"""Drive gains of an arm from currents, where the masses are not known either.

A drive gives the torque g i at the current i, so currents show masses and friction divided by the
gains. Joints that carry the same bodies show the ratios of their gains. A common factor of all
gains is a common factor of all masses and friction: only the masses of the description, or a load
that was weighed, determine it. So gains and parameters x of bodies and joints are found together,

    min over x, log g:  sum over joints |A x / g - i|^2 / (2 sigma^2) + prior(x)

with the prior of solve.py, by Gauss-Newton steps in log g, alternating with the convex problem in
x. The covariance of log g includes the uncertainty of x.
Source: Gautier, Briot, Global identification of joint drive gains and dynamic parameters of
robots, 2014.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.errors import Finding, ParameterError, apart, quote
from rbdyn_ros.identification.actuators import drive_gains
from rbdyn_ros.identification.actuators.drive_fit import DriveRecord, fit_drive
from rbdyn_ros.identification.actuators.identify import alone
from rbdyn_ros.identification.data.motion import Motion, dofs_of, kept_samples
from rbdyn_ros.identification.equations.fit import FitOfMotion
from rbdyn_ros.identification.equations.inertia import consistent_prior
from rbdyn_ros.identification.equations.iterations import HOPED, Progress, noise, silent
from rbdyn_ros.identification.equations.loaded_arm import TwoMotions, same_joints, same_unknowns
from rbdyn_ros.identification.equations.payload import EXPECTED
from rbdyn_ros.identification.equations.reduced import Equations
from rbdyn_ros.identification.equations.residuals import Residuals, validate
from rbdyn_ros.identification.equations.solve import MASS_SPREAD, Prior, solve
from rbdyn_ros.identification.equations.unknowns import (
    CARRIES_NOTHING,
    LEAST_KEPT,
    NO_EFFORT,
    Unknowns,
    unknowns_of,
)
from rbdyn_ros.identification.equations.warnings import MASS_RATIO
from rbdyn_ros.model.model import Model

#: Terms that every drive can have, besides viscous and Coulomb friction.
TERMS = "armature", "offset"
#: Standard deviation of the logarithm of a gain around its first guess: a factor of ten.
SPREAD = np.log(10.0)
#: Relative standard deviation of a weighed load.
WEIGHED = 1e-3
#: Largest number of steps, largest step of log g, and the step at which the iteration stops.
MOST_STEPS, LONGEST, DONE = 60, 0.5, 1e-4


def identify_gains(
    m: Model,
    currents: Motion,
    *,
    loaded: Motion | None = None,
    link: str | int = "",
    mass: float | None = None,
    smoothing: float = 0.01,
    rest: ArrayLike | None = None,
    progress: Progress | None = None,
) -> drive_gains.DriveGains:
    """Identify the torque per current of each drive, given the described masses.

    Args:
        m: the description of the arm; its masses count with a standard deviation of 20 percent,
            its friction and rotors do not.
        currents: a motion whose efforts are currents [A].
        loaded: a motion of the same joints with a load, also with currents; None: there is no such
            motion.
        link: the link that carries the load; empty: there is no load.
        mass: the weighed mass of the load [kg]; None: there is no load.
        smoothing: see identify.
        rest: see identify.
        progress: called with a message after every step; None: no messages.

    Raises:
        ModelError, ParameterError: for the reasons of identify, a joint has no current, its
            current falls when its load grows, or a motion with a load has no mass or moves other
            joints.
    """
    none = np.zeros(m.nv)
    bare = m.replaced(
        dof_damping=none,
        dof_frictionloss=none,
        dof_armature=none,
        jnt_effort=np.full(m.njnt, np.inf),
    )
    _check_currents(bare, currents)
    if loaded is not None:
        _check_currents(bare, loaded)
        same_joints(currents, loaded)
    start = _first_gains(bare, currents, smoothing, rest)
    if loaded is None:
        problem = _of_one(bare, _times(currents, start), smoothing, rest)
    else:
        weighed = finite("the mass of the load", mass, above=0.0, element="payload")
        both = _times(currents, start), _times(loaded, start)
        problem = _of_two(bare, *both, bare.frame_id(link), weighed, smoothing, rest)
    logs, covariance, change = _solved(problem, progress or silent)
    gains, weighs = start * np.exp(logs), loaded is not None
    found = drive_gains.DriveGains(currents.names, gains, covariance, weighed=weighs)
    unlikely = _unlikely_load(np.exp(logs)) if weighs else []
    grave = *_unsettled(change), *unlikely, *drive_gains.not_separable(found)
    return replace(found, messages=(*grave, *drive_gains.without_factor(found)), grave=grave)


def _unsettled(change: float) -> list[str]:
    """Return a sentence if the last step changed the logarithms of gains too much."""
    found, most = apart(change, DONE, digits=2)
    text = (
        f"the gains have not settled: the last of {MOST_STEPS} steps changed them by up to "
        f"{found}, allowed is {most}. Do the positions and currents belong to this robot?"
    )
    return [text] if change >= DONE else []


def _unlikely_load(ratios: Array) -> list[str]:
    """Return a sentence if `ratios`, the change of gains by a weighed load, are far from 1."""
    factor, most, least = apart(float(np.median(ratios)), MASS_RATIO, 1.0 / MASS_RATIO, digits=3)
    text = (
        f"the weighed load makes the gains {factor} times the gains of the described masses; "
        f"allowed is a factor from {least} to {most}. Compare the mass of the load and its link "
        "with the recordings, and the masses of the description with the arm"
    )
    return [] if 1.0 / MASS_RATIO <= np.median(ratios) <= MASS_RATIO else [text]


def _check_currents(m: Model, currents: Motion) -> None:
    """Raise RbdynError if this is not a motion of the robot, or a drive reports no current."""
    dofs_of(m, currents)
    largest = np.abs(currents.effort).max(axis=0)
    for name, value in zip(currents.names, largest.tolist(), strict=True):
        if value < CARRIES_NOTHING * largest.max() or value < NO_EFFORT:
            text = (
                f"the largest current of joint {quote(name)} is {value:.3g} A, so its drive seems "
                "to report none; are currents in another column or unit? If not, name only the "
                "other joints"
            )
            raise ParameterError(Finding("no-efforts", text, "error", name))


def _times(currents: Motion, gains: Array) -> Motion:
    return replace(currents, effort=currents.effort * gains)


def _first_gains(m: Model, currents: Motion, smoothing: float, rest: ArrayLike | None) -> Array:
    """Return the gains (n,) with which the description explains the currents best.

    A joint whose load does not show its gain gets the geometric mean of the other gains. Raise
    ParameterError if a gain is negative, or if no joint shows its gain.
    """
    load = validate(m, Friction.of(m.nv, smoothing=smoothing), currents, rest=rest).predicted
    kept = kept_samples(m, currents, dofs_of(m, currents))
    gains = np.full(len(currents.names), np.nan)
    for i, name in enumerate(currents.names):
        if kept[:, i].sum() < LEAST_KEPT:
            continue  # errors are raised when the equations are made
        record = DriveRecord(alone(currents, i), load[:, i], kept[:, i])
        scale = fit_drive(record, stribeck=False).scale
        if scale.is_found and scale.value < 0.0:
            text = (
                f"the current of joint {quote(name)} falls when its load grows; is the sign of "
                "its current or of its position wrong? Set effort_signs in a columns file"
            )
            raise ParameterError(Finding("current-sign", text, "error", name))
        gains[i] = scale.value if scale.is_found else np.nan
    if np.isnan(gains).all():
        text = (
            "the currents of no joint follow the load that the robot description gives, so no "
            "drive gain is found; check that they are currents of this motion, and check gravity"
        )
        raise ParameterError(Finding("no-gain", text, "error", "motion"))
    return np.where(np.isnan(gains), np.exp(np.nanmean(np.log(gains))), gains)


@dataclass(frozen=True, slots=True, eq=False)
class _GainProblem:
    """Equations at the first gains.

    Their last column, `measured` and the sizes of friction, rotors and offsets grow with the
    gains: the losses of a drive do not determine its gain.
    """

    eqs: Equations
    prior: Prior
    unknowns: Unknowns
    residuals: Callable[[Array], Residuals]

    def at(self, logs: Array) -> Equations:
        """Return the equations at gains of exp(logs) times the first gains; logs is (n,)."""
        R = self.eqs.R.copy()
        R[..., -1] *= np.exp(logs)[:, None]
        return replace(self.eqs, R=R)

    def prior_at(self, logs: Array) -> Prior:
        """Return the prior at gains of exp(logs) times the first gains; logs is (n,)."""
        sizes = np.exp(logs[self.columns])
        c = len(self.prior.positive)
        positive, scale = self.prior.positive * sizes[:c], self.prior.scale * sizes[c:]
        return replace(self.prior, positive=positive, scale=scale)

    @property
    def columns(self) -> Ints:
        """Return the joint of each positive and free coefficient."""
        return np.array([extra.column for extra in self.unknowns.extras], np.int64)

    def by_gain(self, x: Array, prior: Prior) -> Array:
        """Return the derivatives of the prior's terms at x by the logarithms of gains."""
        sized, c = len(self.columns), len(prior.positive)
        first = 16 * len(prior.bodies)
        rows = np.zeros((first + sized + len(prior.bodies), self.eqs.R.shape[1]))
        change = np.concatenate([np.ones(c), x[len(x) - sized + c :] / prior.scale])
        rows[first + np.arange(sized), self.columns] = -change
        return rows

    def noise(self, x: Array, logs: Array) -> Array:
        """Return the standard deviations (n,) of the torques at a solution x.

        The gains are exp(logs) times the first gains.
        """
        found = self.residuals(x)
        return noise(replace(found, measured=found.measured * np.exp(logs)), self.unknowns)


def _of_one(m: Model, motion: Motion, smoothing: float, rest: ArrayLike | None) -> _GainProblem:
    bodies, _ = consistent_prior(m)
    dofs = dofs_of(m, motion)
    run = FitOfMotion(m, motion, dofs, None, smoothing, rest, 1.0, bodies, silent)
    fit = run.fits(TERMS, None)(TERMS)
    return _GainProblem(fit.eqs, fit.prior, fit.unknowns, fit.residuals)


def _of_two(
    m: Model,
    motion: Motion,
    loaded: Motion,
    frame: int,
    mass: float,
    smoothing: float,
    rest: ArrayLike | None,
) -> _GainProblem:
    bodies, _ = consistent_prior(m)
    a, b = (
        unknowns_of(m, one, dofs_of(m, one), None, smoothing, TERMS, rest)
        for one in (motion, loaded)
    )
    same_unknowns(a, b)
    both = TwoMotions(a, b, frame)
    positive, scale = (np.maximum(getattr(a, k), getattr(b, k)) for k in ("positive", "scale"))
    spread = np.array([*[MASS_SPREAD] * len(bodies), WEIGHED])
    prior = Prior(np.concatenate([bodies, mass * EXPECTED[None]]), positive, scale, spread)
    return _GainProblem(both.equations(), prior, both.largest(), both.residuals)


def _solved(problem: _GainProblem, tell: Progress) -> tuple[Array, Array, float]:
    """Return the logarithms of the gains (n,) relative to the first gains, and their covariance.

    The third value is the largest change of a logarithm in the last step.
    """
    logs = np.zeros(problem.eqs.R.shape[1])
    x, sigma = problem.prior.start, HOPED * problem.unknowns.largest
    for k in range(MOST_STEPS):
        x = solve(*problem.at(logs).weighted(sigma), problem.prior_at(logs), 1.0, x)
        sigma = problem.noise(x, logs)
        step, covariance = _step(problem, x, sigma, logs)
        change = float(np.abs(step).max())
        tell(f"step {k + 1}: gains change by up to {change:.2g}")
        if change < DONE and k > 1:
            break
        step *= min(1.0, LONGEST / change)
        logs, sigma = logs + step, sigma * np.exp(step)
    return logs, covariance, change


def _step(problem: _GainProblem, x: Array, sigma: Array, logs: Array) -> tuple[Array, Array]:
    """Return the Gauss-Newton step of the logarithms (n,), and their covariance (n, n).

    The step starts at the solution x and at `logs`; `sigma` (n,) is the noise of the torques.
    """
    R = problem.at(logs).R / sigma[:, None, None]
    n, N = R.shape[1], len(x)
    predicted = R[..., :-1] @ x  # shape (parts, n, rows)
    by_gain = -predicted[..., None] * np.eye(n)[:, None, :]
    prior = problem.prior_at(logs)
    slope, curve = prior.terms(x)
    rows = [
        np.concatenate([R[..., :-1], by_gain], axis=-1).reshape(-1, N + n),
        np.concatenate([curve, problem.by_gain(x, prior)], axis=1),
        np.concatenate([np.zeros((n, N)), np.eye(n) / SPREAD], axis=1),
    ]
    rest = [(predicted - R[..., -1]).ravel(), slope, logs / SPREAD]
    both = np.column_stack([np.concatenate(rows), np.concatenate(rest)])
    T = np.asarray(np.linalg.qr(both, mode="r"))
    last = np.linalg.inv(T[N:-1, N:-1])
    return np.asarray(last @ -T[N:-1, -1]), np.asarray(last @ last.T)
