# SPDX-License-Identifier: Apache-2.0
"""Joint-space inertia matrix: the composite-rigid-body algorithm."""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.system import System


def crba(s: System, q: Array) -> Array:
    """Return H, the (nv, nv) joint-space inertia matrix. Source: RBDA table 6.2."""
    H = np.zeros((s.nv, s.nv))
    I_c = [inertia.copy() for inertia in s.I]
    X, S = [np.eye(6)], [np.zeros((6, 0))]
    for i in s.bodies:
        X_i, S_i, _, _ = s.joint(i, q, np.zeros(s.nv))
        X.append(X_i)
        S.append(S_i)
    for i in reversed(s.bodies):
        I_c[s.parent[i]] += X[i].T @ I_c[i] @ X[i]
        F = I_c[i] @ S[i]
        H[s.vs[i], s.vs[i]] = S[i].T @ F
        j = i
        while s.parent[j] > 0:
            F = X[j].T @ F
            j = s.parent[j]
            H[s.vs[i], s.vs[j]] = F.T @ S[j]
            H[s.vs[j], s.vs[i]] = H[s.vs[i], s.vs[j]].T
    return H
