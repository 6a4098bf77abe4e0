# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics: the recursive Newton-Euler algorithm in body coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.spatial import cross_force, cross_motion, force_transform
from rbdyn_ros.textbook.system import System


@dataclass(frozen=True)
class NewtonEuler:
    """Results of the recursion for the bodies 0 .. NB.

    Attributes:
        v: velocities.
        a: accelerations; a_0 = -a_g of the base represents gravity.
        f_B: net forces for these accelerations.
        f: forces of the parent on the body across the joint, including bearing forces; entry 0:
            force of the ground on the base.
        tau: (nv,), joint forces.
    """

    v: list[Array]
    a: list[Array]
    f_B: list[Array]
    f: list[Array]
    tau: Array


def rnea(
    s: System, q: Array, qd: Array, qdd: Array, f_ext: Sequence[Array] | None = None
) -> Array:
    """Return the joint forces that cause qdd; the arguments are those of newton_euler."""
    return newton_euler(s, q, qd, qdd, f_ext).tau


def newton_euler(
    s: System, q: Array, qd: Array, qdd: Array, f_ext: Sequence[Array] | None = None
) -> NewtonEuler:
    """Return the motion and forces of all bodies, each in its own coordinates.

    Source: RBDA table 5.1, eq 5.16 to 5.20, 5.9 and 5.11.

    Args:
        s: the system model.
        q: positions.
        qd: velocities.
        qdd: accelerations.
        f_ext: external force on each body [moment; force], base coordinates; entry 0 unused; None:
            no force.
    """
    tau = np.zeros(s.nv)
    v, a, f_B, f = [np.zeros(6)], [-s.a_g], [np.zeros(6)], [np.zeros(6)]
    iX_parent, iX_0, S = [np.eye(6)], [np.eye(6)], [np.zeros((6, 0))]
    for i in s.bodies:
        X, S_i, v_J, c_J = s.joint(i, q, qd)
        p = s.parent[i]
        v.append(X @ v[p] + v_J)
        a.append(X @ a[p] + S_i @ qdd[s.vs[i]] + c_J + cross_motion(v[i]) @ v_J)
        f_B.append(s.I[i] @ a[i] + cross_force(v[i]) @ s.I[i] @ v[i])
        iX_parent.append(X)
        iX_0.append(X @ iX_0[p])
        S.append(S_i)
        f.append(f_B[i] if f_ext is None else f_B[i] - force_transform(iX_0[i]) @ f_ext[i])
    for i in reversed(s.bodies):
        tau[s.vs[i]] = S[i].T @ f[i]
        f[s.parent[i]] = f[s.parent[i]] + iX_parent[i].T @ f[i]
    return NewtonEuler(v, a, f_B, f, tau)
