# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics: the recursive Newton-Euler algorithm in base coordinates."""

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.absolute import absolute
from rbdyn_ros.textbook.rnea import NewtonEuler
from rbdyn_ros.textbook.spatial import cross_force, cross_motion
from rbdyn_ros.textbook.system import System


def newton_euler_absolute(
    s: System, q: Array, qd: Array, qdd: Array, f_ext: Sequence[Array] | None = None
) -> NewtonEuler:
    """Return motion and forces of all bodies, all in base coordinates. Source: RBDA eq 5.7-5.11.

    Args:
        s: the system model.
        q: positions.
        qd: velocities.
        qdd: accelerations.
        f_ext: external force on each body [moment; force], base coordinates; entry 0 unused; None:
            no force.
    """
    tree = absolute(s, q, qd)
    tau = np.zeros(s.nv)
    v, a, f_B, f = [np.zeros(6)], [-s.a_g], [np.zeros(6)], [np.zeros(6)]
    for i in s.bodies:
        p, S, I = s.parent[i], tree.S[i], tree.I[i]
        v_J = S @ qd[s.vs[i]]
        v.append(v[p] + v_J)
        a.append(a[p] + S @ qdd[s.vs[i]] + tree.c_J[i] + cross_motion(v[i]) @ v_J)
        f_B.append(I @ a[i] + cross_force(v[i]) @ I @ v[i])
        f.append(f_B[i] if f_ext is None else f_B[i] - f_ext[i])
    for i in reversed(s.bodies):
        tau[s.vs[i]] = tree.S[i].T @ f[i]
        f[s.parent[i]] = f[s.parent[i]] + f[i]
    return NewtonEuler(v, a, f_B, f, tau)
