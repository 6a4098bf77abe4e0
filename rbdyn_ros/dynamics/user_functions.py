"""Derivatives that a user's function returns, compared with differences of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rbdyn_ros.arrays import Array

STEP = 1e-5
#: Relative tolerance of a derivative; differences over h and h/2, extrapolated, are far better.
TOLERANCE = 1e-6
#: Rounding error of a difference over STEP of numbers near one, with a wide margin.
ROUNDING = 1e-8
STATES = 9


def slope_at_zero(value: Callable[[float], Array]) -> tuple[Array, Array]:
    """Return the derivative of `value` at zero, and how far a given one may differ from it."""
    wide, narrow = ((value(h) - value(-h)) / (2.0 * h) for h in (STEP, 0.5 * STEP))
    slope = (4.0 * narrow - wide) / 3.0
    size = max(1.0, float(np.abs(value(0.0)).max()), float(np.abs(slope).max()) * STEP)
    return slope, TOLERANCE * np.abs(slope) + 4.0 * np.abs(wide - narrow) + ROUNDING * size


def states(ranges: Array) -> Iterator[tuple[Array, Array]]:
    """Yield STATES random positions in ranges (n, 2), each with rates between -1 and 1.

    Each coordinate is once in each of STATES equal parts of its range.
    """
    rng = np.random.default_rng(1)
    low, high = ranges.T
    parts = np.column_stack([rng.permutation(STATES) for _ in low])
    for share in (parts + rng.uniform(size=parts.shape)) / STATES:
        yield low * (1.0 - share) + high * share, rng.uniform(-1.0, 1.0, len(low))
