# SPDX-License-Identifier: Apache-2.0
"""Uncommon joint types of the library: pose, motion axes and their apparent derivative.

Source: RBDA table 4.1, examples 4.5 and 4.6.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    add_scaled6,
    cross3,
    dot3,
    load3,
    load6,
    load9,
    mat_mul,
    mat_vec,
    scaled3,
    store6,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.callbacks import call
from rbdyn_ros.engine.joints.frames import (
    frame_p,
    frame_s,
    in_plane,
    quat_mat,
    turn,
    turned,
    write_screw,
    write_shift,
    write_shifts,
    write_turn,
    write_turns,
)
from rbdyn_ros.engine.joints.ypr import YPR, yaw_pitch_roll, ypr_motion
from rbdyn_ros.model.declared.callbacks import R_AT, S_AT, S_DOT_AT
from rbdyn_ros.model.declared.joints import JointType

HELICAL = int(JointType.HELICAL)
CYLINDRICAL = int(JointType.CYLINDRICAL)
UNIVERSAL = int(JointType.UNIVERSAL)
RACK_PINION = int(JointType.RACK_PINION)
PLANAR_FP = int(JointType.PLANAR_FP)
PLANAR_FS = int(JointType.PLANAR_FS)
SIXDOF_FP = int(JointType.SIXDOF_FP)
SIXDOF_FS = int(JointType.SIXDOF_FS)
USER = int(JointType.USER)


@kernel
def library_successor(m, d, j, r, E):
    """Return the position and rotation of F_s, given the position r and rotation E of F_p."""
    kind = m.jnt_type[j]
    q = m.jnt_qposadr_all[j]
    qpos = d.qpos_all
    if kind == HELICAL:
        r = add3(r, mat_vec(E, scaled3(load3(m.jnt_axis, j), m.jnt_param[j, 0] * qpos[q])))
        E = turned(m, j, qpos[q])
    elif kind == CYLINDRICAL:
        r = add3(r, mat_vec(E, scaled3(load3(m.jnt_axis, j), qpos[q + 1])))
        E = turned(m, j, qpos[q])
    elif kind == UNIVERSAL:
        B = load9(m.jnt_basis, j)
        E = mat_mul(turned(m, j, qpos[q]), turn((B[3], B[4], B[5]), qpos[q + 1]))
    elif kind == YPR:
        E = mat_mul(E, yaw_pitch_roll(qpos[q], qpos[q + 1], qpos[q + 2]))
    elif kind == RACK_PINION:
        r = add3(r, mat_vec(E, in_plane(m, j, m.jnt_param[j, 0] * qpos[q], 0.0)))
        E = turned(m, j, qpos[q])
    elif kind == PLANAR_FP:
        r = add3(r, mat_vec(E, in_plane(m, j, qpos[q + 1], qpos[q + 2])))
        E = turned(m, j, qpos[q])
    elif kind == PLANAR_FS:
        E = turned(m, j, qpos[q])
        r = add3(r, mat_vec(E, in_plane(m, j, qpos[q + 1], qpos[q + 2])))
    elif kind == SIXDOF_FP:
        r = add3(r, mat_vec(E, (qpos[q + 4], qpos[q + 5], qpos[q + 6])))
        E = mat_mul(E, quat_mat(qpos, q))
    elif kind == SIXDOF_FS:
        E = mat_mul(E, quat_mat(qpos, q))
        r = add3(r, mat_vec(E, (qpos[q + 4], qpos[q + 5], qpos[q + 6])))
    else:
        _call_user(m, d, j)
        u = d.user_joint[m.jnt_userid[j]]
        r = add3(r, mat_vec(E, (u[R_AT], u[R_AT + 1], u[R_AT + 2])))
        E = mat_mul(E, (u[0], u[3], u[6], u[1], u[4], u[7], u[2], u[5], u[8]))
    return r, E


@kernel
def library_motion(m, d, j, i, origin, reverse):
    """Write cdof of a joint from its predecessor to its successor.

    If `reverse`, body i is the predecessor.
    """
    kind = m.jnt_type[j]
    v = m.jnt_dofadr_all[j]
    cdof = d.cdof_all
    R, p = frame_s(m, d.xpos, d.xmat, i, reverse)
    arm = sub3(origin, p)
    axis = mat_vec(R, load3(m.jnt_axis, j))
    if kind == HELICAL:
        write_screw(cdof, v, axis, scaled3(axis, m.jnt_param[j, 0]), arm)
    elif kind == CYLINDRICAL:
        write_turn(cdof, v, axis, arm)
        write_shift(cdof, v + 1, axis)
    elif kind == UNIVERSAL:
        P, _ = frame_p(m, d.xpos, d.xmat, i, reverse)
        B = load9(m.jnt_basis, j)
        write_turn(cdof, v, mat_vec(P, (B[0], B[1], B[2])), arm)
        write_turn(cdof, v + 1, mat_vec(R, (B[3], B[4], B[5])), arm)
    elif kind == YPR:
        ypr_motion(m, d, j, R, arm)
    elif kind == RACK_PINION:
        P, _ = frame_p(m, d.xpos, d.xmat, i, reverse)
        write_screw(cdof, v, axis, mat_vec(P, in_plane(m, j, m.jnt_param[j, 0], 0.0)), arm)
    elif kind == PLANAR_FP or kind == PLANAR_FS:
        write_turn(cdof, v, axis, arm)
        write_shift(cdof, v + 1, mat_vec(R, in_plane(m, j, 1.0, 0.0)))
        write_shift(cdof, v + 2, mat_vec(R, in_plane(m, j, 0.0, 1.0)))
    elif kind == SIXDOF_FP or kind == SIXDOF_FS:
        write_turns(cdof, v, R, arm)
        write_shifts(cdof, v + 3, R)
    else:
        for k in range(m.jnt_dofnum[j]):
            store6(cdof, v + k, _user_column(m, d, j, S_AT + 6 * k, R, arm))


@kernel
def guess_position(m, d, j, r):
    """Write a first guess of the position of joint j at which F_s is at r in F_p.

    If a full rotation also translates, as with a pitch or a radius, the guess has the right number
    of rotations. For a user-defined joint the guess is the last position.
    """
    kind, q = m.jnt_type[j], m.jnt_qposadr[j]
    own = d.qpos[q : q + m.jnt_dofnum[j]]
    if kind == USER:
        for k in range(len(own)):
            own[k] = own[k] if abs(own[k]) < np.inf else 0.0
        return
    end = m.jnt_qposadr[j + 1] if j + 1 < m.njnt else m.nq
    for k in range(q, end):
        d.qpos[k] = m.qpos0[k]
    rate = m.jnt_param[j, 0]
    if kind == HELICAL and rate != 0.0:
        d.qpos[q] = dot3(load3(m.jnt_axis, j), r) / rate
    elif kind == RACK_PINION and rate != 0.0:
        d.qpos[q] = dot3(in_plane(m, j, 1.0, 0.0), r) / rate


@kernel
def add_apparent(m, d, j, i, reverse):
    """Add the apparent derivative of S to cdof_dot (RBDA eq 3.42)."""
    first = m.jnt_dofadr_all[j]
    sign = -1.0 if reverse else 1.0
    if m.jnt_type[j] == RACK_PINION:
        # the rack's direction is fixed in F_p, and the pinion's centre moves along it
        P, _ = frame_p(m, d.xpos, d.xmat, i, reverse)
        y = mat_vec(P, in_plane(m, j, 0.0, 1.0))
        change = scaled3(y, -sign * m.jnt_param[j, 0] * d.qvel_all[first])
        d.cdof_dot_all[first, 3] += change[0]
        d.cdof_dot_all[first, 4] += change[1]
        d.cdof_dot_all[first, 5] += change[2]
    else:
        _call_user(m, d, j)
        R, p = frame_s(m, d.xpos, d.xmat, i, reverse)
        arm = sub3(load3(d.subtree_com, m.body_rootid[i]), p)
        for k in range(m.jnt_dofnum[j]):
            change = _user_column(m, d, j, S_DOT_AT + 6 * k, R, arm)
            total = add_scaled6(load6(d.cdof_dot_all, first + k), change, sign)
            store6(d.cdof_dot_all, first + k, total)


@inline
def _call_user(m, d, j):
    q, v = d.qpos_all[m.jnt_qposadr_all[j] :], d.qvel_all[m.jnt_dofadr_all[j] :]
    call(m.jnt_jcalc[j], q, v, m.jnt_param[j], d.user_joint[m.jnt_userid[j]])


@inline
def _user_column(m, d, j, start, R, arm):
    # transform a column of S or S_dot from F_s to the world
    u = d.user_joint[m.jnt_userid[j]]
    w = mat_vec(R, (u[start], u[start + 1], u[start + 2]))
    x = add3(mat_vec(R, (u[start + 3], u[start + 4], u[start + 5])), cross3(w, arm))
    return w[0], w[1], w[2], x[0], x[1], x[2]
