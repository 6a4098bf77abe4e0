"""Rotations as arrays, for building a Model; wxyz quaternions, 3x3 matrices child to parent."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array


def quat_to_mat(quat: ArrayLike) -> Array:
    """Return the 3x3 rotation matrix of a quaternion, which is normalised first."""
    w, x, y, z = np.asarray(quat, np.float64) / np.linalg.norm(quat)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def mat_to_quat(mat: ArrayLike) -> Array:
    """Return the unit quaternion of a rotation matrix, with its largest entry positive.

    Source: Shepperd, Quaternion from rotation matrix, 1978: divide by the largest entry.
    """
    R = np.asarray(mat, np.float64).reshape(3, 3)
    # 4 w^2, 4 x^2, 4 y^2, 4 z^2, each minus 1
    diagonal = np.array(
        [
            R[0, 0] + R[1, 1] + R[2, 2],
            R[0, 0] - R[1, 1] - R[2, 2],
            R[1, 1] - R[0, 0] - R[2, 2],
            R[2, 2] - R[0, 0] - R[1, 1],
        ]
    )
    products = np.array(
        [
            [0.0, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0.0, 0.0, R[1, 0] + R[0, 1], R[0, 2] + R[2, 0]],
            [0.0, 0.0, 0.0, R[2, 1] + R[1, 2]],
            [0.0, 0.0, 0.0, 0.0],
        ]
    )
    K = products + products.T + np.diag(diagonal + 1.0)
    row: Array = K[np.argmax(diagonal)]
    quat: Array = row / np.linalg.norm(row)
    return quat


def cross_matrix(v: ArrayLike) -> Array:
    """Return [v x]."""
    x, y, z = np.asarray(v, np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def turn_base(E0: ArrayLike, axis: ArrayLike) -> Array:
    """Return P, Q, W with E0 R(axis, q) = P + cos(q) Q + sin(q) W (Rodrigues' formula)."""
    first, a = np.asarray(E0, np.float64), np.asarray(axis, np.float64)
    along = np.outer(a, a)
    return np.array([first @ along, first @ (np.eye(3) - along), first @ cross_matrix(a)])


def plane_basis(normal: Array) -> Array:
    """Return rows x, y, z of a right-handed basis with z along a unit normal.

    x and y are those of the shortest rotation of the z axis onto the normal, so the normal
    (0, 0, 1) gives the axes themselves.
    """
    x, y, z = np.asarray(normal, np.float64)
    # 1 + z, without cancellation where the normal points down
    above = 1.0 + z if z > 0.0 else (x * x + y * y) / (1.0 - z)
    if above == 0.0:  # half a turn about x
        return np.diag([1.0, -1.0, -1.0])
    return np.array(
        [
            [1.0 - x * x / above, -x * y / above, -x],
            [-x * y / above, 1.0 - y * y / above, -y],
            [x, y, z],
        ]
    )
