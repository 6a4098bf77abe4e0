# SPDX-License-Identifier: Apache-2.0
"""Rules for the coordinates of each joint type: integration, differences, rates, springs.

Most types are flat: their velocities are the derivatives of their positions. The other types have
quaternions, or a velocity in the successor's frame, and are integrated by the exponential of their
group.

Source: RBDA section 4.5 and example 4.5.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    cross3,
    cross_motion,
    mat_vec,
    quat_at,
    quat_mul,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel, select
from rbdyn_ros.engine.joints.frames import quat_mat
from rbdyn_ros.engine.joints.groups import (
    integrate_quat,
    log_quat,
    quat_dot,
    rotated,
    travelled,
    turn_between,
    untravelled,
    write3,
)
from rbdyn_ros.engine.joints.jcalc import BALL, FREE, HINGE, SLIDE
from rbdyn_ros.engine.joints.library import PLANAR_FP, PLANAR_FS, SIXDOF_FP, SIXDOF_FS


@inline
def integrate_joint(m, j, qpos, qvel, h):
    """Advance the position of joint j in `qpos` by h times `qvel`, on its manifold."""
    kind = m.jnt_type[j]
    q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
    if kind == HINGE or kind == SLIDE:
        qpos[q] += h * qvel[v]
    elif kind == BALL:
        integrate_quat(qpos, q, qvel, v, h)
    elif kind == FREE:
        for k in range(3):
            qpos[q + k] += h * qvel[v + k]
        integrate_quat(qpos, q + 3, qvel, v + 3, h)
    elif kind >= PLANAR_FP and kind <= SIXDOF_FS:
        _integrate_group(m, j, qpos, qvel, h)
    else:
        for k in range(m.jnt_dofnum[j]):
            qpos[q + k] += h * qvel[v + k]


@kernel
def _integrate_group(m, j, qpos, qvel, h):
    """Move joint j at constant velocity in its moving frame: the exponential of SE(2), SE(3)."""
    kind = m.jnt_type[j]
    q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
    if kind == SIXDOF_FP or kind == SIXDOF_FS:
        u = (h * qvel[v], h * qvel[v + 1], h * qvel[v + 2])
        step = travelled(u, (h * qvel[v + 3], h * qvel[v + 4], h * qvel[v + 5]))
        R = quat_mat(qpos, q)
        p = (qpos[q + 4], qpos[q + 5], qpos[q + 6])
        integrate_quat(qpos, q, qvel, v, h)
        if kind == SIXDOF_FP:
            p = add3(p, mat_vec(R, step))
        else:  # the position is given in the axes of the rotated frame
            p = mat_vec(transposed(quat_mat(qpos, q)), mat_vec(R, add3(p, step)))
        qpos[q + 4], qpos[q + 5], qpos[q + 6] = p
    else:
        angle = h * qvel[v]
        x, y, _ = travelled((0.0, 0.0, angle), (h * qvel[v + 1], h * qvel[v + 2], 0.0))
        if kind == PLANAR_FP:
            x, y = rotated(qpos[q], x, y)
            qpos[q + 1] += x
            qpos[q + 2] += y
        else:
            qpos[q + 1], qpos[q + 2] = rotated(-angle, qpos[q + 1] + x, qpos[q + 2] + y)
        qpos[q] += angle


@kernel
def differentiate_joint(m, j, qpos1, qpos2, qvel, h):
    """Write to `qvel` the velocity that leads joint j from qpos1 to qpos2 in the time h."""
    kind = m.jnt_type[j]
    q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
    if kind == BALL:
        write3(qvel, v, turn_between(qpos1, qpos2, q))
    elif kind == FREE:
        for k in range(3):
            qvel[v + k] = qpos2[q + k] - qpos1[q + k]
        write3(qvel, v + 3, turn_between(qpos1, qpos2, q + 3))
    elif kind == SIXDOF_FP or kind == SIXDOF_FS:
        u = turn_between(qpos1, qpos2, q)
        write3(qvel, v, u)
        write3(qvel, v + 3, untravelled(u, _shift_between(m, j, qpos1, qpos2)))
    elif kind == PLANAR_FP or kind == PLANAR_FS:
        turns = qpos2[q] - qpos1[q]
        # choose the shorter rotation, as for quaternions
        u = (0.0, 0.0, turns - 2.0 * np.pi * np.floor(turns / (2.0 * np.pi) + 0.5))
        x, y, _ = untravelled(u, _shift_between(m, j, qpos1, qpos2))
        qvel[v], qvel[v + 1], qvel[v + 2] = u[2], x, y
    else:
        for k in range(m.jnt_dofnum[j]):
            qvel[v + k] = qpos2[q + k] - qpos1[q + k]
    for k in range(v, v + m.jnt_dofnum[j]):
        qvel[k] /= h


@kernel
def _shift_between(m, j, qpos1, qpos2):
    """Return the displacement from qpos1 to qpos2 in the axes of F_s at qpos1."""
    kind = m.jnt_type[j]
    q = m.jnt_qposadr[j]
    if kind == SIXDOF_FP or kind == SIXDOF_FS:
        p1 = (qpos1[q + 4], qpos1[q + 5], qpos1[q + 6])
        p2 = (qpos2[q + 4], qpos2[q + 5], qpos2[q + 6])
        E = transposed(quat_mat(qpos1, q))
        if kind == SIXDOF_FP:
            return mat_vec(E, sub3(p2, p1))
        return sub3(mat_vec(E, mat_vec(quat_mat(qpos2, q), p2)), p1)
    if kind == PLANAR_FP:
        x, y = rotated(-qpos1[q], qpos2[q + 1] - qpos1[q + 1], qpos2[q + 2] - qpos1[q + 2])
    else:
        x, y = rotated(qpos2[q] - qpos1[q], qpos2[q + 1], qpos2[q + 2])
        x, y = x - qpos1[q + 1], y - qpos1[q + 2]
    return x, y, 0.0


@inline
def joint_rate(m, j, rate, qvel, h):
    """Replace `rate` of joint j by the present rate u' of its displacement u = h `rate`.

    u is the displacement from the start of a step that integrate_joint applies. For a flat joint
    u' is qvel. For rotations qvel is the derivative of exp(u), so u' = dexp^-1(-u) w = w + [u, w]
    / 2 + [u, [u, w]] / 12; the next term is of fourth order in h.
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
        uw = cross3(u, w)
        uuw = cross3(u, uw)
        for k in range(3):
            rate[v + k] = w[k] + uw[k] / 2.0 + uuw[k] / 12.0
    elif kind >= PLANAR_FP and kind <= SIXDOF_FS:
        _group_rate(m, j, rate, qvel, h)
    else:
        for k in range(v, v + m.jnt_dofnum[j]):
            rate[k] = qvel[k]


