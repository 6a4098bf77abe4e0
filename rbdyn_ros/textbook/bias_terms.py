# SPDX-License-Identifier: Apache-2.0
"""Gravity and Coriolis terms of inverse dynamics; each term needs only a part of the recursion.

Source: RBDA section 5.3, "algorithm features"; absolute coordinates.
"""

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.absolute import Absolute, absolute
from rbdyn_ros.textbook.spatial import cross_force, cross_motion
from rbdyn_ros.textbook.system import System


def gravity_term(s: System, q: Array) -> Array:
    """Return the (nv,) joint forces that hold the system against gravity.

    Gravity itself exerts the opposite forces.
    """
    tree = absolute(s, q, np.zeros(s.nv))
    return _joint_forces(s, tree, [-I @ s.a_g for I in tree.I])


def coriolis_term(s: System, q: Array, qd: Array) -> Array:
    """Return the (nv,) joint forces that make qdd = 0 at velocities qd without gravity."""
    tree = absolute(s, q, qd)
    v, a, f = [np.zeros(6)], [np.zeros(6)], [np.zeros(6)]
    for i in s.bodies:
        p, I = s.parent[i], tree.I[i]
        v_J = tree.S[i] @ qd[s.vs[i]]
        v.append(v[p] + v_J)
        a.append(a[p] + tree.c_J[i] + cross_motion(v[i]) @ v_J)
        f.append(I @ a[i] + cross_force(v[i]) @ I @ v[i])
    return _joint_forces(s, tree, f)


def _joint_forces(s: System, tree: Absolute, on_bodies: Sequence[Array]) -> Array:
    """Return tau for the net forces on the bodies (eq 5.10, 5.11)."""
    f, tau = list(on_bodies), np.zeros(s.nv)
    for i in reversed(s.bodies):
        tau[s.vs[i]] = tree.S[i].T @ f[i]
        f[s.parent[i]] = f[s.parent[i]] + f[i]
    return tau
