# SPDX-License-Identifier: Apache-2.0
"""The parameters of a mobile base, and the twists that it accepts."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.mobile.driving import TwistLimits
from rbdyn_ros.control.mobile.wheels import KINDS
from rbdyn_ros.errors import exactly, quote, refusal
from rbdyn_ros.ros.common.settings.parameters import Parameter, group

PLANAR = "planar"
#: The parts of a Twist that a base can follow, in the order vx, vy, wz; then the other parts.
PARTS = (("linear", "x"), ("linear", "y"), ("angular", "z"))
OTHERS = (("linear", "z"), ("angular", "x"), ("angular", "y"))


def _limit(name: str, default: float, doc: str, unit: str) -> Parameter:
    return Parameter(f"base.{name}", default, f"{doc}; 0: none", unit, 0.0, 1e3)


PARAMETERS = group(
    "mobile base",
    Parameter("base.kind", "", "how the robot follows cmd_vel; auto: by its wheels, planar: "
        "without wheels, empty: not at all, unless the scene has a base",
        choices=("", "auto", *KINDS, PLANAR)),
    Parameter("base.wheels", (), "joints of the wheels; empty: found by name and geometry"),
    Parameter("base.wheel_radius", 0.0, "radius of the wheels; 0: by their geometries", "m", 0.0,
        10.0),
    Parameter("base.track_scale", 1.0, "factor by which the wheels seem farther apart when the "
        "base turns; above 1 if they slip", "", 0.1, 10.0),
    _limit("max_linear", 0.0, "largest speed, besides the limits of the wheels", "m/s"),
    _limit("max_angular", 0.0, "largest turning speed, besides the limits of the wheels", "rad/s"),
    _limit("linear_acceleration", 1.0, "largest acceleration", "m/s^2"),
    _limit("angular_acceleration", 3.0, "largest acceleration of turning", "rad/s^2"),
    Parameter("base.timeout", 0.5, "age of cmd_vel at which the base stops", "s", 0.01, 1e6),
    Parameter("base.rate", 100.0, "rate of odom and of the wheels' commands", "Hz", 1.0, 1e4),
    Parameter("base.stamped", False, "cmd_vel is a TwistStamped, not a Twist"),
    Parameter("base.odom_frame", "odom", "TF frame of odom"),
    Parameter("base.slip", 0.01, "standard deviation of the distance that a wheel has rolled "
        "after a metre, for the covariance of odom", "m", 0.0, 1.0),
)  # fmt: skip


def limits_of(values: SimpleNamespace) -> TwistLimits:
    """Return the twist limits that the parameters set."""
    given = {
        name: getattr(values, f"base.{name}") or math.inf
        for name in (
            *("max_linear", "max_angular"),
            *("linear_acceleration", "angular_acceleration"),
        )
    }
    speed, accelerate = given["max_linear"], given["linear_acceleration"]
    return TwistLimits(
        np.array([speed, speed, given["max_angular"]]),
        np.array([accelerate, accelerate, given["angular_acceleration"]]),
    )


def twist_of(message: Any, frame: str, stamped: bool) -> Array:
    """Return vx, vy and wz (3,) of a Twist, or of a TwistStamped if `stamped` [m/s, rad/s].

    Raises:
        RbdynError: a number is not finite, a part that a base cannot follow is not 0, or the frame
            of the message is not `frame`.
    """
    if stamped and message.header.frame_id not in ("", frame):
        found = quote(message.header.frame_id)
        raise refusal(f"the twist is in frame {found}; allowed is {quote(frame)}, or none")
    twist = message.twist if stamped else message
    for part, axis in (*PARTS, *OTHERS):
        value = getattr(getattr(twist, part), axis)
        if not math.isfinite(value):
            raise refusal(f"{part}.{axis} is {exactly(value)}; allowed is a finite number")
        if (part, axis) in OTHERS and value != 0.0:
            raise refusal(f"{part}.{axis} is {exactly(value)}; allowed is 0 for a mobile base")
    return np.array([getattr(getattr(twist, part), axis) for part, axis in PARTS])