@kernel
def _group_rate(m, j, rate, qvel, h):
    v = m.jnt_dofadr[j]
    if m.jnt_type[j] == SIXDOF_FP or m.jnt_type[j] == SIXDOF_FS:
        u = (h * rate[v], h * rate[v + 1], h * rate[v + 2],
             h * rate[v + 3], h * rate[v + 4], h * rate[v + 5])  # fmt: skip
        w = (qvel[v], qvel[v + 1], qvel[v + 2], qvel[v + 3], qvel[v + 4], qvel[v + 5])
    else:
        u = (0.0, 0.0, h * rate[v], h * rate[v + 1], h * rate[v + 2], 0.0)
        w = (0.0, 0.0, qvel[v], qvel[v + 1], qvel[v + 2], 0.0)
    uw = cross_motion(u, w)
    uuw = cross_motion(u, uw)
    first = 0 if m.jnt_dofnum[j] == 6 else 2
    for k in range(m.jnt_dofnum[j]):
        rate[v + k] = w[first + k] + uw[first + k] / 2.0 + uuw[first + k] / 12.0


@kernel
def joint_qpos_dot(m, j, qpos, qvel, out):
    """Write the derivative of the positions of joint j: qdot = Q(q) alpha (RBDA eq 3.7)."""
    kind = m.jnt_type[j]
    q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
    if kind == BALL:
        quat_dot(qpos, q, qvel, v, out)
    elif kind == FREE:
        for k in range(3):
            out[q + k] = qvel[v + k]
        quat_dot(qpos, q + 3, qvel, v + 3, out)
    elif kind == SIXDOF_FP or kind == SIXDOF_FS:
        quat_dot(qpos, q, qvel, v, out)
        w = (qvel[v], qvel[v + 1], qvel[v + 2])
        shift = (qvel[v + 3], qvel[v + 4], qvel[v + 5])
        if kind == SIXDOF_FP:
            shift = mat_vec(quat_mat(qpos, q), shift)
        else:
            shift = sub3(shift, cross3(w, (qpos[q + 4], qpos[q + 5], qpos[q + 6])))
        write3(out, q + 4, shift)
    elif kind == PLANAR_FP or kind == PLANAR_FS:
        # RBDA example 4.5, where alpha is the velocity in F_s
        out[q] = qvel[v]
        if kind == PLANAR_FP:
            out[q + 1], out[q + 2] = rotated(qpos[q], qvel[v + 1], qvel[v + 2])
        else:
            out[q + 1] = qvel[v + 1] + qvel[v] * qpos[q + 2]
            out[q + 2] = qvel[v + 2] - qvel[v] * qpos[q + 1]
    else:
        for k in range(m.jnt_dofnum[j]):
            out[q + k] = qvel[v + k]


