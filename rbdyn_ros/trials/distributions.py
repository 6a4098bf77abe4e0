# SPDX-License-Identifier: Apache-2.0
"""Distributions of the numbers that differ between the runs of a trial.

A distribution is defined by its quantile function, which maps probabilities in [0, 1) to samples.
So the samples of a run depend only on its seed.
"""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array


@dataclass(frozen=True)
class Constant:
    """The same number in every run."""

    value: float

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest sample."""
        return self.value, self.value

    def quantile(self, u: Array) -> Array:
        """Return the samples at the probabilities u, numbers in [0, 1)."""
        return np.full(u.shape, self.value)


@dataclass(frozen=True)
class _Interval:
    low: float
    high: float

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest sample."""
        return self.low, self.high


@dataclass(frozen=True)
class Uniform(_Interval):
    """All numbers from low to high are equally likely."""

    def quantile(self, u: Array) -> Array:
        """Return the samples at the probabilities u, numbers in [0, 1)."""
        return np.clip(self.low * (1.0 - u) + self.high * u, self.low, self.high)


@dataclass(frozen=True)
class LogUniform(_Interval):
    """The logarithm is uniform: all orders of magnitude are equally likely."""

    def quantile(self, u: Array) -> Array:
        """Return the samples at the probabilities u, numbers in [0, 1)."""
        exponents = np.log(self.low) * (1.0 - u) + np.log(self.high) * u
        found: Array = np.clip(np.exp(exponents), self.low, self.high)
        return found


@dataclass(frozen=True)
class Normal:
    """A normal distribution, cut off below low and above high."""

    mean: float
    stddev: float
    low: float = -np.inf
    high: float = np.inf

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest sample."""
        return self.low, self.high

    def quantile(self, u: Array) -> Array:
        """Return the samples at the probabilities u, numbers in [0, 1)."""
        from scipy.special import ndtr, ndtri  # imported here, because this import is slow

        if self.stddev == 0.0:
            return np.full(u.shape, self.mean)
        # mirror the distribution to use the lower tail: 1 - 1e-9 has lost digits of 1e-9
        if self.low > self.mean:
            return -Normal(-self.mean, self.stddev, -self.high, -self.low).quantile(1.0 - u)
        lowest, highest = (ndtr((x - self.mean) / self.stddev) for x in (self.low, self.high))
        # at least 1e-300, so that the sample of u = 0 is finite
        inside = np.maximum(lowest + (highest - lowest) * u, 1e-300)
        found: Array = np.clip(self.mean + self.stddev * ndtri(inside), self.low, self.high)
        return found


@dataclass(frozen=True)
class Choice:
    """One of some values; all are equally likely."""

    values: tuple[float, ...]

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest sample."""
        return min(self.values), max(self.values)

    def quantile(self, u: Array) -> Array:
        """Return the samples at the probabilities u, numbers in [0, 1)."""
        values = np.array(self.values)
        found: Array = values[np.minimum((u * len(values)).astype(int), len(values) - 1)]
        return found


Distribution = Constant | Uniform | LogUniform | Normal | Choice
