# SPDX-License-Identifier: Apache-2.0
"""The joints between the root and one frame, in separate fields of a Data."""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    IDENTITY,
    ZERO3,
    load3,
    load6,
    load9,
    moved,
    store3,
    store6,
    store9,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.follow import expand
from rbdyn_ros.engine.joints.jcalc import common_motion, uncommon_motion
from rbdyn_ros.engine.tree.kinematics import centres, pose_after, poses


@kernel
def follow_chain(m, d, body):
    """Write chain, chain_xpos and chain_xmat up to a body.

    Return the number of bodies on the chain.
    """
    number = 0
    while body > 0:
        d.chain[number] = body
        number += 1
        body = m.body_parentid[body]
    store3(d.chain_xpos, 0, ZERO3)
    store9(d.chain_xmat, 0, IDENTITY)
    if m.pose_stage != 0:  # uncommon joints need the poses of all bodies
        _copy_poses(m, d, number)
        return number
    if m.nvall > m.nv:
        expand(m, d)
    p, R = ZERO3, IDENTITY
    for n in range(number - 1, -1, -1):
        p, R = pose_after(m, d, d.chain[n], p, R)
        store3(d.chain_xpos, d.chain[n], p)
        store9(d.chain_xmat, d.chain[n], R)
    return number


@kernel
def _copy_poses(m, d, number):
    poses(m, d)
    centres(m, d)  # cdof refers to these centres of mass
    for n in range(number):
        i = d.chain[n]
        store3(d.chain_xpos, i, load3(d.xpos, i))
        store9(d.chain_xmat, i, load9(d.xmat, i))


@inline
def motion_about(m, d, j, i, point, xpos, xmat):
    """Write chain_cdof of joint j, which moves body i, about a point.

    An uncommon joint needs subtree_com.
    """
    if m.jnt_common[j]:
        common_motion(m, j, i, point, False, xpos, xmat, d.chain_cdof)
        return
    origin = load3(d.subtree_com, m.body_rootid[i])
    uncommon_motion(m, d, j, i, origin)
    for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
        store6(d.chain_cdof, c, moved(load6(d.cdof_all, c), sub3(point, origin)))
