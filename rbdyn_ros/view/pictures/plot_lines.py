# SPDX-License-Identifier: Apache-2.0
"""Thin out long curves without losing peaks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array

#: Points of a curve: two per bucket; a bucket is narrower than a printed dot.
MOST_POINTS = 4000


def thinned(time: Array, values: Array, most: int = MOST_POINTS) -> tuple[Array, Array]:
    """Return a subset of points that draws like the whole curve.

    The lowest and highest value of each of most/2 spans of time are kept, and the first and last
    point. Gaps (NaN) are kept.

    Args:
        time: (n,), increasing.
        values: (n,).
        most: approximate number of points.
    """
    n = len(time)
    if n <= most:
        return time, values
    span = time[-1] - time[0]
    buckets = max(most // 2, 1)
    place = (buckets * (time - time[0]) / span).astype(int) if span > 0.0 else np.zeros(n, int)
    starts = np.flatnonzero(np.diff(np.minimum(place, buckets - 1), prepend=-1))
    numbers = np.isnan(values)
    low = _extremes(np.where(numbers, np.inf, values), starts)
    high = _extremes(np.where(numbers, np.inf, -values), starts)
    gaps = np.flatnonzero(numbers & ~np.roll(numbers, 1))
    kept = np.unique(np.concatenate([[0], low, high, gaps, [n - 1]]))
    return time[kept], values[kept]


def _extremes(values: Array, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the lowest value of each bucket that begins at `starts`."""
    lowest = np.minimum.reduceat(values, starts)
    lengths = np.diff(np.append(starts, len(values)))
    is_lowest = values == np.repeat(lowest, lengths)
    places = np.flatnonzero(is_lowest)
    buckets = np.repeat(np.arange(len(starts)), lengths)[places]
    first = np.unique(buckets, return_index=True)[1]
    found: NDArray[np.int64] = places[first]
    return found