@kernel
def joint_qvel(m, j, qpos, rate, out):
    """Write the velocities of joint j for a rate of its positions (inverse of joint_qpos_dot)."""
    kind = m.jnt_type[j]
    q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
    if kind == BALL:
        write3(out, v, _turning(qpos, rate, q))
    elif kind == FREE:
        write3(out, v, (rate[q], rate[q + 1], rate[q + 2]))
        write3(out, v + 3, _turning(qpos, rate, q + 3))
    elif kind == SIXDOF_FP or kind == SIXDOF_FS:
        w, shift = _turning(qpos, rate, q), (rate[q + 4], rate[q + 5], rate[q + 6])
        if kind == SIXDOF_FP:
            shift = mat_vec(transposed(quat_mat(qpos, q)), shift)
        else:
            shift = add3(shift, cross3(w, (qpos[q + 4], qpos[q + 5], qpos[q + 6])))
        write3(out, v, w)
        write3(out, v + 3, shift)
    elif kind == PLANAR_FP or kind == PLANAR_FS:
        x, y = rate[q + 1], rate[q + 2]
        if kind == PLANAR_FP:
            x, y = rotated(-qpos[q], x, y)
        else:
            x, y = x - rate[q] * qpos[q + 2], y + rate[q] * qpos[q + 1]
        out[v], out[v + 1], out[v + 2] = rate[q], x, y
    else:
        for k in range(m.jnt_dofnum[j]):
            out[v + k] = rate[q + k]


@inline
def _turning(qpos, rate, q):
    # w = 2 q^-1 q_dot (RBDA eq 4.13), q a unit quaternion
    back = (qpos[q], -qpos[q + 1], -qpos[q + 2], -qpos[q + 3])
    turned = quat_mul(back, (rate[q], rate[q + 1], rate[q + 2], rate[q + 3]))
    return 2.0 * turned[1], 2.0 * turned[2], 2.0 * turned[3]


@kernel
def joint_stretch(m, j, qpos, rest, stretch):
    """Write the displacement of joint j from the position `rest`.

    It is the gradient of half the squared distance to `rest`.

    The distance of two poses combines the distance of their origins and the angle between them.
    """
    kind = m.jnt_type[j]
    q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
    if kind == SIXDOF_FP or kind == SIXDOF_FS:
        write3(stretch, v, turn_between(rest, qpos, q))
        write3(stretch, v + 3, scaled3(_shift_between(m, j, qpos, rest), -1.0))
    elif kind == PLANAR_FP or kind == PLANAR_FS:
        x, y, _ = _shift_between(m, j, qpos, rest)
        stretch[v], stretch[v + 1], stretch[v + 2] = qpos[q] - rest[q], -x, -y
    else:
        differentiate_joint(m, j, rest, qpos, stretch, 1.0)


@inline
def ball_angle(qpos, q):
    """Return the axis and angle of a quaternion's rotation; the axis is zero for the identity."""
    u = log_quat(quat_at(qpos, q))
    angle = np.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    return scaled3(u, 1.0 / select(angle > 0.0, angle, 1.0)), angle
