# SPDX-License-Identifier: Apache-2.0
"""Exponentials, logarithms and rates in the groups of rotations and poses.

Source: Murray, Li, Sastry, A Mathematical Introduction to Robotic Manipulation, 1994, appendix A;
RBDA section 4.5.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import add3, cross3, quat_at, quat_mul, scaled3, unit_quat
from rbdyn_ros.engine.compiler.jit import inline, select


@inline
def write3(array, k, x):
    array[k], array[k + 1], array[k + 2] = x


@inline
def rotated(angle, x, y):
    c, s = np.cos(angle), np.sin(angle)
    return c * x - s * y, s * x + c * y


@inline
def integrate_quat(qpos, q, qvel, v, h):
    # q <- q exp(h w / 2), w in body axes, renormalised (RBDA section 4.5)
    x, y, z = h * qvel[v], h * qvel[v + 1], h * qvel[v + 2]
    half = 0.5 * np.sqrt(x * x + y * y + z * z)
    s = 0.5 * _sinc(half)
    turned = quat_mul(quat_at(qpos, q), (np.cos(half), s * x, s * y, s * z))
    w, x, y, z = turned
    qpos[q], qpos[q + 1], qpos[q + 2], qpos[q + 3] = unit_quat(w, x, y, z)


@inline
def _sinc(x):
    # sin(x) / x; below 1e-8 it is 1 to the last digit (0 / 0 at zero)
    large = x > 1e-8
    return select(large, np.sin(x) / select(large, x, 1.0), 1.0)


@inline
def quat_dot(qpos, q, qvel, v, out):
    # derivative of a quaternion, q (0, w) / 2 (RBDA eq 4.13)
    p = (qpos[q], qpos[q + 1], qpos[q + 2], qpos[q + 3])
    w = quat_mul(p, (0.0, 0.5 * qvel[v], 0.5 * qvel[v + 1], 0.5 * qvel[v + 2]))
    out[q], out[q + 1], out[q + 2], out[q + 3] = w


@inline
def turn_between(qpos1, qpos2, q):
    # log(q1^-1 q2), in the axes rotated by q1
    w, x, y, z = quat_at(qpos1, q)
    return log_quat(quat_mul((w, -x, -y, -z), quat_at(qpos2, q)))


@inline
def log_quat(p):
    # choose the shorter rotation
    sign = select(p[0] < 0.0, -1.0, 1.0)
    w, x, y, z = sign * p[0], sign * p[1], sign * p[2], sign * p[3]
    sine = np.sqrt(x * x + y * y + z * z)
    # scale is angle / sin(angle / 2), which is 2 near zero
    turned = sine > 1e-8
    scale = select(turned, 2.0 * np.arctan2(sine, w) / select(turned, sine, 1.0), 2.0)
    return scale * x, scale * y, scale * z


@inline
def log_mat(R):
    """Return the rotation vector of a matrix."""
    x, y, z = 0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1])
    sine, cosine = np.sqrt(x * x + y * y + z * z), 0.5 * (R[0] + R[4] + R[8] - 1.0)
    if sine > 1e-6:
        scale = np.arctan2(sine, cosine) / sine
    elif cosine > 0.0:
        scale = 1.0
    else:  # half a turn: every column of R + 1 is along the axis; the longest is the most accurate
        a = (R[0] + 1.0, R[3], R[6])
        if R[4] > R[0] and R[4] >= R[8]:
            a = (R[1], R[4] + 1.0, R[7])
        if R[8] > R[0] and R[8] > R[4]:
            a = (R[2], R[5], R[8] + 1.0)
        scale = np.pi / np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
        x, y, z = a
    return scale * x, scale * y, scale * z


@inline
def travelled(u, v):
    # V(u) v = v + b u x v + c u x (u x v): displacement by a constant velocity in a rotating frame
    square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2]
    half = 0.5 * np.sqrt(square)
    b = 0.5 * _sinc(half) * _sinc(half)  # (1 - cos) / angle^2
    small = square < 0.09
    angle = select(small, 1.0, 2.0 * half)
    far = (angle - np.sin(angle)) / (angle * angle * angle)
    # the next term is below 1e-15 of the first
    near = (1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0 - square * (
        1.0 / 362880.0 - square / 39916800.0))))  # fmt: skip
    c = select(small, near, far)
    uv = cross3(u, v)
    return add3(v, add3(scaled3(uv, b), scaled3(cross3(u, uv), c)))


@inline
def untravelled(u, p):
    # V(u)^-1 p = p - u x p / 2 + e u x (u x p), e = (1 - (angle / 2) cot(angle / 2)) / angle^2
    square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2]
    small = square < 0.04
    half = select(small, 1.0, 0.5 * np.sqrt(square))
    far = (1.0 - half * np.cos(half) / np.sin(half)) / (4.0 * half * half)
    # the next term is below 1e-15 of the first
    near = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square * (
        1.0 / 1209600.0 + square / 47900160.0)))  # fmt: skip
    e = select(small, near, far)
    up = cross3(u, p)
    return add3(p, add3(scaled3(up, -0.5), scaled3(cross3(u, up), e)))
