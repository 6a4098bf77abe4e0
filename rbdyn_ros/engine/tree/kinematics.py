# SPDX-License-Identifier: Apache-2.0
"""Position and velocity of all bodies: kinematics, com_pos, com_vel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import (
    IDENTITY,
    add3,
    add_scaled6,
    load3,
    load6,
    load9,
    mat_mul,
    mat_vec,
    scaled3,
    select3,
    spatial_inertia,
    store3,
    store6,
    store9,
    store10,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel, select
from rbdyn_ros.engine.joints.follow import expand, follow
from rbdyn_ros.engine.joints.jcalc import joint_motion, joint_pose, joint_velocity

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

#: A lighter subtree [kg] has no centre of mass, because the inverse of its mass would overflow.
MIN_MASS = 1e-300


@kernel
def kinematics(m: Model, d: Data) -> None:
    """Write xpos, xmat, xipos, ximat from qpos.

    Source: MuJoCo mj_kinematics; RBDA example 4.3 with rotations child to world.
    """
    poses(m, d)
    principal_axes(m, d)


@kernel
def poses(m: Model, d: Data) -> None:
    """Write xpos, xmat, xipos: the part of kinematics that the motion needs."""
    if m.nvall > m.nv:
        expand(m, d)
    store9(d.xmat, 0, IDENTITY)
    for i in range(1, m.nbody):
        p, R = place_body(m, d, i, d.xpos, d.xmat)
        store3(d.xipos, i, add3(p, mat_vec(R, load3(m.body_ipos, i))))


@inline
def place_body(m, d, i, xpos, xmat):
    """Write the pose of body i to arrays that hold its parent's pose; return the pose."""
    parent = m.body_parentid[i]
    p, R = pose_after(m, d, i, load3(xpos, parent), load9(xmat, parent))
    store3(xpos, i, p)
    store9(xmat, i, R)
    return p, R


@inline
def pose_after(m, d, i, p_parent, R_parent):
    """Return the pose of body i from the pose of its parent."""
    r, E = joint_pose(m, d, i - 1, i)
    if m.body_parentid[i] == 0:
        return r, E
    return add3(p_parent, mat_vec(R_parent, r)), mat_mul(R_parent, E)


@kernel
def principal_axes(m, d):
    """Write ximat. Call `poses` first."""
    store9(d.ximat, 0, IDENTITY)
    for i in range(1, m.nbody):
        store9(d.ximat, i, mat_mul(load9(d.xmat, i), load9(m.body_imat, i)))


@kernel
def centres(m, d):
    """Write subtree_com. Call `poses` first."""
    # bodies from last to first: each adds its mass times centre to subtree_com of its parent
    for i in range(m.nbody - 1, -1, -1):
        mass = m.body_mass[i]
        x, y, z = load3(d.xipos, i)
        moment = (mass * x, mass * y, mass * z)
        if m.body_haschild[i]:
            moment = add3(moment, load3(d.subtree_com, i))
        light = m.body_subtreemass[i] < MIN_MASS
        # divide by 1 if there is no mass, so that the unused value stays finite
        scale = 1.0 / select(light, 1.0, m.body_subtreemass[i])
        store3(d.subtree_com, i, select3(light, (x, y, z), scaled3(moment, scale)))
        if i > 0:
            parent = m.body_parentid[i]
            if not m.body_lastchild[i]:
                moment = add3(moment, load3(d.subtree_com, parent))
            store3(d.subtree_com, parent, moment)


@kernel
def axes(m, d):
    """Write subtree_com and cdof as com_pos does, but not cinert. Call `poses` first."""
    centres(m, d)
    for i in range(1, m.nbody):
        joint_motion(m, d, i - 1, i, load3(d.subtree_com, m.body_rootid[i]))


@kernel
def com_pos(m: Model, d: Data) -> None:
    """Write subtree_com, cinert and cdof. Call `kinematics` first.

    Source: MuJoCo mj_comPos.
    """
    centres(m, d)
    for i in range(1, m.nbody):
        origin = load3(d.subtree_com, m.body_rootid[i])
        r = sub3(load3(d.xipos, i), origin)
        inertia = load6(m.body_fullinertia, i)
        store10(d.cinert, i, spatial_inertia(load9(d.xmat, i), inertia, r, m.body_mass[i]))
        joint_motion(m, d, i - 1, i, origin)


@kernel
def com_vel(m: Model, d: Data) -> None:
    """Write cvel and cdof_dot from qvel. Call `com_pos` first.

    Source: MuJoCo mj_comVel.
    """
    if m.nmimic > 0:
        follow(m, d)
    for i in range(1, m.nbody):
        v = load6(d.cvel, m.body_parentid[i])
        store6(d.cvel, i, joint_velocity(m, d, i - 1, i, v))


@kernel
def body_velocities(m, d):
    """Write cvel from qvel as com_vel does, but not cdof_dot. Call `axes` first."""
    if m.nmimic > 0:
        follow(m, d)
    for i in range(1, m.nbody):
        v = load6(d.cvel, m.body_parentid[i])
        first = m.jnt_dofadr_all[i - 1]
        for k in range(first, first + m.jnt_dofnum[i - 1]):
            v = add_scaled6(v, load6(d.cdof_all, k), d.qvel_all[k])
        store6(d.cvel, i, v)
