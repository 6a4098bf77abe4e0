# SPDX-License-Identifier: Apache-2.0
"""Regressors: forces and energies are linear in the inertial parameters of the bodies.

The ten parameters of a body are m, m c_x, m c_y, m c_z, Ixx, Ixy, Iyy, Ixz, Iyz, Izz in the axes
of the body, I about its origin (Pinocchio's order).

Source: Atkeson, An, Hollerbach, Estimation of inertial parameters of manipulator loads and links,
1986.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    cross3,
    dot3,
    load3,
    load6,
    load9,
    mat_vec,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import brief, inline, kernel
from rbdyn_ros.engine.joints.coordinates import acts_on, clear
from rbdyn_ros.engine.joints.follow import follow_acceleration
from rbdyn_ros.engine.tree.kinematics import axes, body_velocities, com_pos, com_vel, poses
from rbdyn_ros.engine.tree.rne import bias_force, body_accelerations

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def joint_torque_regressor(m: Model, d: Data, Y: Matrix) -> None:
    """Write Y (nv, 10 (nbody - 1)); Y pi is the force of inverse dynamics at qpos, qvel, qacc.

    Rotor inertia, passive forces and forces on bodies are left out.
    """
    poses(m, d)
    com_pos(m, d)
    com_vel(m, d)
    bias_force(m, d)
    if m.nmimic > 0:
        follow_acceleration(m, d)
    body_accelerations(m, d)
    clear(Y)
    for i in range(1, m.nbody):
        _body_columns(m, d, i, Y)


@kernel
def _body_columns(m, d, i, Y):
    """Write the ten columns of a body: its wrench per parameter, projected onto the axes."""
    R, arm = load9(d.xmat, i), sub3(load3(d.xpos, i), load3(d.subtree_com, m.body_rootid[i]))
    w, u = in_body(R, arm, load6(d.cvel, i))
    alpha, a = in_body(R, arm, load6(d.cacc, i))
    a = add3(a, cross3(w, u))  # classical acceleration of the origin
    body, first = i, 10 * (i - 1)
    while body > 0:
        j = body - 1
        for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            k, times = acts_on(m, j, c)
            if k >= 0:
                s_w, s_v = in_body(R, arm, load6(d.cdof_all, c))
                _add_row(Y[k], first, times, s_w, s_v, w, alpha, a)
        body = m.body_parentid[body]


@inline
def _add_row(row, first, times, s, s_v, w, alpha, a):
    # S^T f of f = m a + alpha x mc + w x (w x mc), n = mc x a + I alpha + w x I w
    mc = add3(add3(cross3(s_v, alpha), cross3(w, cross3(w, s_v))), cross3(a, s))
    t = cross3(s, w)
    row[first] += times * dot3(s_v, a)
    row[first + 1] += times * mc[0]
    row[first + 2] += times * mc[1]
    row[first + 3] += times * mc[2]
    row[first + 4] += times * (s[0] * alpha[0] + t[0] * w[0])
    row[first + 5] += times * (s[0] * alpha[1] + s[1] * alpha[0] + t[0] * w[1] + t[1] * w[0])
    row[first + 6] += times * (s[1] * alpha[1] + t[1] * w[1])
    row[first + 7] += times * (s[0] * alpha[2] + s[2] * alpha[0] + t[0] * w[2] + t[2] * w[0])
    row[first + 8] += times * (s[1] * alpha[2] + s[2] * alpha[1] + t[1] * w[2] + t[2] * w[1])
    row[first + 9] += times * (s[2] * alpha[2] + t[2] * w[2])


@brief
def kinetic_energy_regressor(m: Model, d: Data, y: Vector) -> None:
    """Write y (10 (nbody - 1),); y pi is the kinetic energy without rotors."""
    poses(m, d)
    axes(m, d)
    body_velocities(m, d)
    for i in range(1, m.nbody):
        arm = sub3(load3(d.xpos, i), load3(d.subtree_com, m.body_rootid[i]))
        w, u = in_body(load9(d.xmat, i), arm, load6(d.cvel, i))
        mc, first = cross3(u, w), 10 * (i - 1)
        y[first] = 0.5 * dot3(u, u)
        y[first + 1], y[first + 2], y[first + 3] = mc
        y[first + 4], y[first + 5] = 0.5 * w[0] * w[0], w[0] * w[1]
        y[first + 6], y[first + 7] = 0.5 * w[1] * w[1], w[0] * w[2]
        y[first + 8], y[first + 9] = w[1] * w[2], 0.5 * w[2] * w[2]


@brief
def potential_energy_regressor(m: Model, d: Data, y: Vector) -> None:
    """Write y (10 (nbody - 1),); y pi is the potential energy of gravity."""
    poses(m, d)
    g = (m.opt.gravity[0], m.opt.gravity[1], m.opt.gravity[2])
    for i in range(1, m.nbody):
        mc, first = mat_vec(transposed(load9(d.xmat, i)), g), 10 * (i - 1)
        y[first] = -dot3(g, load3(d.xpos, i))
        y[first + 1], y[first + 2], y[first + 3] = -mc[0], -mc[1], -mc[2]
        for n in range(4, 10):
            y[first + n] = 0.0


@inline
def in_body(R, arm, s):
    """Return both parts of a motion vector at the origin and in the axes of a body."""
    w, back = (s[0], s[1], s[2]), transposed(R)
    return mat_vec(back, w), mat_vec(back, add3((s[3], s[4], s[5]), cross3(w, arm)))
