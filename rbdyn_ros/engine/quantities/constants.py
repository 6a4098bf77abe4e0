# SPDX-License-Identifier: Apache-2.0
"""Kernels that compute properties of a Model: the inertia at its dofs, and a single joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    dot6,
    inertia_times,
    load3,
    load6,
    load9,
    load10,
    mat_mul,
    mat_vec,
    store3,
    store6,
    store9,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.joints.jcalc import joint_motion, joint_pose, joint_velocity
from rbdyn_ros.engine.step.integrate import integrate_pos, smooth_stages
from rbdyn_ros.engine.tree.aba import articulated
from rbdyn_ros.engine.tree.crb import composite_inertia

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def survey(m: Model, d: Data) -> None:
    """Write D, the constraint fields, and Dinv_u: here a dof's inertia with other dofs locked."""
    smooth_stages(m, d)
    articulated(m, d, 0.0, 1.0, d.qacc)
    composite_inertia(m, d)
    for k in range(m.nv):
        S = load6(d.cdof, k)
        rigid = dot6(S, inertia_times(load10(d.crb, m.dof_bodyid[k]), S))
        d.Dinv_u[k] = rigid + m.dof_armature[k]
    if m.npair > 0:  # with mimic joints, the diagonal of M includes their inertia
        for k in range(m.nv):
            d.Dinv_u[k] = d.M[m.M_rowadr[k] + m.M_rownnz[k] - 1]


@kernel
def touching(m: Model, d: Data) -> None:
    """List the contacts at qpos and qvel: write the contact_ fields."""
    smooth_stages(m, d)


@kernel
def move(m: Model, d: Data, h: float) -> None:
    """Advance qpos by h qvel."""
    integrate_pos(m, d.qpos, d.qvel, h)


@kernel
def isolated_joint(m: Model, d: Data, j: int) -> None:
    """Write pose, cdof, velocity and cdof_dot of joint j alone, at d.qpos_all and d.qvel_all.

    These values are relative to the joint's frame on the parent, which is at rest. cdof is about
    the origin of the body that the joint carries.
    """
    i = m.jnt_bodyid[j]
    parent = m.body_parentid[i]
    # move the world so that this frame is the identity
    E = transposed(load9(m.body_mat, i))
    store9(d.xmat, parent, E)
    x, y, z = mat_vec(E, load3(m.body_pos, i))
    store3(d.xpos, parent, (-x, -y, -z))
    r, R = joint_pose(m, d, j, i)
    store9(d.xmat, i, mat_mul(E, R))
    store3(d.xpos, i, add3(load3(d.xpos, parent), mat_vec(E, r)))
    origin = load3(d.xpos, i)
    store3(d.subtree_com, m.body_rootid[i], origin)
    joint_motion(m, d, j, i, origin)
    store6(d.cvel, i, joint_velocity(m, d, j, i, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
