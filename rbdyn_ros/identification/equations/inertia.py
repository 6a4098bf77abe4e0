# SPDX-License-Identifier: Apache-2.0
"""Conversions between the ten inertial parameters of a body and its mass, centre and inertia.

The ten parameters are m, m c (3), Ixx Ixy Iyy Ixz Iyz Izz about the origin of the body, as in
rb.inertial_parameters; forces are linear in them. They are physically consistent if and only if
the pseudo-inertia matrix (4, 4)

    J = [[S, m c], [m c^T, m]],   S = tr(I)/2 1 - I

is positive definite (semidefinite for points and thin plates), in any frame.
Source: Wensing, Kim, Slotine, Linear matrix inequalities for physically consistent inertial
parameter identification, 2018.
"""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.toolbox.regressors import inertial_parameters
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.model.model import Model, with_arrays
from rbdyn_ros.model.tree.bodies import inertia_arrays, subtree_masses

PARAMETER_NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")

#: Least radius of gyration of a body along an axis [m], and least second moment relative to the
#: largest moment.
SLIMMEST = 1e-3
#: Least mass of a body, relative to the mean over all bodies.
LIGHTEST = 1e-3


def _basis() -> Array:
    """Return E (10, 4, 4): J = sum of x_k E_k."""
    E = np.zeros((10, 4, 4))
    E[0, 3, 3] = 1.0
    for k in range(3):
        E[1 + k, k, 3] = E[1 + k, 3, k] = 1.0
    for k, (i, j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))):
        if i == j:
            E[4 + k, :3, :3] = 0.5 * np.eye(3)
            E[4 + k, i, i] = -0.5
        else:
            E[4 + k, i, j] = E[4 + k, j, i] = -1.0
    return E


BASIS = _basis()


def pseudo_inertia(x: Array) -> Array:
    """Return J (k, 4, 4) of the parameters of bodies (k, 10)."""
    J: Array = np.einsum("ki,iab->kab", x, BASIS)
    return J


def parameters_of(J: Array) -> Array:
    """Return the parameters (k, 10) of pseudo-inertias (k, 4, 4)."""
    trace = np.trace(J[:, :3, :3], axis1=1, axis2=2)
    moments = trace[:, None, None] * np.eye(3) - J[:, :3, :3]  # tr(I) = 2 tr(S)
    rows, columns = [0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]
    return np.column_stack([J[:, 3, 3], J[:, :3, 3], moments[:, rows, columns]])


def change_of_frame(R: Array, p: Array) -> Array:
    """Return T (10, 10), which maps parameters from a frame at p with axes R to its parent frame.

    For the columns of a regressor: Y_frame = Y T.
    """
    turn = np.eye(4)
    turn[:3, :3], turn[:3, 3] = R, p
    T: Array = parameters_of(turn @ BASIS @ turn.T).T
    return T


def bodies_of(x: Array) -> tuple[Array, Array, Array]:
    """Return masses (k,), centres (k, 3) and central inertias (k, 3, 3) of parameters (k, 10)."""
    J = pseudo_inertia(x)
    mass = J[:, 3, 3]
    com = J[:, :3, 3] / mass[:, None]
    S = J[:, :3, :3] - mass[:, None, None] * com[:, :, None] * com[:, None, :]
    inertia = np.trace(S, axis1=1, axis2=2)[:, None, None] * np.eye(3) - S
    return mass, com, inertia


def consistent_prior(m: Model) -> tuple[Array, list[str]]:
    """Return physically consistent parameters (nbody - 1, 10) near the parameters of a Model.

    Also return the names of the changed bodies: bodies without mass, points, rods, plates, and
    bodies with an impossible inertia.
    """
    x = inertial_parameters(m).reshape(-1, 10)
    least = LIGHTEST * (float(m.body_mass[1:].mean()) or 1.0)
    sound, changed = x.copy(), []
    for k, name in enumerate(m.body_names[1:]):
        mass = max(float(m.body_mass[k + 1]), least)
        com = m.body_ipos[k + 1]
        xx, yy, zz, xy, xz, yz = m.body_fullinertia[k + 1]
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        values, axes = np.linalg.eigh(0.5 * np.trace(I) * np.eye(3) - I)
        slim = max(SLIMMEST * values[-1], mass * SLIMMEST**2)
        if mass == m.body_mass[k + 1] and values[0] >= slim:
            continue
        changed.append(name)
        J = np.zeros((1, 4, 4))
        J[0, :3, :3] = (axes * np.maximum(values, slim)) @ axes.T + mass * np.outer(com, com)
        J[0, :3, 3] = J[0, 3, :3] = mass * com
        J[0, 3, 3] = mass
        sound[k] = parameters_of(J)[0]
    return sound, changed


def with_parameters(m: Model, x: Array) -> Model:
    """Return a copy of m with body parameters x (nbody - 1, 10), which must be consistent."""
    mass, com, matrices = bodies_of(x)
    rows = {"body_mass": mass, "body_ipos": com, **inertia_arrays(matrices)}
    arrays = {field.name: getattr(m, field.name) for field in MODEL_FIELDS}
    for name, values in rows.items():
        arrays[name] = np.concatenate([arrays[name][:1], values])
    arrays["body_subtreemass"] = subtree_masses(arrays["body_mass"], m.body_parentid)
    return with_arrays(m, arrays)
