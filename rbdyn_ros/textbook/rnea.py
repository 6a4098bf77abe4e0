"""Inverse dynamics: the recursive Newton-Euler algorithm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.textbook.spatial import Array, cross_force, cross_motion, force_transform
from rbdyn_ros.textbook.system import System


def rnea(
    s: System, q: Array, qd: Array, qdd: Array, f_ext: Sequence[Array] | None = None
) -> Array:
    """Return tau that causes qdd. Source: RBDA table 5.1, body coordinates.

    Args:
        s: the system model.
        q: positions.
        qd: velocities.
        qdd: accelerations.
        f_ext: external force on each body [moment; force], base coordinates; entry 0 unused.
    """
    tau = np.zeros(s.nv)
    v, a, f = [np.zeros(6)], [-s.a_g], [np.zeros(6)]
    iX_parent, iX_0, S = [np.eye(6)], [np.eye(6)], [np.zeros((6, 0))]
    for i in s.bodies:
        X, S_i, v_J, c_J = s.joint(i, q, qd)
        p = s.parent[i]
        v.append(X @ v[p] + v_J)
        a.append(X @ a[p] + S_i @ qdd[s.vs[i]] + c_J + cross_motion(v[i]) @ v_J)
        f.append(s.I[i] @ a[i] + cross_force(v[i]) @ s.I[i] @ v[i])
        iX_parent.append(X)
        iX_0.append(X @ iX_0[p])
        S.append(S_i)
        if f_ext is not None:
            f[i] -= force_transform(iX_0[i]) @ f_ext[i]
    for i in reversed(s.bodies):
        tau[s.vs[i]] = S[i].T @ f[i]
        f[s.parent[i]] += iX_parent[i].T @ f[i]
    return tau
