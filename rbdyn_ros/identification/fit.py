"""From a motion to the Model that explains it: inertia, friction, offsets, rotors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.friction import Friction
from rbdyn_ros.identification.base import BaseParameters, base_parameters
from rbdyn_ros.identification.doubts import grave_doubts, joint_doubts, parameter_doubts
from rbdyn_ros.identification.equations import Equations, equations
from rbdyn_ros.identification.inertia import consistent_prior, with_parameters
from rbdyn_ros.identification.motion import Motion, dofs_of
from rbdyn_ros.identification.residuals import Residuals, validate
from rbdyn_ros.identification.rounds import Progress, deviations, silent, solved
from rbdyn_ros.identification.solve import Prior
from rbdyn_ros.identification.unknowns import Unknowns
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class Identification:
    """A robot as a motion shows it.

    Attributes:
        prior: the Model as it was.
        m: the Model as identified, with friction as dof_damping and dof_frictionloss, and rotors.
        friction: of all dofs (nv,); what was not identified is as given or as in the prior.
        offset: (nv,) efforts that are always there [N m or N]; 0 where not identified.
        base: the inertial parameters that the efforts depend on.
        base_values, base_std: (b,) their identified values and standard deviations [SI].
        friction_std: (2, nv) of viscous and Coulomb friction; NaN where not identified.
        condition: number of the base regressor, its columns scaled to length 1.
        before, after: efforts of the motion by the prior and by the identified Model.
        held: the same efforts without the rotors and offsets that were identified, for which a
            URDF has no place; None if none were.
        warnings: sentences.
        grave: those of the warnings for which no description should be patched.
    """

    prior: Model
    m: Model
    friction: Friction
    offset: Array
    base: BaseParameters
    base_values: Array
    base_std: Array
    friction_std: Array
    condition: float
    before: Residuals
    after: Residuals
    held: Residuals | None = None
    warnings: tuple[str, ...] = ()
    grave: tuple[str, ...] = ()


def identify(
    m: Model,
    motion: Motion,
    *,
    friction: Friction | None = None,
    offset: bool = False,
    armature: bool = False,
    smoothing: float = 0.01,
    strength: float = 0.01,
    rest: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Identification:
    """Identify inertia of all bodies and friction of all joints from a motion.

    Weighted least squares, the joints weighted by what is left over, over what bodies can be:
    each has a positive definite pseudo-inertia, friction is not negative. What the motion says
    nothing about stays as close to the prior as what it does say allows, see solve.py.

    Args:
        m: the prior; its opt.gravity is that of the recording, in the axes of the base link.
        motion: what was recorded.
        friction: known, of all dofs; None: viscous and Coulomb friction are identified.
        offset: identify a constant effort of each joint.
        armature: identify the rotor inertia of each joint; False: it is that of m.
        smoothing: speed at which 76 percent of Coulomb friction is there [rad/s or m/s].
        strength: how seriously the prior is taken, in units of data that tell everything to 100
            percent. What the motion shows well does not depend on it.
        rest: (nv,) where joints stand that are not in the motion; None: at qpos0.
        progress: called with a sentence after every round.

    Raises:
        ModelError: as check_identifiable.
        ParameterError: the motion does not fit the Model, its efforts are all 0, its numbers are
            too large to calculate with, or an argument is not allowed.
    """
    dofs, tell = dofs_of(m, motion), progress or silent
    smooth = finite("the smoothing", smoothing, above=0.0, element="")
    weight = finite("the strength", strength, above=0.0, element="")
    start = friction or Friction.of(m.nv, m.dof_damping, m.dof_frictionloss, smoothing=smooth)
    kinds = ["viscous", "coulomb"] * (friction is None) + ["armature"] * armature
    kinds += ["offset"] * offset
    unknowns = Unknowns(m, motion, dofs, start.demand(m.nv), kinds, rest)
    bodies, changed = consistent_prior(m)
    prior = Prior(bodies, unknowns.positive, unknowns.scale)
    tell(f"{len(motion.time)} samples of {len(dofs)} joints")
    eqs = equations(m, unknowns, unknowns.effort())
    fit = _Fit(unknowns, prior, eqs, validate(m, start, motion, rest=rest))
    x, sigma = solved(eqs, prior, weight, unknowns, fit.residuals, tell)
    found = fit.told(x, sigma)
    grave = grave_doubts(unknowns, found)
    warnings = (*joint_doubts(unknowns, changed), *found.warnings, *grave)
    return replace(found, warnings=warnings, grave=tuple(grave))


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """What is solved, and what its solutions x mean."""

    unknowns: Unknowns
    prior: Prior
    eqs: Equations
    before: Residuals

    def robot(self, x: Array) -> tuple[Model, Friction, Array]:
        """Return the Model of a solution, its friction and its offsets."""
        size = self.prior.bodies.size
        friction, armature, offset = self.unknowns.found(x[size:])
        m = with_parameters(self.unknowns.m, x[:size].reshape(-1, 10)).replaced(
            dof_damping=friction.viscous,
            dof_frictionloss=friction.coulomb,
            dof_armature=armature,
        )
        return m, friction, offset

    def residuals(self, x: Array) -> Residuals:
        """Return the efforts of a solution."""
        m, friction, offset = self.robot(x)
        u = self.unknowns
        return validate(m, friction, u.motion, offset, rest=u.rest)

    def held(self, x: Array) -> Residuals | None:
        """Return the efforts without identified rotors and offsets; None if there are none."""
        u = self.unknowns
        if not any(extra.kind in ("armature", "offset") for extra in u.extras):
            return None
        m, friction, _ = self.robot(x)
        plain = m.replaced(dof_armature=u.m.dof_armature)
        return validate(plain, friction, u.motion, rest=u.rest)

    def told(self, x: Array, sigma: Array) -> Identification:
        """Return a solution, how well it is known, and what the motion hardly shows of it."""
        m, friction, offset = self.robot(x)
        u, size = self.unknowns, self.prior.bodies.size
        base = base_parameters(u.m, u.dofs, rest=u.rest)
        A = self.eqs.weighted(sigma)[0]
        seen = np.concatenate([base.regressor(A[:, :size]), A[:, size:]], axis=1)
        std, number = deviations(seen, base.rank)
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
            after=self.residuals(x),
            held=self.held(x),
            warnings=tuple(parameter_doubts(base, std[: base.rank], self.prior, number)),
        )


def _friction_std(unknowns: Unknowns, std: Array) -> Array:
    rows = np.full((2, unknowns.m.nv), np.nan)
    kinds = ("viscous", "coulomb")
    for extra, value in zip(unknowns.extras, std, strict=True):
        if extra.kind in kinds:
            rows[kinds.index(extra.kind), unknowns.dofs[extra.column]] = value
    return rows
