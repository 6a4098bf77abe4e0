# SPDX-License-Identifier: Apache-2.0
"""Regressors for identification: forces and energies are linear in inertial parameters.

The ten parameters of a body are m, m c_x, m c_y, m c_z, Ixx, Ixy, Iyy, Ixz, Iyz, Izz in the axes
of the body, I about its origin. Bodies are in the order of their numbers, from 1 on.
"""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.toolbox.filling import fills
from rbdyn_ros.engine.quantities import regressor as _regressor
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model, check_model


def inertial_parameters(m: Model) -> Array:
    """Return the parameters of all moving bodies, (10 (nbody - 1),).

    Raises:
        ModelError: m is not a Model.
    """
    check_model(m, "inertial_parameters")
    mass, c = m.body_mass[1:], m.body_ipos[1:]
    xx, yy, zz, xy, xz, yz = m.body_fullinertia[1:].T
    x, y, z = c.T
    columns = [
        mass,
        mass * x,
        mass * y,
        mass * z,
        xx + mass * (y * y + z * z),
        xy - mass * x * y,
        yy + mass * (z * z + x * x),
        xz - mass * x * z,
        yz - mass * y * z,
        zz + mass * (x * x + y * y),
    ]
    return np.column_stack(columns).ravel()


@fills(_regressor.joint_torque_regressor, lambda m: (m.nv, 10 * (m.nbody - 1)))
def joint_torque_regressor(m: Model, d: Data) -> Array:
    """Return Y (nv, 10 (nbody - 1)) at qpos, qvel, qacc; Y inertial_parameters = M qacc + bias.

    Here M excludes the armature. Passive forces are left out.

    Raises:
        ModelError: d was not made for m.

    Source: Atkeson, An, Hollerbach, 1986.
    """


@fills(_regressor.kinetic_energy_regressor, lambda m: 10 * (m.nbody - 1))
def kinetic_energy_regressor(m: Model, d: Data) -> Array:
    """Return y (10 (nbody - 1),); y inertial_parameters is the kinetic energy without armature.

    Errors: see joint_torque_regressor.
    """


@fills(_regressor.potential_energy_regressor, lambda m: 10 * (m.nbody - 1))
def potential_energy_regressor(m: Model, d: Data) -> Array:
    """Return y (10 (nbody - 1),); y inertial_parameters is the potential energy of gravity.

    Errors: see joint_torque_regressor.
    """
