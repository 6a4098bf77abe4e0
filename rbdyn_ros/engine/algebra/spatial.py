# SPDX-License-Identifier: Apache-2.0
"""Small vectors and spatial algebra: pure functions of tuples, which stay in registers.

These conventions hold in the whole engine: spatial 6-vectors are [angular; linear]; 3x3 matrices
are 9-tuples row by row; quaternions are wxyz; a rigid-body inertia is MuJoCo's cinert (Ixx, Iyy,
Izz, Ixy, Ixz, Iyz, mx, my, mz, m), its I about the frame's origin.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.compiler.jit import inline, select

ZERO3 = (0.0, 0.0, 0.0)
ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inline
def load3(array, i):
    return array[i, 0], array[i, 1], array[i, 2]


@inline
def load6(array, i):
    return array[i, 0], array[i, 1], array[i, 2], array[i, 3], array[i, 4], array[i, 5]


@inline
def load9(array, i):
    return (
        array[i, 0], array[i, 1], array[i, 2],
        array[i, 3], array[i, 4], array[i, 5],
        array[i, 6], array[i, 7], array[i, 8],
    )  # fmt: skip


@inline
def load10(array, i):
    return (
        array[i, 0], array[i, 1], array[i, 2], array[i, 3], array[i, 4],
        array[i, 5], array[i, 6], array[i, 7], array[i, 8], array[i, 9],
    )  # fmt: skip


@inline
def store3(array, i, v):
    array[i, 0], array[i, 1], array[i, 2] = v


@inline
def store6(array, i, v):
    array[i, 0], array[i, 1], array[i, 2], array[i, 3], array[i, 4], array[i, 5] = v


@inline
def store9(array, i, v):
    array[i, 0], array[i, 1], array[i, 2] = v[0], v[1], v[2]
    array[i, 3], array[i, 4], array[i, 5] = v[3], v[4], v[5]
    array[i, 6], array[i, 7], array[i, 8] = v[6], v[7], v[8]


@inline
def store10(array, i, v):
    store9(array, i, v)
    array[i, 9] = v[9]


@inline
def add10(a, b):
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4],
        a[5] + b[5], a[6] + b[6], a[7] + b[7], a[8] + b[8], a[9] + b[9],
    )  # fmt: skip


@inline
def add3(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inline
def sub3(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inline
def scaled3(a, s):
    return a[0] * s, a[1] * s, a[2] * s


@inline
def add_scaled3(a, b, s):
    return a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s


@inline
def select3(condition, a, b):
    return (
        select(condition, a[0], b[0]),
        select(condition, a[1], b[1]),
        select(condition, a[2], b[2]),
    )


@inline
def cross3(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def add6(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@inline
def add_scaled6(a, b, s):
    # a + b s
    return (
        a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s,
        a[3] + b[3] * s, a[4] + b[4] * s, a[5] + b[5] * s,
    )  # fmt: skip


@inline
def scaled6(a, s):
    return a[0] * s, a[1] * s, a[2] * s, a[3] * s, a[4] * s, a[5] * s


@inline
def dot6(a, b):
    # two sums of three products take half the time of one sum of six
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@inline
def moved(s, arm):
    # a motion vector at another point: [w; v + w x arm]
    v = add3((s[3], s[4], s[5]), cross3((s[0], s[1], s[2]), arm))
    return s[0], s[1], s[2], v[0], v[1], v[2]


@inline
def cross_motion(v, m):
    # v x m = [w x m_w; w x m_v + v x m_w]   (RBDA eq 2.31)
    return (
        v[1] * m[2] - v[2] * m[1],
        v[2] * m[0] - v[0] * m[2],
        v[0] * m[1] - v[1] * m[0],
        v[1] * m[5] - v[2] * m[4] + v[4] * m[2] - v[5] * m[1],
        v[2] * m[3] - v[0] * m[5] + v[5] * m[0] - v[3] * m[2],
        v[0] * m[4] - v[1] * m[3] + v[3] * m[1] - v[4] * m[0],
    )


@inline
def cross_force(v, f):
    # v x* f = [w x n + v x f; w x f]   (RBDA eq 2.32)
    return (
        v[1] * f[2] - v[2] * f[1] + v[4] * f[5] - v[5] * f[4],
        v[2] * f[0] - v[0] * f[2] + v[5] * f[3] - v[3] * f[5],
        v[0] * f[1] - v[1] * f[0] + v[3] * f[4] - v[4] * f[3],
        v[1] * f[5] - v[2] * f[4],
        v[2] * f[3] - v[0] * f[5],
        v[0] * f[4] - v[1] * f[3],
    )


@inline
def inertia_times(c, v):
    # I v = [I w + m c x v; m v - m c x w]   (RBDA eq 2.63)
    return (
        c[0] * v[0] + c[3] * v[1] + c[4] * v[2] + c[7] * v[5] - c[8] * v[4],
        c[3] * v[0] + c[1] * v[1] + c[5] * v[2] + c[8] * v[3] - c[6] * v[5],
        c[4] * v[0] + c[5] * v[1] + c[2] * v[2] + c[6] * v[4] - c[7] * v[3],
        c[9] * v[3] - c[7] * v[2] + c[8] * v[1],
        c[9] * v[4] - c[8] * v[0] + c[6] * v[2],
        c[9] * v[5] - c[6] * v[1] + c[7] * v[0],
    )


@inline
def mat_vec(R, v):
    return (
        R[0] * v[0] + R[1] * v[1] + R[2] * v[2],
        R[3] * v[0] + R[4] * v[1] + R[5] * v[2],
        R[6] * v[0] + R[7] * v[1] + R[8] * v[2],
    )


@inline
def mat_mul(A, B):
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@inline
def symmetric_times(S, v):
    # a symmetric matrix (xx, yy, zz, xy, xz, yz) times a vector
    return (
        S[0] * v[0] + S[3] * v[1] + S[4] * v[2],
        S[3] * v[0] + S[1] * v[1] + S[5] * v[2],
        S[4] * v[0] + S[5] * v[1] + S[2] * v[2],
    )


@inline
def transposed(R):
    return R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]


@inline
def unit_quat(w, x, y, z):
    # a quaternion of length zero counts as the identity, as in MuJoCo
    square = w * w + x * x + y * y + z * z
    sound = square > 1e-30
    n = 1.0 / np.sqrt(select(sound, square, 1.0))
    return select(sound, w * n, 1.0), x * n, y * n, z * n


@inline
def quat_at(qpos, q):
    # a user's quaternion may not have unit length
    return unit_quat(qpos[q], qpos[q + 1], qpos[q + 2], qpos[q + 3])


@inline
def quat_to_mat(q):
    w, x, y, z = q
    return (
        w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z,
    )  # fmt: skip


@inline
def quat_mul(p, q):
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@inline
def spatial_inertia(R, inertia, r, mass):
    # cinert of a body: R I R^T + m (r.r 1 - r r^T), m r, m   (MuJoCo mju_inertCom)
    xx, yy, zz, xy, xz, yz = inertia
    T = mat_mul(R, (xx, xy, xz, xy, yy, yz, xz, yz, zz))
    x, y, z = r
    mx, my, mz = mass * x, mass * y, mass * z
    return (
        T[0] * R[0] + T[1] * R[1] + T[2] * R[2] + my * y + mz * z,
        T[3] * R[3] + T[4] * R[4] + T[5] * R[5] + mx * x + mz * z,
        T[6] * R[6] + T[7] * R[7] + T[8] * R[8] + mx * x + my * y,
        T[0] * R[3] + T[1] * R[4] + T[2] * R[5] - mx * y,
        T[0] * R[6] + T[1] * R[7] + T[2] * R[8] - mx * z,
        T[3] * R[6] + T[4] * R[7] + T[5] * R[8] - my * z,
        mx, my, mz, mass,
    )  # fmt: skip
