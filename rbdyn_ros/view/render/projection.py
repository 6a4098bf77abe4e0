# SPDX-License-Identifier: Apache-2.0
"""Poses and projections of cameras and of the sun, as matrices (4, 4)."""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.errors import bad_argument

#: A pose: origin (3,) and axes (3, 3).
Place = tuple[Array, Array]


def pose_of(pos: Array, R: Array) -> Array:
    """Return a pose (4, 4) of a position (3,) and axes (3, 3)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, pos
    return pose


def inverse(pose: Array) -> Array:
    """Return the inverse of a pose."""
    R, pos = pose[:3, :3], pose[:3, 3]
    return pose_of(-R.T @ pos, R.T)


def projection(
    width: int, height: int, fx: float, fy: float, cx: float, cy: float, near: float, far: float
) -> Array:
    """Return the projection (4, 4) of a pinhole to OpenGL's cube; the first row is the lowest.

    fx, fy, cx, cy are the intrinsics [pixels]. Pixel centres have whole coordinates, so the
    picture begins half a pixel before 0. Lengths from `near` to `far` are visible [m].
    """
    depth = (far + near) / (far - near), -2.0 * far * near / (far - near)
    return np.array(
        [
            [2.0 * fx / width, 0.0, (2.0 * cx + 1.0) / width - 1.0, 0.0],
            [0.0, 2.0 * fy / height, (2.0 * cy + 1.0) / height - 1.0, 0.0],
            [0.0, 0.0, *depth],
            [0.0, 0.0, 1.0, 0.0],
        ]
    )


def parallel(reach: float) -> Array:
    """Return the projection of parallel light: x, y up to +-`reach`, z from 0 to 4 `reach` [m]."""
    scale = 1.0 / reach
    return np.array(
        [[scale, 0, 0, 0], [0, scale, 0, 0], [0, 0, 0.5 * scale, -1.0], [0, 0, 0, 1.0]]
    )


def uniform(matrix: Array) -> bytes:
    """Return a matrix (4, 4) as the bytes of an OpenGL uniform."""
    return np.ascontiguousarray(matrix.T, np.float32).tobytes()


def looking(eye: object, target: object) -> Place:
    """Return the pose of an upright camera at the point `eye` that looks at the point `target`."""
    start, end = finite("eye", eye, (3,)), finite("target", target, (3,))
    forward: Array = end - start
    length = float(np.linalg.norm(forward))
    if length == 0.0:
        raise bad_argument("target", "eye and target are the same point; give two points")
    forward = forward / length
    right = np.cross(forward, (0.0, 0.0, 1.0))
    if np.linalg.norm(right) < 1e-9:  # in a view straight up or down, y is up in the picture
        right = np.array([1.0, 0.0, 0.0])
    right = right / np.linalg.norm(right)
    return start, np.stack([right, np.cross(forward, right), forward], axis=1)
