# SPDX-License-Identifier: Apache-2.0
"""Drive gains of an arm whose masses are not known either, from currents.

A drive gives the torque g i at the current i, so currents show masses and friction divided by the
gains. Joints that carry the same bodies show the ratios of their gains. A common factor of all
gains is a common factor of all masses and friction: only the masses of the description, or a load
that was weighed, determine it. So gains and parameters x of bodies and joints are found together,

    min over x, log g:  sum over joints |A x / g - i|^2 / (2 sigma^2) + prior(x)

with the prior of solve.py, by Gauss-Newton steps in log g, in turn with the convex problem in x.
The covariance of log g has the doubts about x in it.
Source: Gautier, Briot, Global identification of joint drive gains and dynamic parameters of
robots, 2014.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.identification.actuators.drive_fit import DriveRecord, fit_drive
from rbdyn_ros.identification.actuators.estimate import LARGEST_STD
from rbdyn_ros.identification.actuators.identify import alone
from rbdyn_ros.identification.data.motion import Motion, dofs_of
from rbdyn_ros.identification.equations.fit import FitOfMotion
from rbdyn_ros.identification.equations.inertia import consistent_prior
from rbdyn_ros.identification.equations.iterations import HOPED, Progress, noise, silent
from rbdyn_ros.identification.equations.loaded_arm import TwoMotions, same_joints, same_unknowns
from rbdyn_ros.identification.equations.payload import EXPECTED
from rbdyn_ros.identification.equations.reduced import Equations
from rbdyn_ros.identification.equations.residuals import Residuals, validate
from rbdyn_ros.identification.equations.solve import MASS_SPREAD, Prior, solve
from rbdyn_ros.identification.equations.unknowns import Unknowns, unknowns_of
from rbdyn_ros.model.model import Model

#: Terms that every drive may have, beside viscous and Coulomb friction.
TERMS = "armature", "offset"
#: Standard deviation of the logarithm of a gain around its first guess: a factor of ten.
SPREAD = np.log(10.0)
#: Standard deviation of a weighed load, relative to it.
WEIGHED = 1e-3
#: Largest number of steps, largest step of log g, and the step at which the iteration stops.
MOST_STEPS, LONGEST, DONE = 60, 0.5, 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class DriveGains:
    """Torque by current of the drives of an arm.

    Attributes:
        names: joints (n,).
        gains: (n,) [N m/A or N/A].
        covariance: (n, n) covariance of the logarithms of the gains.
        messages: a sentence for every gain that the recording does not determine.
        weighed: whether a weighed load determines the common factor.
    """

    names: tuple[str, ...]
    gains: Array
    covariance: Array
    messages: tuple[str, ...] = ()
    weighed: bool = False

    @property
    def std(self) -> Array:
        """Return the standard deviations of the gains, relative to them, (n,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def common_std(self) -> float:
        """Return the standard deviation of the common factor: that of the best known gain."""
        return float(self.std.min())

    @property
    def ratio_std(self) -> Array:
        """Return the standard deviations (n,) of the ratios to the gains that suit best."""
        C, n = self.covariance, len(self.gains)
        if n == 1:
            return self.std
        variances = np.diag(C)[:, None] + np.diag(C) - 2.0 * C + np.diag(np.full(n, np.inf))
        return np.asarray(np.sqrt(np.maximum(variances.min(axis=1), 0.0)))

    @property
    def why_no_patch(self) -> str:
        """Return why masses that follow from these gains do not suit a URDF; "" if they do."""
        apart = [text for text in self.messages if "not separable" in text]
        return apart[0] if apart else ""

    def efforts(self, currents: Motion) -> Motion:
        """Return a motion whose efforts are the torques of its currents."""
        return replace(currents, effort=currents.effort * self.gains)


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
) -> DriveGains:
    """Identify the torque by current of each drive, with masses known as by their description.

    Args:
        m: the description of the arm; its masses count with a standard deviation of 20 percent,
            its friction and rotors do not.
        currents: a motion whose efforts are currents [A].
        loaded: a motion of the same joints with a load, with currents too.
        link: the link that carries the load.
        mass: the weighed mass of the load [kg].
        smoothing: as in identify.
        rest: as in identify.
        progress: called with a message after every step.

    Raises:
        ModelError, ParameterError: as identify, the current of a joint falls when its load grows,
            or a motion with a load has no mass or moves other joints.
    """
    bare = m.replaced(
        dof_damping=np.zeros(m.nv),
        dof_frictionloss=np.zeros(m.nv),
        dof_armature=np.zeros(m.nv),
        jnt_effort=np.full(m.njnt, np.inf),
    )
    if loaded is not None:
        same_joints(currents, loaded)
    start = _first_gains(bare, currents, smoothing, rest)
    if loaded is None:
        problem = _of_one(bare, _times(currents, start), smoothing, rest)
    else:
        weighed = finite("the mass of the load", mass, above=0.0, element="payload")
        both = _times(currents, start), _times(loaded, start)
        problem = _of_two(bare, *both, bare.frame_id(link), weighed, smoothing, rest)
    logs, covariance = _solved(problem, progress or silent)
    found = DriveGains(
        currents.names, start * np.exp(logs), covariance, weighed=loaded is not None
    )
    return replace(found, messages=tuple(_doubts(found)))


