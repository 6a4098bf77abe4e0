# SPDX-License-Identifier: Apache-2.0
"""The equations of motion without recursion, as sums over joints, pairs and triples of joints.

Source: RBDA section 5.2. All vectors are in absolute coordinates. A degree of freedom j has the
axis s_j, a column of its joint's S. The sums run over the degrees of freedom between the base and
body i (1 .. i for the chains of the book). The cost is O(n^4); recursive algorithms need O(n).
"""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.absolute import absolute
from rbdyn_ros.textbook.jcalc import jcalc
from rbdyn_ros.textbook.spatial import cross_force, cross_motion
from rbdyn_ros.textbook.system import System


@dataclass(frozen=True)
class Axes:
    """The axes of all degrees of freedom, and their rates.

    Attributes:
        s: (6, nv), column j is s_j.
        rate: (6, nv, nv), with ds_j/dt = sum over k of rate[:, j, k] qd_k.
        path: for each body, the degrees of freedom between the body and the base.
        I: for each body, its inertia (6, 6).
    """

    s: Array
    rate: Array
    path: list[list[int]]
    I: list[Array]


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of eq 5.6.

    Attributes:
        H: (nv, nv), joint-space inertia.
        C: (nv, nv, nv), centrifugal and Coriolis coefficients, symmetric in the last two indices.
            If velocities are derivatives of positions, they are the Christoffel symbols of the
            first kind of H.
        g: (nv,), gravity term.
    """

    H: Array
    C: Array
    g: Array

    def tau(self, qd: Array, qdd: Array) -> Array:
        """Return tau_i = sum H_ij qdd_j + sum sum C_ijk qd_j qd_k + g_i (eq 5.6)."""
        return self.H @ qdd + self.C @ qd @ qd + self.g


def closed_form(s: System, q: Array) -> Coefficients:
    """Return the coefficients of eq 5.6 at positions q.

    Body b contributes s_i^T (I a + v x* I v), with v from eq 5.3 and a from eq 5.5.
    """
    x = axes(s, q)
    H, C, g = np.zeros((s.nv,) * 2), np.zeros((s.nv,) * 3), np.zeros(s.nv)
    for b in s.bodies:
        path, I = x.path[b], x.I[b]
        J = x.s[:, path]
        gyroscopic = np.stack([cross_force(s_j) @ I @ J for s_j in J.T], 1) if path else 0.0
        rate = x.rate[np.ix_(range(6), path, path)]
        H[np.ix_(path, path)] += J.T @ I @ J
        C[np.ix_(path, path, path)] += np.tensordot(J.T, np.tensordot(I, rate, 1) + gyroscopic, 1)
        g[path] -= J.T @ I @ s.a_g
    return Coefficients(H, 0.5 * (C + C.transpose(0, 2, 1)), g)


def velocity(s: System, q: Array, qd: Array, i: int) -> Array:
    """Return v_i, (6,), the sum of s_j qd_j (eq 5.3)."""
    x = axes(s, q)
    path = x.path[i]
    return x.s[:, path] @ qd[path]


def acceleration(s: System, q: Array, qd: Array, qdd: Array, i: int) -> Array:
    """Return a_i, (6,), the sums of s_j qdd_j and of s_k qd_k x s_j qd_j (eq 5.5)."""
    x = axes(s, q)
    path = x.path[i]
    return x.s[:, path] @ qdd[path] + x.rate[:, path] @ qd @ qd[path]


def axes(s: System, q: Array) -> Axes:
    """Return the axes at positions q.

    ds_j/dt = v x s_j, where v is the velocity of the body that the joint carries, a sum over all
    degrees of freedom down to the base. If S varies, the joint's own degrees of freedom add its
    apparent derivative.
    """
    tree = absolute(s, q, np.zeros(s.nv))
    x = Axes(np.zeros((6, s.nv)), np.zeros((6, s.nv, s.nv)), [[]], tree.I)
    for i in s.bodies:
        own = range(s.nv)[s.vs[i]]
        x.path.append([*x.path[s.parent[i]], *own])
        x.s[:, own] = tree.S[i]
        for j in own:
            x.rate[:, j, x.path[i]] = -cross_motion(x.s[:, j]) @ x.s[:, x.path[i]]
        for k, unit in zip(own, np.eye(len(own)), strict=True):
            x.rate[:, own, k] += tree.X[i] @ jcalc(s.jtype[i], q[s.qs[i]], unit).S_ring
    return x
