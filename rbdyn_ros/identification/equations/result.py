# SPDX-License-Identifier: Apache-2.0
"""Result of an identification."""

from dataclasses import dataclass

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.identification.equations.base import BaseParameters
from rbdyn_ros.identification.equations.black_box import BlackBox
from rbdyn_ros.identification.equations.residuals import Residuals
from rbdyn_ros.identification.equations.terms import Term
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class Identification:
    """A robot identified from a motion.

    Attributes:
        prior: the Model before the identification.
        m: the identified Model; friction is in dof_damping and dof_frictionloss, rotor inertia in
            dof_armature, and an identified tilt in opt.gravity.
        friction: friction of all dofs (nv,). Values that were not identified are the given values
            or the values of the prior.
        offset: (nv,) constant efforts [N m or N]; 0 where not identified.
        by_load: (nv,) dry friction as a share of the effort of bodies and rotors; 0 where not
            identified.
        tilt: (2,) angles about x and y between the gravity of the prior and of m [rad].
        base: the combinations of inertial parameters that the efforts depend on.
        base_values: (b,) identified values of the base parameters [SI].
        base_std: (b,) their standard deviations [SI].
        friction_std: (3, nv) standard deviations of viscous, Coulomb and Stribeck friction; NaN
            where not identified.
        mass_std: (nbody - 1,) standard deviations of the masses of the moving bodies, from the
            motion and the prior together [kg].
        prior_share: (nbody - 1,) variances of the masses as a share of the variances before the
            motion: near 0 the motion determines a mass; at 1 only the description determines it.
        condition: condition number of the base regressor, with columns scaled to length 1.
        before: efforts of the motion predicted by the prior.
        after: efforts predicted by the identified Model.
        held: efforts predicted without the identified rotors and offsets and without Stribeck
            friction, which a URDF cannot hold; None if none of them was identified.
        warnings: messages about the recording and the result.
        grave: warnings that forbid patching the robot description.
        terms: terms that were tried on held-out parts of the motion.
        black_box: least squares without physical constraints, for comparison; None: it was not
            computed.
    """

    prior: Model
    m: Model
    friction: Friction
    offset: Array
    by_load: Array
    tilt: Array
    base: BaseParameters
    base_values: Array
    base_std: Array
    friction_std: Array
    mass_std: Array
    prior_share: Array
    condition: float
    before: Residuals
    after: Residuals
    held: Residuals | None = None
    warnings: tuple[str, ...] = ()
    grave: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    black_box: BlackBox | None = None
