# SPDX-License-Identifier: Apache-2.0
"""Symmetric 6x6 matrices as 21 numbers, the upper triangle by rows."""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import dot6, scaled6
from rbdyn_ros.engine.compiler.jit import inline

ZERO21 = (0.0,) * 21


@inline
def rigid_inertia(c):
    # [I, m c x; -m c x, m 1]
    m, x, y, z = c[9], c[6], c[7], c[8]
    return (
        c[0], c[3], c[4], 0.0, -z, y,
        c[1], c[5], z, 0.0, -x,
        c[2], -y, x, 0.0,
        m, 0.0, 0.0,
        m, 0.0,
        m,
    )  # fmt: skip


@inline
def add_rigid_inertia(A, c):
    m, x, y, z = c[9], c[6], c[7], c[8]
    return (
        A[0] + c[0], A[1] + c[3], A[2] + c[4], A[3], A[4] - z, A[5] + y,
        A[6] + c[1], A[7] + c[5], A[8] + z, A[9], A[10] - x,
        A[11] + c[2], A[12] - y, A[13] + x, A[14],
        A[15] + m, A[16], A[17],
        A[18] + m, A[19],
        A[20] + m,
    )  # fmt: skip


@inline
def store21(array, i, A):
    r = array[i]
    r[0], r[1], r[2], r[3], r[4], r[5] = A[0], A[1], A[2], A[3], A[4], A[5]
    r[6], r[7], r[8], r[9], r[10] = A[6], A[7], A[8], A[9], A[10]
    r[11], r[12], r[13], r[14] = A[11], A[12], A[13], A[14]
    r[15], r[16], r[17], r[18], r[19], r[20] = A[15], A[16], A[17], A[18], A[19], A[20]


@inline
def add21(A, B):
    return (
        A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5],
        A[6] + B[6], A[7] + B[7], A[8] + B[8], A[9] + B[9], A[10] + B[10],
        A[11] + B[11], A[12] + B[12], A[13] + B[13], A[14] + B[14],
        A[15] + B[15], A[16] + B[16], A[17] + B[17],
        A[18] + B[18], A[19] + B[19],
        A[20] + B[20],
    )  # fmt: skip


@inline
def scaled21(A, s):
    return (
        A[0] * s, A[1] * s, A[2] * s, A[3] * s, A[4] * s, A[5] * s,
        A[6] * s, A[7] * s, A[8] * s, A[9] * s, A[10] * s,
        A[11] * s, A[12] * s, A[13] * s, A[14] * s,
        A[15] * s, A[16] * s, A[17] * s,
        A[18] * s, A[19] * s,
        A[20] * s,
    )  # fmt: skip


@inline
def add_outer(A, s, x):
    # A + x s s^T
    return minus_outer(A, scaled6(s, -x), s)


@inline
def load21(array, i):
    r = array[i]
    return (
        r[0], r[1], r[2], r[3], r[4], r[5],
        r[6], r[7], r[8], r[9], r[10],
        r[11], r[12], r[13], r[14],
        r[15], r[16], r[17],
        r[18], r[19],
        r[20],
    )  # fmt: skip


@inline
def times21(A, s):
    return (
        dot6((A[0], A[1], A[2], A[3], A[4], A[5]), s),
        dot6((A[1], A[6], A[7], A[8], A[9], A[10]), s),
        dot6((A[2], A[7], A[11], A[12], A[13], A[14]), s),
        dot6((A[3], A[8], A[12], A[15], A[16], A[17]), s),
        dot6((A[4], A[9], A[13], A[16], A[18], A[19]), s),
        dot6((A[5], A[10], A[14], A[17], A[19], A[20]), s),
    )


@inline
def columns21(A):
    """Return the six columns of a matrix."""
    return (
        (A[0], A[1], A[2], A[3], A[4], A[5]),
        (A[1], A[6], A[7], A[8], A[9], A[10]),
        (A[2], A[7], A[11], A[12], A[13], A[14]),
        (A[3], A[8], A[12], A[15], A[16], A[17]),
        (A[4], A[9], A[13], A[16], A[18], A[19]),
        (A[5], A[10], A[14], A[17], A[19], A[20]),
    )


@inline
def minus_outer(A, V, U):
    # A - V U^T, which must be symmetric
    return (
        A[0] - V[0] * U[0], A[1] - V[0] * U[1], A[2] - V[0] * U[2],
        A[3] - V[0] * U[3], A[4] - V[0] * U[4], A[5] - V[0] * U[5],
        A[6] - V[1] * U[1], A[7] - V[1] * U[2], A[8] - V[1] * U[3],
        A[9] - V[1] * U[4], A[10] - V[1] * U[5],
        A[11] - V[2] * U[2], A[12] - V[2] * U[3], A[13] - V[2] * U[4], A[14] - V[2] * U[5],
        A[15] - V[3] * U[3], A[16] - V[3] * U[4], A[17] - V[3] * U[5],
        A[18] - V[4] * U[4], A[19] - V[4] * U[5],
        A[20] - V[5] * U[5],
    )  # fmt: skip
