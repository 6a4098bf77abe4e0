# SPDX-License-Identifier: Apache-2.0
"""Wheel speeds of a twist, the twist of wheel speeds, and ramps between twists.

A twist is (vx, vy, wz) of the base: forward and to the left [m/s], and rotation to the left
[rad/s]. Let v and w be the velocity and the rotation of the base, and r the radius of a wheel. A
wheel at p that rolls along d and grips the floor along g has the speed g (v + w x p) / (r g d):
along g, the point of contact does not slip. Across g the rollers of the wheel turn, or the wheel
slips.
"""

import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.mobile.wheels import Wheel, WheelBase
from rbdyn_ros.errors import exactly, quote, refusal

NAMES = ("linear.x", "linear.y", "angular.z")
#: Speeds below these do not count as motion [m/s, rad/s].
STILL = 1e-9


@dataclass(frozen=True, slots=True)
class WheelFit:
    """The motion that explains the distances or speeds of the wheels best.

    Attributes:
        twist: (3,) twist of the reference point.
        ways: (n,) distances or speeds of the wheels that count, at their surfaces [m or m/s].
        slip: (n,) the part of `ways` that the twist does not explain.
        inverse: (3, n) change of the twist per distance of a wheel.
    """

    twist: Array
    ways: Array
    slip: Array
    inverse: Array

    def contradiction(self) -> float:
        """Return the variance of the slip, divided by the mean square of the distances."""
        spare = len(self.ways) - np.linalg.matrix_rank(self.inverse)
        length = float(self.ways @ self.ways) / len(self.ways)
        return float(self.slip @ self.slip) / (spare * length) if spare > 0 < length else 0.0


@dataclass(frozen=True, slots=True)
class TwistLimits:
    """Limits of a base for (vx, vy, wz); infinite means no limit.

    Attributes:
        speed: (3,) largest speeds [m/s, rad/s].
        acceleration: (3,) largest accelerations [m/s^2, rad/s^2].
    """

    speed: Array
    acceleration: Array


class WheelDrive:
    """Converts between twists of a base and speeds of its wheels.

    Args:
        base: the wheels.
        track_scale: the base turns like a base whose wheels are farther apart by this factor;
            wheels that slip sideways need more than 1.

    Attributes:
        moves: (3,) whether the base can move along each part of a twist.
        reference: (2,) point of the base that moves sideways only if the base can do so [m].
    """

    def __init__(self, base: WheelBase, track_scale: float = 1.0) -> None:
        self.base, self._scale = base, track_scale
        self.moves = np.array([True, base.kind in ("mecanum", "omni"), True])
        self._counted = np.array([wheel.steering < 0 for wheel in base.wheels])
        places = np.array([wheel.at for wheel in base.wheels])
        self.reference = np.zeros(2) if self.moves[1] else places[self._counted].mean(axis=0)

    def check(self, twist: Array) -> None:
        """Raise RbdynError for a twist that the base cannot follow."""
        if not self.moves[1] and abs(twist[1]) > STILL:
            raise refusal(
                f"linear.y is {exactly(twist[1])}; a base of kind {quote(self.base.kind)} does "
                "not move sideways"
            )
        turns = abs(twist[2]) > STILL and abs(twist[0]) <= STILL
        if self.base.kind == "ackermann" and turns:
            raise refusal(
                f"angular.z is {exactly(twist[2])} with linear.x 0; a base of kind 'ackermann' "
                "does not turn in place"
            )

    def rows(self, angles: Array) -> Array:
        """Return the wheel speeds (n, 3) per unit of vx, vy and wz of the reference point.

        Args:
            angles: angles of the steering joints, to the left [rad].
        """
        return np.array([self._row(wheel, angles) for wheel in self.base.wheels])

    def _row(self, wheel: Wheel, angles: Array) -> tuple[float, float, float]:
        at, turn = np.array(wheel.at), 0.0
        if wheel.steering >= 0:
            turn = float(angles[wheel.steering])
            pivot = np.array(self.base.steerings[wheel.steering].at)
            c, s = math.cos(turn), math.sin(turn)
            at = pivot + np.array([[c, -s], [s, c]]) @ (at - pivot)
        x, y = at - self.reference
        y *= self._scale
        grip, roll = wheel.grip + turn, wheel.heading + turn
        gx, gy = math.cos(grip), math.sin(grip)
        lever = wheel.radius * math.cos(grip - roll)
        return gx / lever, gy / lever, (gy * x - gx * y) / lever

    def steer(self, curvature: float) -> Array:
        """Return the angles (n,) of the steering joints [rad] for a curvature [1/m]."""
        found = []
        for joint in self.base.steerings:
            x, y = np.array(joint.at) - self.reference
            found.append(math.atan2(curvature * x, 1.0 - curvature * y))
        return np.array(found)

    def curvatures(self) -> tuple[float, float]:
        """Return the lowest and the highest curvature within the limits of the steering [1/m]."""
        low, high = -math.inf, math.inf
        for joint in self.base.steerings:
            x, y = np.array(joint.at) - self.reference
            ends = [_bend(x, y, angle) for angle in (joint.low, joint.high)]
            low, high = max(low, min(ends)), min(high, max(ends))
        return low, high

    def twist(self, angles: Array, speeds: Array) -> WheelFit:
        """Return the twist of the reference point that explains wheel speeds best.

        Steered wheels do not count: their angles may have changed meanwhile.

        Args:
            angles: angles of the steering joints, to the left [rad].
            speeds: speeds of the wheels [rad/s], or angles for a displacement instead of a twist.
        """
        radii = np.array([wheel.radius for wheel in self.base.wheels])[self._counted]
        rows = self.rows(angles)[self._counted]
        lengths, ways = radii[:, None] * rows[:, self.moves], radii * speeds[self._counted]
        inverse = np.linalg.pinv(lengths)
        found = inverse @ ways
        twist, per_way = np.zeros(3), np.zeros((3, len(ways)))
        twist[self.moves], per_way[self.moves] = found, inverse
        return WheelFit(twist, ways, ways - lengths @ found, per_way)

    def curvature(self, angles: Array) -> float:
        """Return the curvature of the path [1/m], averaged over the steering joints."""
        found = []
        for joint, angle in zip(self.base.steerings, angles, strict=True):
            x, y = np.array(joint.at) - self.reference
            slope = math.tan(angle)
            found.append(slope / (x + y * slope))
        return float(np.mean(found))


