"""Numbers from outside that are finite but absurd: their products would overflow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

#: Of positions and velocities [m, rad, m/s, rad/s]. A loop takes a state beyond it for diverged.
LARGEST_STATE = 1e6
#: Of gravity [m/s^2].
LARGEST_GRAVITY = 1e4


def unfit(what: str, numbers: ArrayLike, largest: float) -> str:
    """Return why a number, or several, cannot be taken, or nothing.

    Args:
        what: they are, as `the pose`.
        numbers: one, or a sequence.
        largest: magnitude that is possible.
    """
    values = np.asarray(numbers, np.float64)
    if (np.abs(values) <= largest).all():
        return ""
    if np.isfinite(values).all():
        allowed = f"at most {largest:g} is possible"
    else:
        allowed = "finite numbers are needed" if values.ndim else "a finite number is needed"
    return f"{what} is {values.tolist()}; {allowed}"
