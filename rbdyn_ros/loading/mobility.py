# SPDX-License-Identifier: Apache-2.0
"""Mobility of the dofs of a Model: M^-1, free and with constraints."""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import public
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.quantities.constants import survey
from rbdyn_ros.engine.tree.crb import crb
from rbdyn_ros.model.model import Model

#: A mobility below this part of the unconstrained mobility is a rounding error.
LOCKED = 1e-9

_survey = public(survey)
_crb = public(crb)


def mobility(m: Model) -> tuple[Array, Array]:
    """Return M^-1 at qpos0, and M_c^-1 with loops and other constraints; both (nv, nv).

    M_c^-1 = M^-1 - M^-1 K^T (K M^-1 K^T)^+ K M^-1 maps forces to accelerations (RBDA eq 3.17).
    The Model must have a mass matrix, and every dof must move some inertia.
    """
    d = make_data(m)
    _survey(m, d)
    if d.accelerate_stage == 0:  # otherwise `forward` has computed M already
        _crb(m, d)
    M = np.zeros((m.nv, m.nv))
    rows = np.repeat(np.arange(m.nv), m.M_rownnz)
    M[rows, m.M_colind] = M[m.M_colind, rows] = d.M
    free = np.linalg.inv(M)
    if m.nefc == 0:
        return free, free
    # rows are per radian or per metre; scaling makes the mobility along each row 1
    along = np.sqrt(np.maximum(np.einsum("rk,kl,rl->r", d.efc_J, free, d.efc_J), 0.0))
    K = d.efc_J / np.where(along > 0.0, along, 1.0)[:, None]
    Y = K @ free
    held = free - Y.T @ np.linalg.pinv(K @ Y.T, rcond=1e-6, hermitian=True) @ Y
    return free, held
