"""What each joint type does: the only place that switches on the type of a joint.

Source: RBDA table 4.1 and section 4.4 (jcalc); names and layout are MuJoCo's.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.jit import inline, select
from rbdyn_ros.engine.spatial import (
    add3,
    cross3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    quat_mul,
    quat_to_mat,
    sub3,
)
from rbdyn_ros.model.joints import JointType

FREE, BALL, SLIDE, HINGE, PLANAR = (int(kind) for kind in JointType)
ZERO3 = (0.0, 0.0, 0.0)


@inline
def joint_pose(m, d, j, i):
    """Return position and rotation of body i in its parent body, at d.qpos."""
    kind = m.jnt_type[j]
    q = m.jnt_qposadr[j]
    r, E = load3(m.body_pos, i), load9(m.body_mat, i)
    if kind == HINGE:
        E = _turned(m, j, d.qpos[q])
    elif kind == SLIDE:
        x, y, z = load3(m.jnt_axis, j)
        s = d.qpos[q]
        r = add3(r, mat_vec(E, (x * s, y * s, z * s)))
    elif kind == FREE:
        r = add3(r, mat_vec(E, (d.qpos[q], d.qpos[q + 1], d.qpos[q + 2])))
        E = mat_mul(E, _unit_quat_mat(d.qpos, q + 3))
    elif kind == BALL:
        E = mat_mul(E, _unit_quat_mat(d.qpos, q))
    else:  # planar: x and y in the joint's parent frame, then the turn about the normal
        B = load9(m.jnt_basis, j)
        x, y = d.qpos[q], d.qpos[q + 1]
        offset = (B[0] * x + B[3] * y, B[1] * x + B[4] * y, B[2] * x + B[5] * y)
        r = add3(r, mat_vec(E, offset))
        E = _turned(m, j, d.qpos[q + 2])
    return r, E


@inline
def _turned(m, j, q):
    # R(q) = P + cos(q) Q + sin(q) W: Rodrigues' formula times the body's own rotation E0,
    # P = E0 a a^T, Q = E0 (1 - a a^T), W = E0 [a x]
    c, s = np.cos(q), np.sin(q)
    b = m.jnt_rotbase[j]
    return (
        b[0] + c * b[9] + s * b[18],
        b[1] + c * b[10] + s * b[19],
        b[2] + c * b[11] + s * b[20],
        b[3] + c * b[12] + s * b[21],
        b[4] + c * b[13] + s * b[22],
        b[5] + c * b[14] + s * b[23],
        b[6] + c * b[15] + s * b[24],
        b[7] + c * b[16] + s * b[25],
        b[8] + c * b[17] + s * b[26],
    )


@inline
def _unit_quat_mat(qpos, q):
    # the state is kept of unit length; what a user writes may not be
    return quat_to_mat(_normalised(qpos[q], qpos[q + 1], qpos[q + 2], qpos[q + 3]))


@inline
def _normalised(w, x, y, z):
    # a quaternion of no length is taken for no turn, as MuJoCo does
    square = w * w + x * x + y * y + z * z
    sound = square > 1e-30
    n = 1.0 / np.sqrt(select(sound, square, 1.0))
    return select(sound, w * n, 1.0), x * n, y * n, z * n


@inline
def joint_motion(m, d, j, i, origin):
    """Write cdof of joint j: its motion axes in the world, about `origin`."""
    kind = m.jnt_type[j]
    v = m.jnt_dofadr[j]
    R = load9(d.xmat, i)
    arm = sub3(origin, load3(d.xpos, i))
    if kind == HINGE:
        _write_turn(d.cdof, v, mat_vec(R, load3(m.jnt_axis, j)), arm)
    elif kind == SLIDE:
        _write_shift(d.cdof, v, mat_vec(R, load3(m.jnt_axis, j)))
    elif kind == PLANAR:
        # x and y are axes of the frame before the turn: xmat_parent body_mat
        P = mat_mul(load9(d.xmat, m.body_parentid[i]), load9(m.body_mat, i))
        B = load9(m.jnt_basis, j)
        _write_shift(d.cdof, v, mat_vec(P, (B[0], B[1], B[2])))
        _write_shift(d.cdof, v + 1, mat_vec(P, (B[3], B[4], B[5])))
        _write_turn(d.cdof, v + 2, mat_vec(R, load3(m.jnt_axis, j)), arm)
    else:
        if kind == FREE:
            P = mat_mul(load9(d.xmat, m.body_parentid[i]), load9(m.body_mat, i))
            _write_shift(d.cdof, v, (P[0], P[3], P[6]))
            _write_shift(d.cdof, v + 1, (P[1], P[4], P[7]))
            _write_shift(d.cdof, v + 2, (P[2], P[5], P[8]))
            v += 3
        _write_turn(d.cdof, v, (R[0], R[3], R[6]), arm)
        _write_turn(d.cdof, v + 1, (R[1], R[4], R[7]), arm)
        _write_turn(d.cdof, v + 2, (R[2], R[5], R[8]), arm)


@inline
def _write_turn(cdof, v, axis, arm):
    # MuJoCo mju_dofCom: [axis; axis x (origin - anchor)]
    cdof[v, 0], cdof[v, 1], cdof[v, 2] = axis
    cdof[v, 3], cdof[v, 4], cdof[v, 5] = cross3(axis, arm)


@inline
def _write_shift(cdof, v, axis):
    cdof[v, 0], cdof[v, 1], cdof[v, 2] = ZERO3
    cdof[v, 3], cdof[v, 4], cdof[v, 5] = axis


@inline
def integrate_joint(m, j, qpos, qvel, h):
    """Advance the position of joint j in `qpos` by h times `qvel`, on its manifold."""
    kind = m.jnt_type[j]
    q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
    if kind == HINGE or kind == SLIDE:
        qpos[q] += h * qvel[v]
    elif kind == BALL:
        _integrate_quat(qpos, q, qvel, v, h)
    else:
        for k in range(3):
            qpos[q + k] += h * qvel[v + k]
        if kind == FREE:
            _integrate_quat(qpos, q + 3, qvel, v + 3, h)


@inline
def joint_rate(m, j, rate, qvel, h):
    """Replace `rate` of joint j by the rate at which its displacement h `rate` grows now.

    A displacement u from the start of a step is what integrate_joint takes; it grows with qvel
    where the joint moves in a flat space, but turns add up by exp(u), whose derivative it is
    that qvel gives: u' = dexp^-1(-u) w.
    """
    kind = m.jnt_type[j]
    v = m.jnt_dofadr[j]
    if kind == FREE:
        for k in range(v, v + 3):
            rate[k] = qvel[k]
        v += 3
    if kind == FREE or kind == BALL:
        u = (h * rate[v], h * rate[v + 1], h * rate[v + 2])
        w = (qvel[v], qvel[v + 1], qvel[v + 2])
        # w + u x w / 2 + u x (u x w) / 12; the next term is of fourth order in h
        uw = cross3(u, w)
        uuw = cross3(u, uw)
        for k in range(3):
            rate[v + k] = w[k] + uw[k] / 2.0 + uuw[k] / 12.0
    elif kind == PLANAR:
        for k in range(v, v + 3):
            rate[k] = qvel[k]
    else:
        rate[v] = qvel[v]


@inline
def _integrate_quat(qpos, q, qvel, v, h):
    # q <- q exp(h w / 2), w in body axes, renormalised (RBDA section 4.5)
    x, y, z = h * qvel[v], h * qvel[v + 1], h * qvel[v + 2]
    half = 0.5 * np.sqrt(x * x + y * y + z * z)
    # sin(half) / (2 half); below 1e-8 it is 1 / 2 to the last digit, and would be 0 / 0 at zero
    moved = half > 1e-8
    divisor = select(moved, half, 1.0)
    s = 0.5 * select(moved, np.sin(half) / divisor, 1.0)
    turn = (np.cos(half), s * x, s * y, s * z)
    start = _normalised(qpos[q], qpos[q + 1], qpos[q + 2], qpos[q + 3])
    w, x, y, z = quat_mul(start, turn)
    qpos[q], qpos[q + 1], qpos[q + 2], qpos[q + 3] = _normalised(w, x, y, z)
