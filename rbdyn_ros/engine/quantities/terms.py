# SPDX-License-Identifier: Apache-2.0
"""Parts of the equation of motion: gravity, Coriolis and centrifugal force, their sum.

Each term is the recursive Newton-Euler algorithm with some inputs set to zero. Source: RBDA
section 5.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import (
    add_scaled6,
    cross3,
    dot6,
    load3,
    load6,
    store6,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import brief, inline
from rbdyn_ros.engine.joints.coordinates import acts_on
from rbdyn_ros.engine.tree.kinematics import axes, com_pos, com_vel, poses
from rbdyn_ros.engine.tree.loads import reflect
from rbdyn_ros.engine.tree.rne import bias_force, project, rne

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@brief
def bias_term(m: Model, d: Data, out: Vector) -> None:
    """Write the Coriolis, centrifugal and gravity force at qpos and qvel, (nv,)."""
    poses(m, d)
    com_pos(m, d)
    com_vel(m, d)
    bias_force(m, d)
    rne(m, d)
    for k in range(m.nv):
        out[k] = d.qfrc_bias[k]


@brief
def gravity_term(m: Model, d: Data, out: Vector) -> None:
    """Write the joint forces that hold the robot against gravity at qpos, (nv,)."""
    poses(m, d)
    axes(m, d)
    for k in range(m.nv):
        out[k] = 0.0
    for j in range(m.njnt):
        i = m.jnt_bodyid[j]
        weight = _against_gravity(m, d, i, m.body_subtreemass[i], load3(d.subtree_com, i))
        for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            k, times = acts_on(m, j, c)
            if k >= 0:
                out[k] += times * dot6(load6(d.cdof_all, c), weight)


@brief
def coriolis_term(m: Model, d: Data, out: Vector) -> None:
    """Write the Coriolis and centrifugal force at qpos and qvel, (nv,)."""
    poses(m, d)
    com_pos(m, d)
    com_vel(m, d)
    bias_force(m, d)
    for i in range(1, m.nbody):
        weight = _against_gravity(m, d, i, m.body_mass[i], load3(d.xipos, i))
        store6(d.cfrc_sum, i, add_scaled6(load6(d.cfrc_bias, i), weight, -1.0))
    project(m, d, out)
    if m.nmimic > 0:
        reflect(m, d, d.cfrc_sum, out)


@inline
def _against_gravity(m, d, i, mass, centre):
    # the force that carries the weight of a mass at a point of body i's tree
    g = m.opt.gravity
    f = (-mass * g[0], -mass * g[1], -mass * g[2])
    n = cross3(sub3(centre, load3(d.subtree_com, m.body_rootid[i])), f)
    return n[0], n[1], n[2], f[0], f[1], f[2]
