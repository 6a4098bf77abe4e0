# SPDX-License-Identifier: Apache-2.0
"""Odometry of a base by its wheels: exact arcs, a covariance that grows with the distance."""

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.mobile.driving import WheelDrive

#: For rotations below this angle the first terms of the series are used [rad].
SMALL = 1e-4
#: Variance of a base that has not moved [m^2, rad^2].
LEAST = 1e-12


class WheelOdometry:
    """Adds up the distances that wheels roll.

    Args:
        drive: drive of the base.
        slip: standard deviation of a wheel's distance after a metre [m], where wheels do not
            contradict each other. Errors of different metres are independent, so that the variance
            grows with the distance, at any rate of updates (Siegwart and Nourbakhsh, Introduction
            to Autonomous Mobile Robots, 2004, section 5.2.4).

    Attributes:
        pose: (3,) x, y and angle of the base since the last reset [m, rad].
        pose_covariance: (3, 3), in the units of pose.
        twist: (3,) present twist of the base [m/s, rad/s].
        twist_covariance: (3, 3), in the units of twist.
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
        """Update the pose with positions of the wheels, a period [s] after the last positions.

        Args:
            positions: (n,) positions of the wheels [rad].
            angles: angles of the steering joints in between, to the left [rad].
            period: time since the last update [s].
        """
        if self._last is None or period <= 0.0:
            self._last = positions.copy()
            return
        fit = self._drive.twist(angles, positions - self._last)
        self._last = positions.copy()
        share = self._slip**2 + fit.contradiction()
        along = fit.inverse * np.abs(fit.ways)
        by_pose, by_way = self._advance(fit.twist)
        spread = by_way @ (share * along @ fit.inverse.T) @ by_way.T
        self.pose_covariance = by_pose @ self.pose_covariance @ by_pose.T + spread
        self.twist = self._of_base(fit.twist) / period
        self.twist_covariance = share * along @ along.T / period**2 + np.eye(3) * LEAST

    def _of_base(self, way: Array) -> Array:
        """Return the motion of the base, given the motion of the reference point."""
        x, y = self._drive.reference
        moved: Array = way + way[2] * np.array([y, -x, 0.0])
        return moved

    def _advance(self, way: Array) -> tuple[Array, Array]:
        """Move along an arc; return the derivatives of the pose by the old pose and the motion."""
        turn, reference = way[2], np.array(self._drive.reference)
        before, after = _turned(self.pose[2]), _turned(self.pose[2] + turn)
        arc, bend = _arc(turn)
        step = before @ (arc @ way[:2] + reference) - after @ reference
        self.pose = self.pose + np.append(step, turn)
        by_pose, by_way = np.eye(3), np.eye(3)
        by_pose[:2, 2] = -step[1], step[0]
        by_way[:2, :2] = before @ arc
        by_way[:2, 2] = before @ bend @ way[:2] - after @ QUARTER @ reference
        return by_pose, by_way


#: A quarter turn to the left.
QUARTER = np.array([[0.0, -1.0], [1.0, 0.0]])


def _turned(angle: float) -> Array:
    return math.cos(angle) * np.eye(2) + math.sin(angle) * QUARTER


def _arc(turn: float) -> tuple[Array, Array]:
    """Return the mean of the rotations from 0 to `turn`, and its derivative by `turn` (2, 2)."""
    if abs(turn) < SMALL:
        a, b, a_slope, b_slope = 1.0 - turn**2 / 6.0, turn / 2.0, -turn / 3.0, 0.5
    else:
        c, s = math.cos(turn), math.sin(turn)
        a, b = s / turn, 2.0 * math.sin(0.5 * turn) ** 2 / turn
        a_slope, b_slope = (c - a) / turn, (s - b) / turn
    return a * np.eye(2) + b * QUARTER, a_slope * np.eye(2) + b_slope * QUARTER
