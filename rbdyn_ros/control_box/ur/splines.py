# SPDX-License-Identifier: Apache-2.0
"""Splines of the joints, as the program of ur_client_library follows them point by point."""

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.ur.moves import STILL, Course, Move

#: A spline that has to end at rest slows down with BRAKES [rad/s^2] above the speed FAST [rad/s],
#: and is over NEARLY [s] before its end.
BRAKES, FAST, NEARLY = 15.0, 6.283185, 1e-5


def _monomial(i: int, derivative: int, s: float) -> float:
    """Return the derivative of the order `derivative` of s^i by s."""
    return math.perm(i, derivative) * s ** (i - derivative) if i >= derivative else 0.0


def _inverse(order: int) -> Array:
    """Return the matrix that maps derivatives 0 to `order` - 1 at 0 and 1 to coefficients."""
    rows = [
        [_monomial(i, k, s) for i in range(2 * order)] for s in (0.0, 1.0) for k in range(order)
    ]
    return np.linalg.inv(np.array(rows))


_INVERSES = {order: _inverse(order) for order in (2, 3)}


class SplineMove(Move):
    """A motion of all joints along polynomials of third or fifth degree.

    Args:
        start, end: (2, 6) positions and velocities of the joints: third degree; or (3, 6) with
            accelerations: fifth degree.
        duration: duration of the motion [s].
        rests: whether the arm has to come to rest: it slows down on the path if it is fast.
        before: time of the spline that has passed already [s].

    Attributes:
        end: the argument.
        over: time that was left in its last cycle [s].
    """

    def __init__(
        self, start: Array, end: Array, duration: float, rests: bool, before: float = 0.0
    ) -> None:
        self._T, self._t, self._rests = duration, before, rests
        self.end, self.over, self._slowing = end, 0.0, 0.0
        order = len(start)
        scale = duration ** np.arange(order)[:, None]
        self._powers = _INVERSES[order] @ np.concatenate([start * scale, end * scale])

    def at(self, t: float, derivative: int = 0) -> Array:
        """Return the joints (6,), or a derivative of them, at a time [s]."""
        s = [_monomial(i, derivative, t / self._T) for i in range(len(self._powers))]
        return np.array(s @ self._powers / self._T**derivative)

    def move_on(self, x: Array) -> None:
        """Set the end to the position x of the arm (6,), which has moved on at the final speed."""
        self.end, self.over = np.array([x, *self.end[1:]]), 0.0

    def step(self, c: Course) -> bool:
        self._t += c.dt * c.scale * self._share(c.dt)
        left = self._T - self._t
        if left > (NEARLY if self._slowing else STILL):
            c.joints.to(self.at(self._t))
            return False
        if self._rests:
            c.joints.begin(c.joints.x if self._slowing else self.end[0])
        else:
            self.over = max(-left, 0.0)
            c.joints.to(self.end[0] + self.over * self.end[1])
        return True

    def _share(self, dt: float) -> float:
        """Return the share of the planned speed after dt [s]; it falls if a fast arm must stop."""
        left, time = self._T - self._t, FAST / BRAKES
        if self._rests and not self._slowing and dt < left <= time:
            speed = np.abs(self.at(self._t + dt, 1)).max()
            if speed > FAST - (time - left + dt) * BRAKES:
                self._slowing = left + dt
        return left / self._slowing if self._slowing else 1.0
