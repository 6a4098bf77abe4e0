# SPDX-License-Identifier: Apache-2.0
"""Refuse numbers in messages that are so large that their products would overflow."""

import math
from collections.abc import Sequence
from typing import Any

from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.checks.rotations import unit_quaternion
from rbdyn_ros.errors import RbdynError, refusal

#: Arguments with which the functions of rbdyn_ros.checks refuse a request or a message.
REQUEST: dict[str, Any] = {"error": RbdynError, "code": "request", "element": ""}
#: Largest position and velocity [m, rad, m/s, rad/s]; the loop reports larger numbers as diverged.
LARGEST_STATE = 1e6
#: Largest gravity [m/s^2].
LARGEST_GRAVITY = 1e4


def check_magnitude(what: str, numbers: object, largest: float) -> None:
    """Raise RbdynError if any of several numbers is not finite, or is too large.

    Args:
        what: name of the quantity for the message, such as `the payload`.
        numbers: numbers or arrays to check.
        largest: largest allowed magnitude.
    """
    finite(what, numbers, (None,), -largest, largest, **REQUEST)


def check_pose(position: Sequence[float], quaternion: Sequence[float]) -> None:
    """Raise RbdynError if a position exceeds LARGEST_STATE or the quaternion has no norm of 1."""
    check_magnitude("the position", position, LARGEST_STATE)
    check_magnitude("the orientation", quaternion, LARGEST_STATE)
    if unit_quaternion(quaternion) is None:
        norm = math.hypot(*quaternion)
        raise refusal(f"the orientation has norm {norm:g}; allowed is a quaternion of norm 1")
