# SPDX-License-Identifier: Apache-2.0
"""Identify a Model from a motion: inertia, friction, offsets, rotors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
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
from rbdyn_ros.identification.equations.residuals import Residuals, validate
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


def identify(
    m: Model,
    motion: Motion,
    *,
    friction: Friction | None = None,
    offset: bool | None = False,
    armature: bool | None = False,
    stribeck: bool | None = False,
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
        offset: identify a constant effort of each joint; None: if it lowers the error on held-out
            parts of the motion, see terms.py.
        armature: identify the rotor inertia of each joint; False: take it from m; None: as offset.
        stribeck: identify additional friction near standstill; None: as offset.
        smoothing: speed at which 76 percent of Coulomb friction acts [rad/s or m/s].
        strength: weight of the prior. With 1 the masses of the description have a standard
            deviation of 20 percent. Well determined parameters do not depend on it.
        rest: (nv,) positions of joints that are not in the motion; None: qpos0.
        progress: called with a message after every iteration.

    Raises:
        ModelError: as check_identifiable.
        ParameterError: the motion does not fit the Model, all its efforts are 0, its numbers are
            too large, or an argument is not allowed.
    """
    dofs, report = dofs_of(m, motion), progress or silent
    weight = finite("the strength", strength, above=0.0, element="")
    wanted = {"armature": armature, "stribeck": stribeck, "offset": offset}
    if armature is None and m.dof_armature.any():
        wanted["armature"] = False  # the description knows it
    if stribeck is None and friction is not None:
        wanted["stribeck"] = False
    kinds = [kind for kind, choice in wanted.items() if choice is not False]
    every = unknowns_of(m, motion, dofs, friction, smoothing, kinds, rest)
    bodies, changed = consistent_prior(m)
    report(f"{len(motion.time)} samples of {len(dofs)} joints")
    whole = equations(m, every, every.effort())
    before = validate(m, every.friction, motion, rest=rest)

    def fit_of(kinds: Sequence[str]) -> _Fit:
        some = unknowns_of(m, motion, dofs, friction, smoothing, kinds, rest)
        eqs = whole.only(places(every, some, bodies.size))
        return _Fit(some, Prior(bodies, some.positive, some.scale), eqs, before)

    kept = [kind for kind in kinds if wanted[kind]]
    fit = fit_of(kept)
    x, sigma = solved(fit.eqs, fit.prior, weight, fit.unknowns, fit.residuals, report)
    terms = []
    if len(kept) < len(kinds):
        report("trying terms on held-out parts of the motion")
        terms = _tried([k for k in kinds if k not in kept], kept, fit_of, weight, x, sigma)
        if any(term.kept for term in terms):
            fit = fit_of([*kept, *(term.kind for term in terms if term.kept)])
            x, sigma = solved(fit.eqs, fit.prior, weight, fit.unknowns, fit.residuals, report)
    found = fit.result(x, sigma)
    grave = patch_warnings(fit.unknowns, found)
    warnings = (*joint_warnings(fit.unknowns, changed), *found.warnings, *grave)
    return replace(found, warnings=warnings, grave=tuple(grave), terms=tuple(terms))


def _tried(
    kinds: Sequence[str],
    kept: Sequence[str],
    fit_of: Callable[[Sequence[str]], _Fit],
    weight: float,
    x: Array,
    sigma: Array,
) -> list[Term]:
    """Try terms one after the other, each beside the ones that were kept before it."""
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
class _Fit:
    """The equations, and the meaning of their solutions x."""

    unknowns: Unknowns
    prior: Prior
    eqs: Equations
    before: Residuals

    def robot(self, x: Array) -> tuple[Model, Friction, Array]:
        """Return the Model, the friction and the offsets of a solution."""
        size = self.prior.bodies.size
        friction, armature, offset = self.unknowns.found(x[size:])
        m = with_parameters(self.unknowns.m, x[:size].reshape(-1, 10)).replaced(
            dof_damping=friction.viscous,
            dof_frictionloss=friction.coulomb,
            dof_armature=armature,
        )
        return m, friction, offset

    def residuals(self, x: Array) -> Residuals:
        """Return the residuals of a solution."""
        m, friction, offset = self.robot(x)
        u = self.unknowns
        return validate(m, friction, u.motion, offset, rest=u.rest)

    def held(self, x: Array) -> Residuals | None:
        """Return the residuals of the patched URDF; None if it holds the whole solution."""
        u = self.unknowns
        m, friction, _ = self.robot(x)
        extras = any(extra.kind in ("armature", "offset") for extra in u.extras)
        if not (extras or friction.stribeck.any()):
            return None
        plain = m.replaced(dof_armature=u.m.dof_armature)
        coulomb = replace(friction, stribeck=np.zeros(m.nv))
        return validate(plain, coulomb, u.motion, rest=u.rest)

    def _heard(self, base: BaseParameters, after: Residuals) -> Array:
        """Return what the prior spread of each base parameter does to the efforts, (b,).

        It is the largest ratio of the RMS effort at a joint to the noise of that joint.
        """
        effects = self.eqs.effects()[:, base.columns] * spread(base, self.prior)
        ratios: Array = (
            effects / np.maximum(after.rms, FLOOR * self.unknowns.largest)[:, None]
        ).max(axis=0)
        return ratios

    def result(self, x: Array, sigma: Array) -> Identification:
        """Return a solution with standard deviations and warnings about weak parameters."""
        m, friction, offset = self.robot(x)
        u, size = self.unknowns, self.prior.bodies.size
        base = base_parameters(u.m, u.dofs, rest=u.rest)
        A, b = self.eqs.weighted(sigma)
        known, armature_known, _ = u.found(np.zeros(len(u.extras)))
        seen = np.concatenate([base.regressor(A[:, :size]), A[:, size:]], axis=1)
        std, number = deviations(seen, base.rank)
        after = self.residuals(x)
        return Identification(
            prior=u.m,
            m=m,
            friction=friction,
            offset=offset,
            base=base,
            base_values=base.combination @ x[:size],
            base_std=std[: base.rank],
            friction_std=_friction_std(u, std[base.rank :]),
            condition=number,
            before=self.before,
            after=after,
            held=self.held(x),
            black_box=BlackBox(
                u.m, plain_solution(A, b), named(u.extras, u.motion.names), known, armature_known
            ),
            warnings=tuple(
                parameter_warnings(
                    base, std[: base.rank], self.prior, number, self._heard(base, after), after
                )
            ),
        )


def _friction_std(unknowns: Unknowns, std: Array) -> Array:
    rows = np.full((len(FRICTION), unknowns.m.nv), np.nan)
    for extra, value in zip(unknowns.extras, std, strict=True):
        if extra.kind in FRICTION:
            rows[FRICTION.index(extra.kind), unknowns.dofs[extra.column]] = value
    return rows
