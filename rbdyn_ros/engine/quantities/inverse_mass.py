# SPDX-License-Identifier: Apache-2.0
"""The inverse of M, and the apparent inertia at a frame or a dof.

Source: RBDA section 6.5 (L^T D L), eq 8.30 (inverse operational-space inertia J M^-1 J^T);
Khatib, Inertial properties in robotic manipulation, 1995.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.joints.coordinates import clear
from rbdyn_ros.engine.quantities.jacobian import frame_jacobian
from rbdyn_ros.engine.tree.crb import crb, factor_m, half_solve, subtract
from rbdyn_ros.engine.tree.kinematics import com_pos, poses

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def factored(m, d):
    """Write qLD and qLDiagInv. Call `com_pos` first."""
    crb(m, d)
    factor_m(m, d)


@kernel
def inverse_mass_matrix(m: Model, d: Data, X: Matrix) -> None:
    """Write M^-1 (nv, nv) at qpos."""
    poses(m, d)
    com_pos(m, d)
    factored(m, d)
    write_inverse_mass(m, d, X)


@kernel
def write_inverse_mass(m, d, X):
    """Write M^-1 = L^-1 D^-1 L^-T, its upper triangle first. Call `factor_m` first."""
    nv = m.nv
    clear(X)
    for i in range(nv):
        X[i, i] = 1.0
    for i in range(nv - 1, -1, -1):  # X <- L^-T X
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i] - 1):
            subtract(X, m.M_colind[e], d.qLD[e], i, i)
    for i in range(nv):  # X <- L^-1 D^-1 X
        for n in range(i, nv):
            X[i, n] *= d.qLDiagInv[i]
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i] - 1):
            subtract(X, i, d.qLD[e], m.M_colind[e], i)
    for i in range(nv):
        for n in range(i):
            X[i, n] = X[n, i]


@kernel
def reflected_inertia(m: Model, d: Data, out: Vector) -> None:
    """Write 1 / (M^-1)_kk (nv,): each dof's inertia while all others are free [kg m^2 or kg]."""
    poses(m, d)
    com_pos(m, d)
    factored(m, d)
    _scale_rows(m, d)
    x = d.row_shift
    for k in range(m.nv):
        for n in range(m.nv):
            x[n] = 0.0
        x[k] = 1.0
        half_solve(m, d, x)
        square = 0.0
        for n in range(k + 1):
            square += x[n] * x[n]
        out[k] = 1.0 / square


@kernel
def frame_mobility(m: Model, d: Data, frame: int, reference: int, out: Matrix) -> None:
    """Write J M^-1 J^T (6, 6): the velocity that a unit impulse gives a frame.

    The result is in the last six columns of out (6, nv + 6), after J M^-1/2.
    """
    poses(m, d)
    com_pos(m, d)
    factored(m, d)
    _scale_rows(m, d)
    nv = m.nv
    frame_jacobian(m, d, frame, reference, out)
    for r in range(6):
        half_solve(m, d, out[r])
    for r in range(6):
        for s in range(r + 1):
            total = 0.0
            for k in range(m.nv):
                total += out[r, k] * out[s, k]
            out[r, nv + s] = out[s, nv + r] = total


@kernel
def _scale_rows(m, d):
    for k in range(m.nv):
        d.row_scale[k] = np.sqrt(d.qLDiagInv[k])
