"""Compare the derivatives that a user's function returns with differences of its values."""

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


def wrong_entry(
    given: Array, value: Callable[[float], Array]
) -> tuple[tuple[int, ...], float] | None:
    """Compare a given derivative with the derivative of `value` at zero.

    Entries for which `value` is not finite are not compared.

    Returns:
        None if they agree, else the index of the worst entry and its correct value.
    """
    slope, allowed = _slope_at_zero(value)
    excess = np.where(np.isfinite(slope), np.abs(given - slope) - allowed, -1.0)
    if not excess.max() > 0.0:
        return None
    at = np.unravel_index(np.argmax(excess), excess.shape)
    return tuple(map(int, at)), float(slope[at])


def _slope_at_zero(value: Callable[[float], Array]) -> tuple[Array, Array]:
    """Return the derivative of `value` at zero, and the largest allowed difference from it."""
    wide, narrow = ((value(h) - value(-h)) / (2.0 * h) for h in (STEP, 0.5 * STEP))
    slope = (4.0 * narrow - wide) / 3.0
    size = max(1.0, float(np.abs(value(0.0)).max()), float(np.abs(slope).max()) * STEP)
    return slope, TOLERANCE * np.abs(slope) + 4.0 * np.abs(wide - narrow) + ROUNDING * size


def states(ranges: Array) -> Iterator[tuple[Array, Array]]:
    """Yield STATES random positions in ranges (n, 2), each with rates between -1 and 1.

    Each coordinate is in each of STATES equal parts of its range once.
    """
    rng = np.random.default_rng(1)
    low, high = ranges.T
    parts = np.column_stack([rng.permutation(STATES) for _ in low])
    for share in (parts + rng.uniform(size=parts.shape)) / STATES:
        yield low * (1.0 - share) + high * share, rng.uniform(-1.0, 1.0, len(low))
