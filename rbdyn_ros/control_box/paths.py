# SPDX-License-Identifier: Apache-2.0
"""Desired values in each cycle, and rotations of a frame."""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.tree.rotation import cross_matrix, mat_to_quat

#: The usual cycle [s].
CYCLE = 1e-3


class Stream:
    """The setpoints that a client commands once a cycle, with velocity and acceleration.

    Args:
        x, v: (n,) position and velocity at the start; v None: zero.
        period: period of a cycle [s].

    Attributes:
        x, v, a: (n,) position, velocity, acceleration of the last cycle.
    """

    def __init__(self, x: Array, v: Array | None = None, period: float = CYCLE) -> None:
        self._period = period
        self.x = np.array(x, float)
        self.v = np.zeros_like(self.x) if v is None else np.array(v, float)
        self.a = np.zeros_like(self.x)

    def begin(self, x: Array) -> None:
        """Rest at the position x (n,)."""
        self.x, self.v, self.a = np.array(x), 0.0 * self.v, 0.0 * self.a

    def to(self, x: Array) -> Array:
        """Move to a position in one cycle; return the jerk."""
        jerk = self.at((x - self.x) / self._period)
        self.x = np.array(x)
        return jerk

    def at(self, v: Array) -> Array:
        """Change to a velocity in one cycle; return the jerk."""
        a = (v - self.v) / self._period
        jerk: Array = (a - self.a) / self._period
        self.x, self.v, self.a = self.x + v * self._period, np.array(v), a
        return jerk

    def extrapolate(self) -> None:
        """Continue with the same acceleration, as a box does without a command."""
        self.v = self.v + self.a * self._period
        self.x = self.x + self.v * self._period

    def brake(self, most: Array) -> None:
        """Slow down for a cycle, with an acceleration of at most `most`."""
        v = self.v - np.clip(self.v, -most * self._period, most * self._period)
        self.a, self.v, self.x = (v - self.v) / self._period, v, self.x + v * self._period

    def approach(self, goal: Array, speed: Array, most: Array) -> None:
        """Move towards a goal for a cycle, so that the motion can stop there.

        The motion stays within `speed` and the acceleration `most`.
        """
        gap = goal - self.x
        free = np.sqrt(2.0 * 0.9 * most * np.abs(gap))
        wanted = np.sign(gap) * np.minimum(np.minimum(speed, free), np.abs(gap) / self._period)
        self.at(self.v + np.clip(wanted - self.v, -most * self._period, most * self._period))


def turn_between(R: Array, to: Array) -> Array:
    """Return the rotation vector (3,) from one orientation to another, in axes of their parent."""
    D = to @ R.T
    w = 0.5 * np.array([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]])
    sine = float(np.linalg.norm(w))
    if D[0, 0] + D[1, 1] + D[2, 2] < -0.9:  # near half a turn the sine is too small
        q = mat_to_quat(D)
        q = q if q[0] >= 0.0 else -q
        half = float(np.linalg.norm(q[1:]))
        return np.array(q[1:] * (2.0 * np.arctan2(half, q[0]) / half))
    if sine < 1e-9:
        return w
    turn: Array = w * (np.arctan2(sine, 0.5 * (np.trace(D) - 1.0)) / sine)
    return turn


def gap_between(T: Array, to: Array) -> Array:
    """Return the translation and rotation vector (6,) from T to `to`, in axes of their parent.

    T and `to` are poses (4, 4).
    """
    return np.concatenate([to[:3, 3] - T[:3, 3], turn_between(T[:3, :3], to[:3, :3])])


def turned(R: Array, w: Array) -> Array:
    """Return an orientation R, rotated by a vector w in axes of its parent (Rodrigues)."""
    angle = float(np.linalg.norm(w))
    if angle == 0.0:
        return R
    K = cross_matrix(w / angle)
    new: Array = (np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K) @ R
    return new
