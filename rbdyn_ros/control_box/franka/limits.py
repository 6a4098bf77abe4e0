# SPDX-License-Identifier: Apache-2.0
"""The published limits of Franka's arms.

Source: Franka Robotics, Franka Control Interface Documentation, Robot and interface
specifications, https://frankarobotics.github.io/docs/control_parameters.html.
"""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array

#: Cycles without a command after which a motion ends.
MOST_LOST = 20
#: The success rate counts this many cycles.
COUNTED = 100
#: Relative tolerance of limits, because a client computes its commands from rounded numbers.
TOLERANCE = 1e-2
#: A motion must begin within these distances of the desired state: joints [rad], position [m] and
#: rotation [rad]. So its first command may be the measured state. The vendor's tolerance is not
#: public.
START_JOINTS, START_POSITION, START_ANGLE = 2e-3, 2e-3, 1e-2


@dataclass(frozen=True, slots=True, eq=False)
class InterfaceLimits:
    """Limits of an arm; the position limits come from its URDF.

    Attributes:
        name: name of the arm.
        velocity, acceleration, jerk: velocity, acceleration and jerk of the joints (7,) [rad/s,
            rad/s^2, rad/s^3].
        torque_rate: largest rate of commanded torques (7,) [N m/s].
        translation, rotation: largest speed, acceleration and jerk of the end effector (3,) [m;
            rad; per s, s^2, s^3].
        elbow: the same limits for joint 3 in Cartesian motions (3,).
        flip: position of joint 4 at which the elbow changes its side [rad].
        velocity_offset, deceleration: (7,) a joint may move at most as fast as
            sqrt(2 deceleration distance) - velocity_offset before its position limit.
    """

    name: str
    velocity: Array
    acceleration: Array
    jerk: Array
    torque_rate: Array
    translation: Array
    rotation: Array
    elbow: Array
    flip: float
    velocity_offset: Array
    deceleration: Array


def _seven(*numbers: float) -> Array:
    return np.array(numbers if len(numbers) == 7 else numbers * 7, float)


PANDA = InterfaceLimits(
    "Panda",
    _seven(2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61),
    _seven(15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0),
    _seven(7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0),
    _seven(1000.0),
    np.array([1.7, 13.0, 6500.0]),
    np.array([2.5, 25.0, 12500.0]),
    np.array([2.175, 10.0, 5000.0]),
    -0.467002423653011,
    _seven(0.0),
    _seven(1e9),  # the Panda's limits do not depend on positions
)
FR3 = InterfaceLimits(
    "FR3",
    _seven(2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26),
    _seven(10.0),
    _seven(5000.0),
    _seven(1000.0),
    np.array([3.0, 9.0, 4500.0]),
    np.array([2.5, 17.0, 8500.0]),
    np.array([1.5, 10.0, 5000.0]),
    -0.467002423653011,
    _seven(0.30, 0.20, 0.20, 0.30, 0.35, 0.35, 0.35),
    _seven(6.0, 2.585, 3.5, 4.0, 17.0, 5.5, 17.0),
)


def limits_of(upper4: float) -> InterfaceLimits:
    """Return the limits of the arm whose joint 4 has this upper limit [rad]."""
    # the FR3 ends at -0.15, the Panda at -0.07
    return FR3 if upper4 < -0.1 else PANDA
