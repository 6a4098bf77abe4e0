# SPDX-License-Identifier: Apache-2.0
"""Ratio, stiffness and backlash of a gear, from the angles of the motor and of the joint.

Behind the free play b the gear is a spring of the stiffness k, so with the torque T that it
transmits the motor is at
  angle = n (position + T / k + b / 2 sgn T) + constant.
T is the inverse dynamics of the robot, which needs no efforts. This is linear in n, n / k and
n b / 2. Samples with a small T, where the motor crosses the free play, do not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter1d

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.identification.actuators.estimate import Estimate, covariance, deviation, solution

#: Torques below this part of the largest one may be those within the free play.
SMALL_TORQUE = 0.1
#: Samples on either side of a small torque that the filter mixes with it.
BESIDE = 5
#: Least part of the samples in which the gear transmits torque in each direction.
EACH_WAY = 0.02


@dataclass(frozen=True, slots=True)
class GearFit:
    """A gear.

    Attributes:
        ratio: angle of the motor per position of the joint.
        compliance: 1 / stiffness, at the joint [rad/(N m) or m/N].
        backlash: whole free play, at the joint [rad or m]; None if the transmitted torque has one
            direction only.
    """

    ratio: Estimate
    compliance: Estimate
    backlash: Estimate | None


def fit_gear(angle: Array, position: Array, torque: Array) -> GearFit:
    """Return the gear between a motor and its joint.

    Args:
        angle: (p,) of the motor [rad].
        position: (p,) of the joint [rad or m].
        torque: (p,) transmitted, at the joint [N m or N].
    """
    kept = transmitting(torque)
    ways = [float((kept & (side * torque > 0.0)).mean()) for side in (1.0, -1.0)]
    both = min(ways) > EACH_WAY
    A = np.column_stack([position, torque, np.ones(len(torque)), np.sign(torque)])
    A, b = (A[kept], angle[kept]) if both else (A[:, :3], angle)
    x, differences = solution(A, b)
    C = covariance(A, differences)
    ratio = Estimate(float(x[0]), float(np.sqrt(C[0, 0])))
    return GearFit(
        ratio,
        _per_ratio(x, C, 1, 1.0),
        _per_ratio(x, C, 3, 2.0) if both else None,
    )


def transmitting(torque: Array) -> Bools:
    """Return which samples (p,) surely have the gear at one end of its free play."""
    small = np.abs(torque) <= SMALL_TORQUE * np.abs(torque).max()
    kept: Bools = ~maximum_filter1d(small, 2 * BESIDE + 1)
    return kept


def _per_ratio(x: Array, C: Array, k: int, factor: float) -> Estimate:
    """Return factor x[k] / x[0]."""
    if x[0] == 0.0:
        return Estimate(0.0, np.inf)
    gradient = np.zeros(len(x))
    gradient[k], gradient[0] = factor / x[0], -factor * x[k] / x[0] ** 2
    return Estimate(float(factor * x[k] / x[0]), deviation(gradient, C))
