# SPDX-License-Identifier: Apache-2.0
"""The way of a base by its wheels: exact arcs, and a covariance that grows with the way."""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.mobile.driving import WheelDrive

#: Turns below this are straight [rad].
STRAIGHT = 1e-9
#: Variance of a base that has not moved [m^2, rad^2].
LEAST = 1e-12


class WheelOdometry:
    """Adds up the ways of wheels.

    Args:
        drive: of the base.
        slip: standard deviation of a way by its length, where wheels do not contradict each other.

    Attributes:
        pose: (3,) x, y and angle of the base since the last reset [m, rad].
        pose_covariance: (3, 3).
        twist: (3,) of the base now.
        twist_covariance: (3, 3).
    """

    def __init__(self, drive: WheelDrive, slip: float) -> None:
        self._drive, self._slip = drive, slip
        self.reset()

    def reset(self) -> None:
        """Begin at the origin."""
        self._last: Array | None = None
        self.pose, self.twist = np.zeros(3), np.zeros(3)
        self.pose_covariance = np.eye(3) * LEAST
        self.twist_covariance = np.eye(3) * LEAST

    def update(self, positions: Array, angles: Array, period: float) -> None:
        """Take the positions of the wheels [rad] a period [s] after the last ones.

        Args:
            positions: (n,) of the wheels.
            angles: of the steering joints in between, to the left [rad].
            period: [s].
        """
        if self._last is None or period <= 0.0:
            self._last = positions.copy()
            return
        way, spread, _ = self._drive.twist(angles, positions - self._last)
        self._last = positions.copy()
        spread = spread + np.diag((self._slip * way) ** 2)
        jacobian = self._advance(way)
        self.pose_covariance = self.pose_covariance + jacobian @ spread @ jacobian.T
        self.twist = self._of_base(way) / period
        self.twist_covariance = spread / period**2 + np.eye(3) * LEAST

    def _of_base(self, way: Array) -> Array:
        """Return the motion of the base where the reference point has this one."""
        x, y = self._drive.reference
        moved: Array = way + way[2] * np.array([y, -x, 0.0])
        return moved

    def _advance(self, way: Array) -> Array:
        """Move along an arc; return the change of the pose per way (3, 3)."""
        turn, (c, s) = way[2], (math.cos(self.pose[2]), math.sin(self.pose[2]))
        x, y = self._drive.reference
        begin = self.pose[:2] + np.array([[c, -s], [s, c]]) @ (x, y)
        if abs(turn) < STRAIGHT:
            a, b = 1.0, 0.5 * turn
        else:
            a, b = math.sin(turn) / turn, (1.0 - math.cos(turn)) / turn
        moved = begin + np.array([[c, -s], [s, c]]) @ np.array([[a, -b], [b, a]]) @ way[:2]
        angle = self.pose[2] + turn
        c2, s2 = math.cos(angle), math.sin(angle)
        self.pose = np.append(moved - np.array([[c2, -s2], [s2, c2]]) @ (x, y), angle)
        middle = 0.5 * (angle + self.pose[2] - turn)
        cm, sm = math.cos(middle), math.sin(middle)
        return np.array([[cm, -sm, 0.0], [sm, cm, 0.0], [0.0, 0.0, 1.0]])