def limited(twist: Array, most: Array) -> Array:
    """Return a twist scaled down to its limits `most`, as a whole: the path stays the same."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(np.abs(twist) > STILL, most / np.abs(twist), math.inf)
    return twist * min(1.0, float(shares.min()))


def ramped(now: Array, target: Array, acceleration: Array, period: float) -> Array:
    """Return the twist a period [s] after `now`, on a straight line to the target.

    No part changes faster than its acceleration limit.

    All parts arrive together, so a base on an arc stays on the arc while it speeds up.
    """
    change = target - now
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(np.abs(change) > 0.0, np.abs(change) / acceleration, 0.0)
    slowest = float(needed.max())
    return target if slowest <= period else now + change * (period / slowest)


def _bend(x: float, y: float, angle: float) -> float:
    """Return the curvature at which a wheel has a steering angle; infinity if none exists.

    Args:
        x: forward distance of the steering joint of the wheel from the reference [m].
        y: distance of the steering joint to the left of the reference [m].
        angle: steering angle to the left [rad].
    """
    if math.isinf(angle):
        return angle
    lever = x * math.cos(angle) + y * math.sin(angle)
    reaches = lever * x > 0.0
    return math.sin(angle) / lever if reaches else math.copysign(math.inf, angle * x)


def ramped_arc(
    now: tuple[float, float], target: tuple[float, float], most: tuple[float, float], period: float
) -> tuple[float, float]:
    """Return the speed and curvature a period later, on a straight line to the target.

    A base with steered wheels thus reverses without turning its wheels across. Speed and curvature
    arrive together.

    Args:
        now: speed [m/s] and curvature [1/m].
        target: speed [m/s] and curvature [1/m] to reach.
        most: largest acceleration [m/s^2] and angular acceleration [rad/s^2].
        period: time from `now` to the result [s].
    """
    (v, k), (v_end, k_end) = now, target
    change, bend = v_end - v, k_end - k
    # the change of v k is linear on the line, so it is largest at an end
    turning = max(abs(change * k + v * bend), abs(change * k_end + v_end * bend))
    needed = max(abs(change) / most[0], turning / most[1])
    part = 1.0 if needed <= period else period / needed
    return v + part * change, k + part * bend
