# SPDX-License-Identifier: Apache-2.0
"""The terms of the equation of motion M qacc + C qvel + g = tau, and the energies."""

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.toolbox.filling import fills, returns, square
from rbdyn_ros.engine.quantities import coriolis as _coriolis
from rbdyn_ros.engine.quantities import energy as _energy
from rbdyn_ros.engine.quantities import terms as _terms
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model


@fills(_terms.gravity_term, lambda m: m.nv)
def gravity_term(m: Model, d: Data) -> Array:
    """Return g(qpos), (nv,): the forces that hold the robot against gravity [N m or N].

    Source: RBDA section 5.3.

    Raises:
        ModelError: d was not made for m.
    """


@fills(_terms.coriolis_term, lambda m: m.nv)
def coriolis_term(m: Model, d: Data) -> Array:
    """Return C(qpos, qvel) qvel, (nv,): Coriolis and centrifugal forces. Errors: see gravity_term.

    Source: RBDA section 5.3.
    """


@fills(_terms.bias_term, lambda m: m.nv)
def bias_term(m: Model, d: Data) -> Array:
    """Return C qvel + g, (nv,): qfrc_bias at qpos and qvel. Errors: see gravity_term."""


@fills(_coriolis.coriolis_matrix, square)
def coriolis_matrix(m: Model, d: Data) -> Array:
    """Return C(qpos, qvel), (nv, nv), with dM/dt = C + C^T. Errors: see gravity_term.

    Source: Echeandia, Wensing, 2021. C qvel does not include driven joints.
    """


@returns(_energy.kinetic_energy)
def kinetic_energy(m: Model, d: Data) -> float:
    """Return the kinetic energy [J], with the rotors (armature). Errors: see gravity_term.

    Source: RBDA eq 3.2.
    """


@returns(_energy.potential_energy)
def potential_energy(m: Model, d: Data) -> float:
    """Return the potential energy [J] of gravity and of springs. Errors: see gravity_term.

    Links that are fixed to the world are left out, because their energy is constant. The energy of
    the springs in a joint and its mimic joints is zero at the position where these springs
    balance.
    """
