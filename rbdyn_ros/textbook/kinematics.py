# SPDX-License-Identifier: Apache-2.0
"""Position, velocity and acceleration of every body: RBDA examples 4.3 and 4.4, table 5.1."""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.spatial import cross_motion
from rbdyn_ros.textbook.system import System


def kinematics(s: System, q: Array, qd: Array) -> tuple[list[Array], list[Array]]:
    """Return iX_0 and v_i of the bodies 0 .. NB, each in body coordinates."""
    iX_0, v = [np.eye(6)], [np.zeros(6)]
    for i in s.bodies:
        X, _, v_J, _ = s.joint(i, q, qd)
        iX_0.append(X @ iX_0[s.parent[i]])
        v.append(X @ v[s.parent[i]] + v_J)
    return iX_0, v


def jacobians(s: System, q: Array) -> list[Array]:
    """Return J_i, (6, nv), of the bodies 0 .. NB: v_i = J_i qd, each in body coordinates."""
    J = [np.zeros((6, s.nv))]
    for i in s.bodies:
        X, S, _, _ = s.joint(i, q, np.zeros(s.nv))
        J_i = X @ J[s.parent[i]]
        J_i[:, s.vs[i]] += S
        J.append(J_i)
    return J


def velocity_products(s: System, q: Array, qd: Array) -> list[Array]:
    """Return b_i of the bodies 0 .. NB in a_i = J_i qdd + b_i: their accelerations at qdd = 0."""
    v, a = [np.zeros(6)], [np.zeros(6)]
    for i in s.bodies:
        X, _, v_J, c_J = s.joint(i, q, qd)
        v.append(X @ v[s.parent[i]] + v_J)
        a.append(X @ a[s.parent[i]] + c_J + cross_motion(v[i]) @ v_J)
    return a
