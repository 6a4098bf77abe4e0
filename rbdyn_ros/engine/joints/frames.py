# SPDX-License-Identifier: Apache-2.0
"""The two frames of a joint, the rotations across it, and motion axes in the world."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    cross3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    quat_at,
    quat_to_mat,
)
from rbdyn_ros.engine.compiler.jit import inline


@inline
def _body_side(xpos, xmat, i):
    return load9(xmat, i), load3(xpos, i)


@inline
def _parent_side(m, xpos, xmat, i):
    parent = m.body_parentid[i]
    R = load9(xmat, parent)
    return (
        mat_mul(R, load9(m.body_mat, i)),
        add3(load3(xpos, parent), mat_vec(R, load3(m.body_pos, i))),
    )


@inline
def frame_p(m, xpos, xmat, i, reverse):
    """Return the rotation and origin of F_p in the world; a reversed joint has F_p on the body."""
    return _body_side(xpos, xmat, i) if reverse else _parent_side(m, xpos, xmat, i)


@inline
def frame_s(m, xpos, xmat, i, reverse):
    """Return rotation and origin of F_s in the world; a reversed joint has F_s on the parent."""
    return _parent_side(m, xpos, xmat, i) if reverse else _body_side(xpos, xmat, i)


@inline
def turned(m, j, q):
    """Return the rotation of F_s: the rotation of F_p, then a rotation by q about jnt_axis."""
    # R(q) = P + cos(q) Q + sin(q) W is Rodrigues' formula times the rotation E0 of F_p, with P =
    # E0 a a^T, Q = E0 (1 - a a^T), W = E0 [a x]; E0 = 1 in a reversed joint
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
def turn(a, q):
    """Return the rotation matrix of the angle q about the unit axis a."""
    # Rodrigues' formula: 1 cos + a a^T (1 - cos) + [a x] sin
    c, s = np.cos(q), np.sin(q)
    x, y, z = a
    o = 1.0 - c
    return (
        c + x * x * o, x * y * o - z * s, x * z * o + y * s,
        x * y * o + z * s, c + y * y * o, y * z * o - x * s,
        x * z * o - y * s, y * z * o + x * s, c + z * z * o,
    )  # fmt: skip


@inline
def in_plane(m, j, x, y):
    """Return the vector with components x and y along the joint's axes, in the joint frame."""
    B = m.jnt_basis[j]
    return B[0] * x + B[3] * y, B[1] * x + B[4] * y, B[2] * x + B[5] * y


@inline
def quat_mat(qpos, q):
    """Return the rotation of the quaternion at q."""
    return quat_to_mat(quat_at(qpos, q))


@inline
def write_turn(cdof, v, axis, arm):
    # MuJoCo mju_dofCom: [axis; axis x (origin - anchor)]
    cdof[v, 0], cdof[v, 1], cdof[v, 2] = axis
    cdof[v, 3], cdof[v, 4], cdof[v, 5] = cross3(axis, arm)


@inline
def write_shift(cdof, v, axis):
    cdof[v, 0], cdof[v, 1], cdof[v, 2] = ZERO3
    cdof[v, 3], cdof[v, 4], cdof[v, 5] = axis


@inline
def write_screw(cdof, v, axis, shift, arm):
    cdof[v, 0], cdof[v, 1], cdof[v, 2] = axis
    cdof[v, 3], cdof[v, 4], cdof[v, 5] = add3(cross3(axis, arm), shift)


@inline
def write_turns(cdof, v, R, arm):
    write_turn(cdof, v, (R[0], R[3], R[6]), arm)
    write_turn(cdof, v + 1, (R[1], R[4], R[7]), arm)
    write_turn(cdof, v + 2, (R[2], R[5], R[8]), arm)


@inline
def write_shifts(cdof, v, R):
    write_shift(cdof, v, (R[0], R[3], R[6]))
    write_shift(cdof, v + 1, (R[1], R[4], R[7]))
    write_shift(cdof, v + 2, (R[2], R[5], R[8]))
