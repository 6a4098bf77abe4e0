# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics as first published: 3-D vectors and classical accelerations.

Source: RBDA table 5.2, after Luh, Walker and Paul (1980); extended to trees, prismatic joints and
external forces.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.textbook.spatial import frame, mass_properties
from rbdyn_ros.textbook.system import System


@dataclass(frozen=True)
class LuhWalkerPaul:
    """The variables of table 5.2. Row i is for body i, in body coordinates; row 0 is the base.

    Attributes:
        E: (NB + 1, 3, 3), iE_lambda: from the parent's coordinates.
        r: (NB + 1, 3), origin of the body's frame, in its parent's coordinates [m].
        z: axis of the joint.
        omega: angular velocity. v: velocity of the frame's origin.
        omega_dot, v_dot: derivatives of omega and v, the classical acceleration; v_dot includes
            -g.
        F, N: net force, and net moment about the centre of mass.
        f, n: force and moment about the origin that the joint exerts on the body.
        tau: (nv,), joint forces.
    """

    E: Array
    r: Array
    z: Array
    omega: Array
    v: Array
    omega_dot: Array
    v_dot: Array
    F: Array
    N: Array
    f: Array
    n: Array
    tau: Array


def luh_walker_paul(
    s: System, q: Array, qd: Array, qdd: Array, f_ext: Sequence[Array] | None = None
) -> LuhWalkerPaul:
    """Return the motion and forces of all bodies, and tau that causes qdd.

    Args:
        s: the system model; its joints are revolute or prismatic.
        q: positions.
        qd: velocities.
        qdd: accelerations.
        f_ext: external force on each body [moment; force], base coordinates; entry 0 unused; None:
            no force.

    Raises:
        NotImplementedError: a joint is of another type.
    """
    count = len(s.parent)
    E, E_0 = np.tile(np.eye(3), (2, count, 1, 1))
    r, r_0, z, omega, v, omega_dot, v_dot, F, N, f, n = np.zeros((11, count, 3))
    tau = np.zeros(s.nv)
    v_dot[0] = -s.a_g[3:]
    for i in s.bodies:
        p, rate, rate_dot = s.parent[i], qd[s.vs[i]], qdd[s.vs[i]]
        X, S, _, _ = s.joint(i, q, qd)
        E[i], r[i] = frame(X)
        omega[i] = E[i] @ omega[p]
        v[i] = E[i] @ (v[p] + np.cross(omega[p], r[i]))
        omega_dot[i] = E[i] @ omega_dot[p]
        centripetal = np.cross(omega[p], np.cross(omega[p], r[i]))
        v_dot[i] = E[i] @ (v_dot[p] + np.cross(omega_dot[p], r[i]) + centripetal)
        if _turns(s, i):
            z[i] = S[:3, 0]
            omega_dot[i] += z[i] * rate_dot + np.cross(omega[i], z[i] * rate)
            omega[i] += z[i] * rate
        else:
            z[i] = S[3:, 0]
            v[i] += z[i] * rate
            v_dot[i] += z[i] * rate_dot + 2.0 * np.cross(omega[i], z[i] * rate)
        m, c, I_cm = mass_properties(s.I[i])
        to_com = np.cross(omega[i], np.cross(omega[i], c))
        F[i] = m * (v_dot[i] + np.cross(omega_dot[i], c) + to_com)
        N[i] = I_cm @ omega_dot[i] + np.cross(omega[i], I_cm @ omega[i])
        f[i] = F[i]
        n[i] = N[i] + np.cross(c, F[i])
        if f_ext is not None:
            E_0[i], r_0[i] = E[i] @ E_0[p], r_0[p] + E_0[p].T @ r[i]
            f[i] -= E_0[i] @ f_ext[i][3:]
            n[i] -= E_0[i] @ (f_ext[i][:3] - np.cross(r_0[i], f_ext[i][3:]))
    for i in reversed(s.bodies):
        p = s.parent[i]
        tau[s.vs[i]] = z[i] @ (n[i] if _turns(s, i) else f[i])
        f[p] += E[i].T @ f[i]
        n[p] += E[i].T @ n[i] + np.cross(r[i], E[i].T @ f[i])
    return LuhWalkerPaul(E, r, z, omega, v, omega_dot, v_dot, F, N, f, n, tau)


def _turns(s: System, i: int) -> bool:
    """Return whether the joint that carries body i is revolute; False: it is prismatic."""
    kind = s.jtype[i].kind
    if kind not in (JointType.HINGE, JointType.SLIDE):
        text = f"body {i}: table 5.2 supports only revolute and prismatic joints, got {kind.name}"
        raise NotImplementedError(text)
    return kind == JointType.HINGE
