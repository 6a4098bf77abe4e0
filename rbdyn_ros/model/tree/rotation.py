# SPDX-License-Identifier: Apache-2.0
"""Rotations for building a Model: quaternions wxyz, and matrices from child to parent axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array

#: Indices of x, y, z, w in a wxyz quaternion, for ROS.
XYZW = [1, 2, 3, 0]


def quat_to_mat(quat: ArrayLike) -> Array:
    """Normalise a quaternion and return its 3x3 rotation matrix."""
    w, x, y, z = np.asarray(quat, np.float64) / np.linalg.norm(quat)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def mat_to_quat(mat: ArrayLike) -> Array:
    """Return the unit quaternions of rotation matrices, each with its largest entry positive.

    Args:
        mat: (..., 3, 3), or (9,) for a single matrix.

    Source: Shepperd, Quaternion from rotation matrix, 1978: divide by the largest entry.
    """
    R = np.asarray(mat, np.float64)
    R = R.reshape(3, 3) if R.ndim == 1 else R
    x, y, z = (R[..., k, k] for k in range(3))
    # the vector of the skew-symmetric R - R^T
    a, b, c = (R[..., k - 1, k - 2] - R[..., k - 2, k - 1] for k in range(3))
    d, e, f = (R[..., i, j] + R[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    # K = 4 q q^T
    w = x + y + z + 1.0
    K = np.array(
        [
            [w, a, b, c],
            [a, x - y - z + 1.0, d, e],
            [b, d, y - x - z + 1.0, f],
            [c, e, f, z - x - y + 1.0],
        ]
    )
    largest = np.argmax(np.einsum("ii...->i...", K), axis=0)
    row = np.moveaxis(np.take_along_axis(K, largest[None, None], axis=0)[0], 0, -1)
    quat: Array = row / np.linalg.norm(row, axis=-1, keepdims=True)
    return quat


def cross_matrix(v: ArrayLike) -> Array:
    """Return [v x], the matrix with [v x] u = v x u."""
    x, y, z = np.asarray(v, np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def turn_base(E0: ArrayLike, axis: ArrayLike) -> Array:
    """Return P, Q, W with E0 R(axis, q) = P + cos(q) Q + sin(q) W (Rodrigues' formula)."""
    first, a = np.asarray(E0, np.float64), np.asarray(axis, np.float64)
    along = np.outer(a, a)
    return np.array([first @ along, first @ (np.eye(3) - along), first @ cross_matrix(a)])


def plane_basis(normal: Array) -> Array:
    """Return rows x, y, z of a right-handed basis with z along a unit normal.

    x and y are the coordinate axes, rotated by the shortest rotation of the z axis onto the
    normal. So the normal (0, 0, 1) gives the coordinate axes.
    """
    x, y, z = np.asarray(normal, np.float64)
    # 1 + z, computed without cancellation if the normal points down
    above = 1.0 + z if z > 0.0 else (x * x + y * y) / (1.0 - z)
    if above == 0.0:  # the normal points down: half a turn about x
        return np.diag([1.0, -1.0, -1.0])
    return np.array(
        [
            [1.0 - x * x / above, -x * y / above, -x],
            [-x * y / above, 1.0 - y * y / above, -y],
            [x, y, z],
        ]
    )
