# SPDX-License-Identifier: Apache-2.0
"""Velocity and acceleration of a frame, its Jacobian and the Jacobian's derivative.

All vectors are [angular; linear]. A reference selects the point and the axes of a velocity. WORLD
is the spatial velocity about the world's origin, LOCAL is the velocity of the frame in its own
axes, and LOCAL_WORLD_ALIGNED is the velocity of the frame's origin in world axes. An acceleration
is the plain time derivative of these six numbers.

Source: RBDA eq 2.27 (velocities at another point), 2.45 (derivatives in moving coordinates). The
three references are Pinocchio's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    ZERO6,
    add3,
    add6,
    add_scaled6,
    cross3,
    cross_motion,
    load3,
    load6,
    load9,
    mat_mul,
    mat_vec,
    moved,
    quat_to_mat,
    scaled6,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import brief, inline, kernel
from rbdyn_ros.engine.joints.coordinates import acts_on, clear
from rbdyn_ros.engine.joints.follow import follow, follow_acceleration
from rbdyn_ros.engine.quantities.chain import follow_chain, motion_about
from rbdyn_ros.engine.tree.kinematics import axes, com_vel, poses
from rbdyn_ros.engine.tree.rates import axis_rates

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

WORLD, LOCAL, LOCAL_WORLD_ALIGNED = range(3)


@brief
def frame_pose(m: Model, d: Data, frame: int, out: Matrix) -> None:
    """Write the rotation of a frame in the world, (3, 3), and its position as the fourth row."""
    body = m.frame_bodyid[frame]
    follow_chain(m, d, body)
    x, R = _place(m, frame, LOCAL, d.chain_xpos, d.chain_xmat)
    out[0, 0], out[0, 1], out[0, 2] = R[0], R[1], R[2]
    out[1, 0], out[1, 1], out[1, 2] = R[3], R[4], R[5]
    out[2, 0], out[2, 1], out[2, 2] = R[6], R[7], R[8]
    out[3, 0], out[3, 1], out[3, 2] = x


@brief
def frame_jacobian(m: Model, d: Data, frame: int, reference: int, J: Matrix) -> None:
    """Write J (6, nv) with velocity = J qvel (plus the motion of driven joints)."""
    body = m.frame_bodyid[frame]
    number = follow_chain(m, d, body)
    point, R = _place(m, frame, reference, d.chain_xpos, d.chain_xmat)
    _write_columns(m, d, number, point, reference, R, J)


@kernel
def pose_and_jacobian(m, d, frame, J):
    """Write J (6, nv) as frame_jacobian for LOCAL_WORLD_ALIGNED; return the frame's pose."""
    number = follow_chain(m, d, m.frame_bodyid[frame])
    x, R = _place(m, frame, LOCAL, d.chain_xpos, d.chain_xmat)
    _write_columns(m, d, number, x, LOCAL_WORLD_ALIGNED, R, J)
    return x, R


@brief
def frame_jacobian_dot(m: Model, d: Data, frame: int, reference: int, J: Matrix) -> None:
    """Write the time derivative (6, nv) of the J that frame_jacobian writes."""
    poses(m, d)
    axes(m, d)
    com_vel(m, d)
    axis_rates(m, d)
    clear(J)
    body = m.frame_bodyid[frame]
    point, R = _place(m, frame, reference, d.xpos, d.xmat)
    arm = sub3(point, load3(d.subtree_com, m.body_rootid[body]))
    v = load6(d.cvel, body)
    at_frame = moved(v, arm)
    while body > 0:
        j = body - 1
        for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            S, rate = load6(d.cdof_all, c), load6(d.cdof_rate, c)
            if reference == LOCAL:
                rate = add_scaled6(rate, cross_motion(v, S), -1.0)
            column = _seen(reference, R, moved(rate, arm))
            if reference == LOCAL_WORLD_ALIGNED:
                column = add6(column, _moving_with(S, at_frame))
            _add_column(m, J, j, c, column)
        body = m.body_parentid[body]