def _doubts(found: DriveGains) -> list[str]:
    """Return a sentence for every gain, or for their common factor, that is not determined."""
    texts = [
        f"the gain of joint {quote(name)} is not separable from masses and friction: its standard "
        f"deviation is {std:.0%}, allowed is {LARGEST_STD:.0%}. Neither gravity nor the joints "
        "beside it load it enough; give its gain, or record a motion in which it carries more"
        for name, std in zip(found.names, found.ratio_std, strict=True)
        if std > LARGEST_STD
    ]
    if not found.weighed:
        texts.append(
            f"the common factor of all gains is that of the described masses, +- "
            f"{found.common_std:.0%}: currents show only the ratios of gains. A second recording "
            "with a weighed load determines it"
        )
    return texts


def _times(currents: Motion, gains: Array) -> Motion:
    return replace(currents, effort=currents.effort * gains)


def _first_gains(m: Model, currents: Motion, smoothing: float, rest: ArrayLike | None) -> Array:
    """Return the gains (n,) with which the description explains the currents best.

    A joint whose load says nothing has the geometric mean of the others.
    """
    load = validate(m, Friction.of(m.nv, smoothing=smoothing), currents, rest=rest).predicted
    gains = np.full(len(currents.names), np.nan)
    for i, name in enumerate(currents.names):
        every = np.ones(len(currents.time), bool)
        record = DriveRecord(alone(currents, i), load[:, i], every)
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
            "drive gain is found; are they currents of this motion, and is gravity right?"
        )
        raise ParameterError(Finding("no-gain", text, "error", "motion"))
    return np.where(np.isnan(gains), np.exp(np.nanmean(np.log(gains))), gains)


@dataclass(frozen=True, slots=True, eq=False)
class _GainProblem:
    """Equations at the first gains.

    Their last column, `measured` and the sizes of friction, rotors and offsets grow with the
    gains: what a drive loses says nothing about its gain.
    """

    eqs: Equations
    prior: Prior
    unknowns: Unknowns
    residuals: Callable[[Array], Residuals]

    def at(self, logs: Array) -> Equations:
        """Return the equations with other gains."""
        R = self.eqs.R.copy()
        R[..., -1] *= np.exp(logs)[:, None]
        return replace(self.eqs, R=R)

    def prior_at(self, logs: Array) -> Prior:
        """Return the prior with other gains."""
        sizes = np.exp(logs[self.columns])
        c = len(self.prior.positive)
        positive, scale = self.prior.positive * sizes[:c], self.prior.scale * sizes[c:]
        return replace(self.prior, positive=positive, scale=scale)

    @property
    def columns(self) -> Ints:
        """Return the joint of each positive and free coefficient."""
        return np.array([extra.column for extra in self.unknowns.extras], np.int64)

    def by_gain(self, x: Array, prior: Prior) -> Array:
        """Return the derivatives of the terms of the prior by the logarithms of gains."""
        sized, c = len(self.columns), len(prior.positive)
        first = 16 * len(prior.bodies)
        rows = np.zeros((first + sized + len(prior.bodies), self.eqs.R.shape[1]))
        change = np.concatenate([np.ones(c), x[len(x) - sized + c :] / prior.scale])
        rows[first + np.arange(sized), self.columns] = -change
        return rows

    def noise(self, x: Array, logs: Array) -> Array:
        """Return the standard deviations (n,) of the torques at a solution."""
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


def _solved(problem: _GainProblem, tell: Progress) -> tuple[Array, Array]:
    """Return the logarithms of the gains (n,) by the first ones, and their covariance."""
    logs = np.zeros(problem.eqs.R.shape[1])
    x, sigma = problem.prior.start, HOPED * problem.unknowns.largest
    for k in range(MOST_STEPS):
        x = solve(*problem.at(logs).weighted(sigma), problem.prior_at(logs), 1.0, x)
        sigma = problem.noise(x, logs)
        step, covariance = _step(problem, x, sigma, logs)
        tell(f"step {k + 1}: gains change by up to {np.abs(step).max():.2g}")
        if np.abs(step).max() < DONE and k > 1:
            break
        step *= min(1.0, LONGEST / float(np.abs(step).max()))
        logs, sigma = logs + step, sigma * np.exp(step)
    return logs, covariance


def _step(problem: _GainProblem, x: Array, sigma: Array, logs: Array) -> tuple[Array, Array]:
    """Return the Gauss-Newton step of the logarithms (n,), and their covariance (n, n)."""
    R = problem.at(logs).R / sigma[:, None, None]
    n, N = R.shape[1], len(x)
    predicted = R[..., :-1] @ x  # (parts, n, rows)
    by_gain = -predicted[..., None] * np.eye(n)[:, None, :]
    prior = problem.prior_at(logs)
    slope, curve = prior.terms(x)
    rows = [
        np.concatenate([R[..., :-1], by_gain], axis=-1).reshape(-1, N + n),
        np.concatenate([curve, problem.by_gain(x, prior)], axis=1),
        np.concatenate([np.zeros((n, N)), np.eye(n) / SPREAD], axis=1),
    ]
    rest = [(predicted - R[..., -1]).ravel(), slope, logs / SPREAD]
    Q, T = np.linalg.qr(np.concatenate(rows))
    along = -(Q.T @ np.concatenate(rest))
    last = np.linalg.inv(T[N:, N:])
    return np.asarray(last @ along[N:]), np.asarray(last @ last.T)
