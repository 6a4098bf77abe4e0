# SPDX-License-Identifier: Apache-2.0
"""Accept rotations from outside: quaternions and matrices that were written with few decimals."""

import math
from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array

#: Largest error of the norm of a quaternion, and of the entries of R^T R.
NEARLY = 1e-3


def unit_quaternion(quat: Sequence[float]) -> tuple[float, ...] | None:
    """Return a quaternion of four finite numbers, normalized; None: its norm is not near 1."""
    length = math.hypot(*quat)
    if not abs(length - 1.0) <= NEARLY:
        return None
    return tuple(number / length for number in quat)


def nearest_rotation(matrix: Array) -> Array | None:
    """Return the rotation nearest to a finite matrix (3, 3); None: no rotation is near."""
    off = float(np.abs(matrix.T @ matrix - np.eye(3)).max())
    if not (off <= NEARLY and np.linalg.det(matrix) > 0.0):
        return None
    left, _, right = np.linalg.svd(matrix)
    rotation: Array = left @ right
    return rotation
