# SPDX-License-Identifier: Apache-2.0
"""Centre of mass and momentum, their Jacobians, and the momentum's rate at qacc = 0.

Momentum is [angular; linear], world axes, about the centre of mass of all bodies.

Source: Orin, Goswami, Lee, Centroidal dynamics of a humanoid robot, 2013; MuJoCo
mj_jacSubtreeCom, mj_subtreeVel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import (
    ZERO6,
    add3,
    add6,
    cross3,
    inertia_times,
    load3,
    load6,
    load9,
    load10,
    mat_vec,
    scaled3,
    sub3,
    symmetric_times,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import brief, inline
from rbdyn_ros.engine.joints.coordinates import acts_on, clear
from rbdyn_ros.engine.quantities.chain import motion_about
from rbdyn_ros.engine.tree.crb import composite_inertia
from rbdyn_ros.engine.tree.kinematics import (
    axes,
    body_velocities,
    centres,
    com_pos,
    com_vel,
    poses,
)
from rbdyn_ros.engine.tree.rne import bias_force

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@brief
def centroidal_momentum_matrix(m: Model, d: Data, A: Matrix) -> None:
    """Write A (6, nv) with momentum = A qvel (plus the motion of driven joints)."""
    poses(m, d)
    com_pos(m, d)
    composite_inertia(m, d)
    clear(A)
    for j in range(m.njnt):
        i = m.jnt_bodyid[j]
        for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            k, times = acts_on(m, j, c)
            if k >= 0:
                h = _about_com(m, d, i, inertia_times(load10(d.crb, i), load6(d.cdof_all, c)))
                A[0, k] += times * h[0]
                A[1, k] += times * h[1]
                A[2, k] += times * h[2]
                A[3, k] += times * h[3]
                A[4, k] += times * h[4]
                A[5, k] += times * h[5]


@brief
def centroidal_momentum(m: Model, d: Data, out: Vector) -> None:
    """Write the momentum (6,) at qpos and qvel."""
    poses(m, d)
    axes(m, d)
    body_velocities(m, d)
    h, centre = ZERO6, load3(d.subtree_com, 0)
    for i in range(1, m.nbody):
        w, v = com_twist(m, d, i)
        R, p = load9(d.xmat, i), scaled3(v, m.body_mass[i])
        spin = symmetric_times(load6(m.body_fullinertia, i), mat_vec(transposed(R), w))
        n = add3(mat_vec(R, spin), cross3(sub3(load3(d.xipos, i), centre), p))
        h = add6(h, (n[0], n[1], n[2], p[0], p[1], p[2]))
    out[0], out[1], out[2], out[3], out[4], out[5] = h


@inline
def com_twist(m, d, i):
    """Return the angular velocity of body i, and the velocity of its centre of mass."""
    s = load6(d.cvel, i)
    arm = sub3(load3(d.xipos, i), load3(d.subtree_com, m.body_rootid[i]))
    w = (s[0], s[1], s[2])
    return w, add3((s[3], s[4], s[5]), cross3(w, arm))


@brief
def centroidal_momentum_bias(m: Model, d: Data, out: Vector) -> None:
    """Write the derivative of the momentum (6,) at qacc = 0: dA/dt qvel, without gravity."""
    poses(m, d)
    com_pos(m, d)
    com_vel(m, d)
    bias_force(m, d)
    g = m.opt.gravity
    rate, mass = ZERO6, 0.0
    for i in range(1, m.nbody):
        rate = add6(rate, _about_com(m, d, i, load6(d.cfrc_bias, i)))
        mass += m.body_mass[i]
    # cfrc_bias contains gravity, which has no moment about the centre of mass: remove its force
    out[0], out[1], out[2] = rate[0], rate[1], rate[2]
    out[3], out[4], out[5] = rate[3] + mass * g[0], rate[4] + mass * g[1], rate[5] + mass * g[2]


@brief
def com(m: Model, d: Data, body: int, out: Vector) -> None:
    """Write the centre of mass (3,) of a body's subtree [m]."""
    poses(m, d)
    centres(m, d)
    out[0], out[1], out[2] = load3(d.subtree_com, body)


@brief
def com_jacobian(m: Model, d: Data, body: int, J: Matrix) -> None:
    """Write J (3, nv): velocity of the centre of mass of a body's subtree = J qvel."""
    poses(m, d)
    centres(m, d)
    clear(J)
    whole = m.body_subtreemass[body]
    for j in range(m.njnt):
        i = m.jnt_bodyid[j]
        carried = i  # root of that part of the subtree which the joint moves
        if _descends(m, body, i):
            carried = body
        elif not _descends(m, i, body):
            continue
        share = m.body_subtreemass[carried] / whole if whole > 0.0 else 1.0
        motion_about(m, d, j, i, load3(d.subtree_com, carried), d.xpos, d.xmat)
        for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            k, times = acts_on(m, j, c)
            if k >= 0:
                S = load6(d.chain_cdof, c)
                v = scaled3((S[3], S[4], S[5]), share * times)
                J[0, k] += v[0]
                J[1, k] += v[1]
                J[2, k] += v[2]


@brief
def com_velocity(m: Model, d: Data, body: int, out: Vector) -> None:
    """Write the velocity (3,) of the centre of mass of a body's subtree [m/s]."""
    poses(m, d)
    axes(m, d)
    body_velocities(m, d)
    total, mass = (0.0, 0.0, 0.0), 0.0
    for i in range(1, m.nbody):
        if m.body_mass[i] > 0.0 and _descends(m, i, body):
            _, v = com_twist(m, d, i)
            total, mass = add3(total, scaled3(v, m.body_mass[i])), mass + m.body_mass[i]
    scale = 1.0 / mass if mass > 0.0 else 0.0
    out[0], out[1], out[2] = scaled3(total, scale)


@inline
def _descends(m, i, ancestor):
    """Return whether body i is the ancestor or one of its descendants."""
    while i > ancestor > 0:
        i = m.body_parentid[i]
    return i == ancestor or ancestor == 0


@inline
def _about_com(m, d, i, f):
    """Shift a momentum or force of body i's tree to the centre of mass of all trees."""
    arm = sub3(load3(d.subtree_com, m.body_rootid[i]), load3(d.subtree_com, 0))
    n = cross3(arm, (f[3], f[4], f[5]))
    return f[0] + n[0], f[1] + n[1], f[2] + n[2], f[3], f[4], f[5]
