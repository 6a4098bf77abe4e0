# SPDX-License-Identifier: Apache-2.0
"""Compute the statistics with which LeRobot normalizes: extremes, mean, deviation, quantiles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.recording.lerobot.cameras import Picture

QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
LEVELS = 256

#: Statistics by name: lists of numbers. For pictures each channel has a number, as [[[x]], ...].
Statistics = dict[str, Any]


def statistics(rows: NDArray[Any]) -> Statistics:
    """Return the statistics of each column of rows (n, k)."""
    values = np.asarray(rows, np.float64)
    found = {
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "mean": values.mean(axis=0),
        "std": values.std(axis=0),
        **{name: np.quantile(values, q, axis=0) for name, q in QUANTILES.items()},
    }
    return {**{k: v.tolist() for k, v in found.items()}, "count": [len(values)]}


class PictureStatistics:
    """The statistics of the pictures of a camera.

    Attributes:
        histogram: (3, LEVELS) for each channel the number of pixels with each level.
        count: number of pictures.
    """

    def __init__(self) -> None:
        self.histogram = np.zeros((3, LEVELS), np.int64)
        self.count = 0

    def add(self, picture: Picture, times: int = 1) -> None:
        """Add a picture (height, width, 3), which is in `times` frames."""
        for channel in range(3):
            pixels = picture[:, :, channel].ravel()
            self.histogram[channel] += times * np.bincount(pixels, minlength=LEVELS)
        self.count += times

    def merge(self, others: "Sequence[PictureStatistics]") -> "PictureStatistics":
        """Return the statistics of all pictures of this object and of `others` together."""
        whole = PictureStatistics()
        for part in (self, *others):
            whole.histogram += part.histogram
            whole.count += part.count
        return whole

    def values(self) -> Statistics:
        """Return the statistics of each channel, with levels from 0 to 1."""
        levels = np.arange(LEVELS) / (LEVELS - 1)
        rows = [_of_histogram(row, levels) for row in self.histogram]
        names = rows[0]
        found = {name: [[[row[name]]] for row in rows] for name in names}
        return {**found, "count": [self.count]}


def _of_histogram(counts: NDArray[np.int64], levels: NDArray[np.float64]) -> dict[str, float]:
    total = counts.sum()
    present = levels[counts > 0]
    mean = float(counts @ levels / total)
    below = np.cumsum(counts) / total
    quantiles = {
        name: float(levels[min(int(np.searchsorted(below, q)), LEVELS - 1)])
        for name, q in QUANTILES.items()
    }
    deviation = float(np.sqrt(counts @ (levels - mean) ** 2 / total))
    ends = {"min": float(present[0]), "max": float(present[-1])}
    return {**ends, "mean": mean, "std": deviation, **quantiles}
