"""Check numbers from messages: too large ones would overflow in products."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.errors import refusal

#: Of positions and velocities [m, rad, m/s, rad/s]; beyond it the loop declares divergence.
LARGEST_STATE = 1e6
#: Of gravity [m/s^2].
LARGEST_GRAVITY = 1e4


def check_magnitude(what: str, numbers: ArrayLike, largest: float) -> None:
    """Raise RbdynError if a number is not finite or too large.

    Args:
        what: the quantity for the message, such as `the pose`.
        numbers: one number or a sequence.
        largest: largest allowed magnitude.
    """
    values = np.asarray(numbers, np.float64)
    if (np.abs(values) <= largest).all():
        return
    if np.isfinite(values).all():
        allowed = f"allowed is at most {largest:g}"
    else:
        allowed = "allowed are finite numbers" if values.ndim else "allowed is a finite number"
    raise refusal(f"{what} is {values.tolist()}; {allowed}")
