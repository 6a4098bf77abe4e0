# SPDX-License-Identifier: Apache-2.0
"""Displacement by a constant velocity: exponentials of SO(3) and SE(3).

The formulas use functions that are smooth at zero rotation, so they never divide by the angle.
Source: Introduction to Humanoid Robotics, eq 6.12 to 6.14, figure 6.7.
"""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.spatial import cross


def rodrigues(turn: Array) -> Array:
    """Return exp([turn x]), (3, 3): the rotation about the vector `turn` by its length [rad].

    The formula is 1 + sin(th) / th K + (1 - cos(th)) / th^2 K^2, with K = [turn x].
    """
    th, K = float(np.linalg.norm(turn)), cross(turn)
    return np.eye(3) + _sinc(th) * K + 0.5 * _sinc(0.5 * th) ** 2 * K @ K


def se3_exp(p: Array, R: Array, vo: Array, w: Array, dt: float) -> tuple[Array, Array]:
    """Return the position and orientation after dt at a constant spatial velocity.

    Args:
        p: (3,), position [m].
        R: (3, 3), orientation.
        vo: (3,), velocity of the body's point at the world's origin [m/s].
        w: (3,), angular velocity in world axes [rad/s].
        dt: time [s].
    """
    turn = w * dt
    th, rot = float(np.linalg.norm(turn)), rodrigues(turn)
    n = turn / (th or 1.0)
    along = (1.0 - _sinc(th)) * np.outer(n, n)
    V = _sinc(th) * np.eye(3) + 0.5 * _sinc(0.5 * th) ** 2 * cross(turn) + along
    return rot @ p + V @ vo * dt, rot @ R


def _sinc(x: float) -> float:
    """Return sin(x) / x, and 1 at 0."""
    return float(np.sinc(x / np.pi))
