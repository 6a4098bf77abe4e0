# SPDX-License-Identifier: Apache-2.0
"""Identify a Model from a motion: inertia, friction, offsets, rotors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.identification.data.motion import Motion, dofs_of
from rbdyn_ros.identification.equations.base import BaseParameters, base_parameters
from rbdyn_ros.identification.equations.black_box import BlackBox, named, plain_solution
from rbdyn_ros.identification.equations.inertia import consistent_prior, with_parameters
from rbdyn_ros.identification.equations.iterations import (
    FLOOR,
    Progress,
    deviations,
    silent,
    solved,
)
from rbdyn_ros.identification.equations.reduced import Equations, equations
from rbdyn_ros.identification.equations.regressor import Linearised
from rbdyn_ros.identification.equations.residuals import Residuals, linearised, tilted, validate
from rbdyn_ros.identification.equations.result import Identification
from rbdyn_ros.identification.equations.solve import Prior
from rbdyn_ros.identification.equations.terms import EARNS, Term, held_out, places, with_start
from rbdyn_ros.identification.equations.unknowns import FRICTION, Unknowns, unknowns_of
from rbdyn_ros.identification.equations.warnings import (
    joint_warnings,
    parameter_warnings,
    patch_warnings,
    spread,
)
from rbdyn_ros.model.model import Model

#: Terms that are linear only near the efforts of a Model.
BENT = "load", "tilt"


def identify(
    m: Model,
    motion: Motion,
    *,
    friction: Friction | None = None,
    offset: bool | None = False,
    armature: bool | None = False,
    stribeck: bool | None = False,
    load: bool | None = False,
    tilt: bool | None = False,
    smoothing: float = 0.01,
    strength: float = 1.0,
    rest: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Identification:
    """Identify the inertia of all bodies and the friction of all joints from a motion.

    The method is least squares, with joints weighted by their residuals, over physically
    consistent parameters: every pseudo-inertia is positive definite and friction is not negative.
    Parameters that the motion does not excite stay close to the prior, see solve.py.

    Args:
        m: the prior; m.opt.gravity is the gravity of the recording in the axes of the base link.
        motion: the recorded motion.
        friction: known friction of all dofs; None: identify viscous and Coulomb friction.
        offset: whether to identify a constant effort of each joint; None: only if this lowers the
            error on held-out parts of the motion, see terms.py.
        armature: whether to identify the rotor inertia of each joint instead of keeping the rotor
            inertia of m; None: as offset.
        stribeck: whether to identify additional friction near standstill; None: as offset.
        load: whether to identify dry friction in proportion to the effort that a joint carries;
            None: as offset.
        tilt: whether to identify the direction of gravity in the axes of the base; None: as
            offset.
        smoothing: speed at which 76 percent of Coulomb friction acts [rad/s or m/s].
        strength: weight of the prior. With 1 the masses of the description have a standard
            deviation of 20 percent. Well determined parameters do not depend on it.
        rest: (nv,) positions of joints that are not in the motion; None: qpos0.
        progress: called with a message after every iteration; None: no messages.

    Raises:
        ModelError: for the reasons of check_identifiable.
        ParameterError: the motion does not fit the Model, all its efforts are 0, its numbers are
            too large, or an argument is not allowed.
    """
    dofs, report = dofs_of(m, motion), progress or silent
    weight = finite("the strength", strength, above=0.0, element="")
    wanted = {
        "armature": armature,
        "stribeck": stribeck,
        "load": load,
        "offset": offset,
        "tilt": tilt,
    }
    if armature is None and m.dof_armature.any():
        wanted["armature"] = False  # keep the armature that the description gives
    if friction is not None:  # do not identify known friction
        wanted |= {kind: False for kind in ("stribeck", "load") if wanted[kind] is None}
    kinds = [kind for kind, choice in wanted.items() if choice is not False]
    kept = [kind for kind in kinds if wanted[kind]]
    bodies, changed = consistent_prior(m)
    report(f"{len(motion.time)} samples of {len(dofs)} joints")
    run = FitOfMotion(m, motion, dofs, friction, smoothing, rest, weight, bodies, report)
    fit, x, sigma, terms = _searched(run, kinds, kept)
    found = fit.result(x, sigma, weight)
    grave = patch_warnings(fit.unknowns, found)
    warnings = (*joint_warnings(fit.unknowns, changed), *found.warnings, *grave)
    return replace(found, warnings=warnings, grave=tuple(grave), terms=tuple(terms))


def _tried(
    kinds: Sequence[str],
    kept: Sequence[str],
    fit_of: "Callable[[Sequence[str]], _Fit]",
    weight: float,
    x: Array,
    sigma: Array,
) -> list[Term]:
    """Return the terms `kinds`, tried one after the other, each with the terms kept so far.

    `fit_of` returns the fit with some terms, `weight` is the weight of the prior, and x and sigma
    are the solution with the terms `kept` and its standard deviations.
    """
    fit = fit_of(kept)
    found: list[Term] = []
    largest = fit.unknowns.largest
    error = held_out(fit.eqs, fit.prior, weight, sigma, x, largest)
    for kind in kinds:
        added = [*kept, *(term.kind for term in found if term.kept), kind]
        more = fit_of(added)
        start = with_start(x, fit.unknowns, more.unknowns)
        new = held_out(more.eqs, more.prior, weight, sigma, start, largest)
        found.append(Term(kind, error, new, new < (1.0 - EARNS) * error))
        if found[-1].kept:
            fit, x, error = more, start, new
    return found


@dataclass(frozen=True, slots=True, eq=False)
class FitOfMotion:
    """A motion and the values that are known in advance; the arguments are as for identify."""

    m: Model
    motion: Motion
    dofs: Ints
    friction: Friction | None
    smoothing: float
    rest: ArrayLike | None
    weight: float
    bodies: Array
    report: Progress

    def unknowns(self, kinds: Sequence[str], at: Linearised | None = None) -> Unknowns:
        """Return the unknowns of some kinds, linearised at `at`; None: not linearised."""
        known = self.dofs, self.friction, self.smoothing
        return unknowns_of(self.m, self.motion, *known, kinds, self.rest, at)

    def fits(self, every: Sequence[str], near: Model | None) -> "Callable[[Sequence[str]], _Fit]":
        """Return a function that returns the fit of some of the kinds in `every`.

        The fit is linearised at the Model `near`; None: it is not linearised.
        """
        at = None if near is None else linearised(near, self.motion, self.rest)
        most = self.unknowns(every, at)
        whole = equations(self.m, most, most.effort())
        before = validate(self.m, most.friction, self.motion, rest=self.rest)

        def fit_of(kinds: Sequence[str]) -> _Fit:
            some = self.unknowns(kinds, at)
            eqs = whole.only(places(most, some, self.bodies.size))
            prior = Prior(self.bodies, some.positive, some.scale)
            return _Fit(some, prior, eqs, before, near or self.m)

        return fit_of

    def solved(self, fit: "_Fit") -> tuple[Array, Array]:
        """Return the solution of a fit, and the standard deviation (n,) of the samples."""
        return solved(fit.eqs, fit.prior, self.weight, fit.unknowns, fit.residuals, self.report)


def _searched(
    run: FitOfMotion, kinds: Sequence[str], kept: list[str]
) -> "tuple[_Fit, Array, Array, list[Term]]":
    """Return the fit with all terms that improve it, its x and sigma, and the tried terms.

    Args:
        run: the motion and the values that are known in advance.
        kinds: kinds of terms that may be in the result.
        kept: kinds that the result has in any case.
    """
    bent = [kind for kind in kinds if kind in BENT]
    fit_of = run.fits([kind for kind in kinds if kind not in BENT], None)
    fit = fit_of([kind for kind in kept if kind not in BENT])
    x, sigma = run.solved(fit)
    if bent:
        fit_of = run.fits(kinds, fit.robot(x)[0])
    if bent and set(kept) & set(bent):
        fit = fit_of(kept)
        x, sigma = run.solved(fit)
    terms: list[Term] = []
    if len(kept) < len(kinds):
        run.report("trying terms on held-out parts of the motion")
        others = [kind for kind in kinds if kind not in kept]
        terms = _tried(others, kept, fit_of, run.weight, x, sigma)
        kept = [*kept, *(term.kind for term in terms if term.kept)]
    if any(term.kept for term in terms):
        fit = fit_of(kept)
        x, sigma = run.solved(fit)
    if set(kept) & set(bent):  # repeat the fit at the efforts of the identified robot
        fit = run.fits(kept, fit.robot(x)[0])(kept)
        x, sigma = run.solved(fit)
    return fit, x, sigma, terms


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """The equations, and the meaning of their solutions x."""

    unknowns: Unknowns
    prior: Prior
    eqs: Equations
    before: Residuals
    at: Model

    def robot(self, x: Array) -> tuple[Model, Friction, Array]:
        """Return the Model, the friction and the offsets of a solution."""
        size = self.prior.bodies.size
        friction, armature, offset = self.unknowns.found(x[size:])
        _, tilt = self.unknowns.by_load(x[size:])
        m = with_parameters(self.unknowns.m, x[:size].reshape(-1, 10)).replaced(
            dof_damping=friction.viscous, dof_frictionloss=friction.coulomb, dof_armature=armature
        )
        return (tilted(m, tilt) if tilt.any() else m), friction, offset

    def residuals(self, x: Array) -> Residuals:
        """Return the residuals of a solution."""
        m, friction, offset = self.robot(x)
        u = self.unknowns
        by_load, _ = u.by_load(x[self.prior.bodies.size :])
        return validate(m, friction, u.motion, offset, by_load=by_load, rest=u.rest)

    def held(self, x: Array) -> Residuals | None:
        """Return the residuals of the patched URDF, or None if a URDF holds the whole solution."""
        u = self.unknowns
        m, friction, _ = self.robot(x)
        extras = any(extra.kind not in ("viscous", "coulomb") for extra in u.extras)
        if not (extras or friction.stribeck.any()):
            return None
        plain = m.replaced(dof_armature=u.m.dof_armature)
        plain.opt.gravity = u.m.opt.gravity
        coulomb = replace(friction, stribeck=np.zeros(m.nv))
        return validate(plain, coulomb, u.motion, rest=u.rest)

    def _effects(self, base: BaseParameters, after: Residuals) -> Array:
        """Return the effect (b,) of each base parameter on the efforts, relative to their noise.

        The parameter changes by its prior standard deviation. The effect is the largest ratio of
        the RMS change of effort at a joint to the RMS of the residuals `after` at this joint.
        """
        effects = self.eqs.effects()[:, base.columns] * spread(base, self.prior)
        ratios: Array = (
            effects / np.maximum(after.rms, FLOOR * self.unknowns.largest)[:, None]
        ).max(axis=0)
        return ratios

    def result(self, x: Array, sigma: Array, strength: float) -> Identification:
        """Return a solution with standard deviations and warnings about weak parameters.

        `sigma` (n,) is the standard deviation of the samples of each joint, and `strength` the
        weight of the prior.
        """
        m, friction, offset = self.robot(x)
        u, size = self.unknowns, self.prior.bodies.size
        base = base_parameters(u.m, u.dofs, rest=u.rest)
        A, b = self.eqs.weighted(sigma)
        known, armature_known, _ = u.found(np.zeros(len(u.extras)))
        seen = np.concatenate([base.regressor(A[:, :size]), A[:, size:]], axis=1)
        std, number = deviations(seen, base.rank)
        after = self.residuals(x)
        by_load, tilt = u.by_load(x[size:])
        mass_std, prior_share = self.prior.masses(A, x, strength)
        return Identification(
            prior=u.m,
            m=m,
            friction=friction,
            offset=offset,
            by_load=by_load,
            tilt=tilt,
            base=base,
            base_values=base.combination @ x[:size],
            base_std=std[: base.rank],
            friction_std=_friction_std(u, std[base.rank :]),
            mass_std=mass_std,
            prior_share=prior_share,
            condition=number,
            before=self.before,
            after=after,
            held=self.held(x),
            black_box=BlackBox(
                u.m,
                plain_solution(A, b),
                named(u.extras, u.motion.names),
                known,
                armature_known,
                self.at,
            ),
            warnings=tuple(
                parameter_warnings(
                    base, std[: base.rank], self.prior, number, self._effects(base, after), after
                )
            ),
        )


def _friction_std(unknowns: Unknowns, std: Array) -> Array:
    rows = np.full((len(FRICTION), unknowns.m.nv), np.nan)
    for extra, value in zip(unknowns.extras, std, strict=True):
        if extra.kind in FRICTION:
            rows[FRICTION.index(extra.kind), unknowns.dofs[extra.column]] = value
    return rows
