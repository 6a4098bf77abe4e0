# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics: the articulated-body algorithm."""

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.spatial import cross_force, cross_motion, force_transform
from rbdyn_ros.textbook.system import System


def aba(s: System, q: Array, qd: Array, tau: Array, f_ext: Sequence[Array] | None = None) -> Array:
    """Return the accelerations qdd that tau causes. Source: RBDA table 7.1.

    Args:
        s: the system model.
        q: positions.
        qd: velocities.
        tau: joint forces.
        f_ext: external force on each body [moment; force], base coordinates; entry 0 unused; None:
            no force.
    """
    qdd = np.zeros(s.nv)
    n = len(s.parent)
    v, c, X, iX_0, S = ([np.zeros(6)] * n, [np.zeros(6)] * n, [np.eye(6)] * n, [np.eye(6)] * n,
                        [np.zeros((6, 0))] * n)  # fmt: skip
    IA, pA = [inertia.copy() for inertia in s.I], [np.zeros(6) for _ in s.I]
    U, D, u = {}, {}, {}
    for i in s.bodies:
        X[i], S[i], v_J, c_J = s.joint(i, q, qd)
        v[i] = X[i] @ v[s.parent[i]] + v_J
        c[i] = c_J + cross_motion(v[i]) @ v_J
        pA[i] = cross_force(v[i]) @ s.I[i] @ v[i]
        iX_0[i] = X[i] @ iX_0[s.parent[i]]
        if f_ext is not None:
            pA[i] -= force_transform(iX_0[i]) @ f_ext[i]
    for i in reversed(s.bodies):
        U[i] = IA[i] @ S[i]
        D[i] = S[i].T @ U[i]
        u[i] = tau[s.vs[i]] - S[i].T @ pA[i]
        Ia = IA[i] - U[i] @ np.linalg.solve(D[i], U[i].T)
        pa = pA[i] + Ia @ c[i] + U[i] @ np.linalg.solve(D[i], u[i])
        IA[s.parent[i]] += X[i].T @ Ia @ X[i]
        pA[s.parent[i]] += X[i].T @ pa
    a = [-s.a_g] * n
    for i in s.bodies:
        a_i = X[i] @ a[s.parent[i]] + c[i]
        qdd[s.vs[i]] = np.linalg.solve(D[i], u[i] - U[i].T @ a_i)
        a[i] = a_i + S[i] @ qdd[s.vs[i]]
    return qdd
