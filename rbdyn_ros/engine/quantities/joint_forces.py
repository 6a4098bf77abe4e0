# SPDX-License-Identifier: Apache-2.0
"""Forces across tree joints and loop joints: f_J = T_a tau + T lambda.

Source: RBDA eq 3.34, 3.35, example 3.2; MuJoCo mj_rnePostConstraint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.dense import solve_square
from rbdyn_ros.engine.algebra.spatial import (
    ZERO6,
    add6,
    add_scaled6,
    cross3,
    dot6,
    load3,
    load6,
    mat_vec,
    scaled6,
    store6,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.follow import follow_acceleration
from rbdyn_ros.engine.joints.frames import frame_s
from rbdyn_ros.engine.tree.loads import body_loads, sum_subtrees
from rbdyn_ros.engine.tree.springs import spring_wrenches

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def joint_forces(m: Model, d: Data) -> None:
    """Write cacc, cfrc_int, jnt_force, jnt_bearing and loop_force. Call `forward` first.

    jnt_force is the force of a joint's predecessor on its successor, [moment; force] at the origin
    of F_s and in its axes; S^T jnt_force is the sum of all forces along the joint. jnt_bearing is
    jnt_force without T_a tau: the load of the bearings. T_a is along the joint's axes, or given by
    dof_transmission. A loop joint transmits T lambda.
    """
    _body_forces(m, d)
    sum_subtrees(m, d.cfrc_int)
    for i in range(1, m.nbody):
        _tree_joint(m, d, i)
    for i in range(m.nloop):
        total = ZERO6
        for n in range(m.loop_efcnum[i]):
            force = d.efc_force[m.loop_efcadr[i] + n]
            total = add_scaled6(total, load6(d.loop_T[i], n), force)
        store6(d.loop_force, i, total)


@kernel
def _body_forces(m, d):
    """Write cacc and, to cfrc_int, the force that the joints of each body must exert on it."""
    if m.nmimic > 0:
        follow_acceleration(m, d)
    body_loads(m, d, d.cfrc_int)
    for i in range(m.nbody):
        store6(d.cacc, i, add6(load6(d.cacc_bias, i), load6(d.a, i)))
    if m.nspring > 0 and m.opt.passive:
        spring_wrenches(m, d, d.cfrc_int)
    for r in range(m.nefc):
        for w in range(m.efc_wrenchadr[r], m.efc_wrenchadr[r] + m.efc_wrenchnum[r]):
            body = m.wrench_bodyid[w]
            f = add_scaled6(load6(d.cfrc_int, body), load6(d.efc_wrench, w), -d.efc_force[r])
            store6(d.cfrc_int, body, f)


@kernel
def _tree_joint(m, d, i):
    j = i - 1
    sign = -1.0 if m.jnt_reversed[j] else 1.0
    R, p = frame_s(m, d.xpos, d.xmat, i, m.jnt_reversed[j] == 1)
    arm = sub3(load3(d.subtree_com, m.body_rootid[i]), p)
    f = scaled6(_seen(R, load6(d.cfrc_int, i), arm, True), sign)
    first, number = m.jnt_dofadr_all[j], m.jnt_dofnum[j]
    S, T, A = d.joint_work[0], d.joint_work[1], d.joint_work[2]
    for k in range(number):
        axis = scaled6(_seen(R, load6(d.cdof_all, first + k), arm, False), sign)
        line = load6(m.dof_transmission, first + k)
        store6(S, k, axis)
        store6(T, k, line if dot6(line, line) > 0.0 else axis)
    # T_a = T x with S^T T x = tau
    for k in range(number):
        d.joint_tau[k] = dot6(load6(S, k), f)
        for n in range(number):
            A[k, n] = dot6(load6(S, k), load6(T, n))
    solve_square(A, number, d.joint_tau)
    bearing = f
    for k in range(number):
        bearing = add_scaled6(bearing, load6(T, k), -d.joint_tau[k])
    store6(d.jnt_force, j, f)
    store6(d.jnt_bearing, j, bearing)


@inline
def _seen(R, s, arm, is_force):
    """Return a force or a motion at p in the axes R, given that at p + arm in world axes."""
    w, v = (s[0], s[1], s[2]), (s[3], s[4], s[5])
    back = transposed(R)
    if is_force:  # shift the moment to p
        n = cross3(arm, v)
        w = (w[0] + n[0], w[1] + n[1], w[2] + n[2])
    else:  # shift the velocity to p
        n = cross3(arm, w)
        v = (v[0] + n[0], v[1] + n[1], v[2] + n[2])
    w, v = mat_vec(back, w), mat_vec(back, v)
    return w[0], w[1], w[2], v[0], v[1], v[2]