@brief
def frame_velocity(m: Model, d: Data, frame: int, reference: int, out: Vector) -> None:
    """Write the velocity (6,) of a frame; `reference` selects its point and axes."""
    number = follow_chain(m, d, m.frame_bodyid[frame])
    point, R = _place(m, frame, reference, d.chain_xpos, d.chain_xmat)
    if m.nmimic > 0:
        follow(m, d)
    v = ZERO6
    for n in range(number):
        j = d.chain[n] - 1
        motion_about(m, d, j, j + 1, point, d.chain_xpos, d.chain_xmat)
        for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            v = add_scaled6(v, load6(d.chain_cdof, c), d.qvel_all[c])
    out[0], out[1], out[2], out[3], out[4], out[5] = _seen(reference, R, v)


@brief
def frame_acceleration(m: Model, d: Data, frame: int, reference: int, out: Vector) -> None:
    """Write the derivative of frame_velocity at qacc, (6,), without gravity."""
    poses(m, d)
    axes(m, d)
    com_vel(m, d)
    if m.nmimic > 0:
        follow_acceleration(m, d)
    body, a = m.frame_bodyid[frame], ZERO6
    point, R = _place(m, frame, reference, d.xpos, d.xmat)
    arm = sub3(point, load3(d.subtree_com, m.body_rootid[body]))
    v = load6(d.cvel, body)
    while body > 0:
        j = body - 1
        for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            a = add_scaled6(a, load6(d.cdof_all, c), d.qacc_all[c])
            a = add_scaled6(a, load6(d.cdof_dot_all, c), d.qvel_all[c])
        body = m.body_parentid[body]
    a = _seen(reference, R, moved(a, arm))
    if reference == LOCAL_WORLD_ALIGNED:
        a = add6(a, _moving_with(v, moved(v, arm)))
    out[0], out[1], out[2], out[3], out[4], out[5] = a


@inline
def _write_columns(m, d, number, point, reference, R, J):
    """Write J of a point on the last body of the chain, in the axes of a reference."""
    clear(J)
    for n in range(number):
        j = d.chain[n] - 1
        motion_about(m, d, j, j + 1, point, d.chain_xpos, d.chain_xmat)
        for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            _add_column(m, J, j, c, _seen(reference, R, load6(d.chain_cdof, c)))


@inline
def _place(m, frame, reference, xpos, xmat):
    """Return the point of a reference, and the axes of the frame (LOCAL) or of its body."""
    body = m.frame_bodyid[frame]
    R = load9(xmat, body)
    if reference == WORLD:
        return ZERO3, R
    x = add3(load3(xpos, body), mat_vec(R, load3(m.frame_pos, frame)))
    return x, _axes(m, frame, R) if reference == LOCAL else R


@inline
def _axes(m, frame, R):
    """Return the rotation of a frame from the rotation R of its body."""
    q = m.frame_quat[frame]
    return mat_mul(R, quat_to_mat((q[0], q[1], q[2], q[3])))


@inline
def _seen(reference, R, s):
    """Return a motion vector in the axes of a reference; R is the frame's rotation matrix."""
    if reference == LOCAL:
        back = transposed(R)
        w, v = mat_vec(back, (s[0], s[1], s[2])), mat_vec(back, (s[3], s[4], s[5]))
        s = w[0], w[1], w[2], v[0], v[1], v[2]
    return s


@inline
def _moving_with(s, at_frame):
    """Return the derivative of a motion vector that the reference point's velocity causes."""
    v = cross3((s[0], s[1], s[2]), (at_frame[3], at_frame[4], at_frame[5]))
    return 0.0, 0.0, 0.0, v[0], v[1], v[2]


@inline
def _add_column(m, J, j, c, column):
    k, times = acts_on(m, j, c)
    if k >= 0:
        s = scaled6(column, times)
        J[0, k] += s[0]
        J[1, k] += s[1]
        J[2, k] += s[2]
        J[3, k] += s[3]
        J[4, k] += s[4]
        J[5, k] += s[5]
