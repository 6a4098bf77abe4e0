# SPDX-License-Identifier: Apache-2.0
"""Noise that is a pure function of seed, sensor, channel and tick.

Runs with the same seed have the same noise, bit by bit, even if ticks are skipped or read in
another order: the numbers are hashes, and no generator keeps a state.

Source: Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014 (the finaliser of
SplitMix64); Box, Muller, 1958; Levy's construction of Brownian motion, on whole ticks.
"""

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.sensors.specs import NoiseSpec

Words = NDArray[np.uint64]

_LEVELS = 40  # levels of the random walk: 2^40 ticks are 34 years at 1 kHz
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
# kind of number: 0 is white noise; numbers from 1 are levels of the random walk
_WHITE = np.uint64(0)
_UNIFORM = np.uint64(_LEVELS + 2)
_LEVEL = np.arange(_LEVELS + 1, dtype=np.uint64)


def _mixed(x: Words) -> Words:
    """Return hashed 64-bit words (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


class Hashed:
    """Standard normal numbers for the channels of one sensor."""

    def __init__(self, seed: int, sensor: int, channels: int) -> None:
        start = np.array([seed & _MASK, (seed >> 64) & _MASK, sensor], np.uint64)
        key = np.zeros(1, np.uint64)
        for word in start:
            key = _mixed(key + np.uint64(_GOLDEN) ^ word)
        channel = np.arange(1, channels + 1, dtype=np.uint64)
        self._key = _mixed(key ^ channel * np.uint64(_GOLDEN))

    def white(self, tick: int) -> Array:
        """Return (channels,) independent standard normal numbers for a tick."""
        return self._normal(np.array(_WHITE), np.array(tick, np.uint64), self._key)

    def uniform(self, tick: int) -> Array:
        """Return (channels,) independent numbers for a tick, uniformly distributed in (0, 1)."""
        word = self._word(np.array(_UNIFORM), np.array(tick, np.uint64), self._key)
        return np.asarray(_share(word))

    def walk(self, tick: int) -> Array:
        """Return (channels,) sums of `tick` independent standard normal numbers.

        Levy's construction begins with the sum over 2^40 ticks. Each level halves the interval
        that contains the tick, and draws how far the sum at its middle is from the mean of its
        ends.
        """
        length = 2.0 ** (_LEVELS - _LEVEL[1:].astype(np.float64) + 1)
        interval = np.uint64(tick) >> (np.uint64(_LEVELS + 1) - _LEVEL[1:])
        inside = float(tick) - interval.astype(np.float64) * length
        tent = np.minimum(inside, length - inside) / np.sqrt(length)
        weight = np.concatenate([[tick / 2.0 ** (_LEVELS / 2)], tent])
        index = np.concatenate([np.zeros(1, np.uint64), interval])
        numbers = self._normal(_LEVEL[:, None] + np.uint64(1), index[:, None], self._key)
        return np.asarray(weight @ numbers)

    @staticmethod
    def _normal(kind: Words, index: Words, key: Words) -> Array:
        """Return standard normal numbers, hashed from three arrays that are broadcast together."""
        word = Hashed._word(kind, index, key)
        first = _share(word)
        second = (_mixed(word + np.uint64(_GOLDEN)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return np.asarray(np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second))

    @staticmethod
    def _word(kind: Words, index: Words, key: Words) -> Words:
        return _mixed(_mixed(key + kind * np.uint64(_GOLDEN)) ^ index)


def _share(word: Words) -> Array:
    """Convert 64-bit words to numbers in the open interval (0, 1)."""
    return np.asarray(((word >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)


class Noise:
    """The noise of a sensor, with a NoiseSpec for every three channels.

    Args:
        specs: noise of each vector quantity, in the order of the channels.
        seed: any whole number.
        sensor: number of the sensor; sensors have independent noise.
        period: duration of a tick [s].
        begun: tick at which the noise starts; earlier ticks have the noise of this tick.
    """

    def __init__(
        self, specs: tuple[NoiseSpec, ...], seed: int, sensor: int, period: float, begun: int = 0
    ) -> None:
        self._begun = begun
        self._numbers = Hashed(seed, sensor, 3 * len(specs))
        self._bias = np.array([spec.bias for spec in specs]).reshape(-1)
        self._stddev = np.array([spec.stddev for spec in specs]).reshape(-1)
        self._walk = np.array([spec.bias_walk for spec in specs]).reshape(-1) * np.sqrt(period)
        step = np.array([spec.resolution for spec in specs]).reshape(-1)
        self._step = np.where(step > 0.0, step, 1.0)
        self._stepped = step > 0.0
        self._kinds = bool(self._stddev.any()), bool(self._walk.any()), bool(step.any())

    def error(self, tick: int) -> Array:
        """Return the error (3 len(specs),) that is added to the true values at a tick."""
        white, walks, _ = self._kinds
        since = max(tick - self._begun, 0)
        total = self._bias
        if white:
            total = total + self._stddev * self._numbers.white(since)
        if walks:
            total = total + self._walk * self._numbers.walk(since)
        return total

    def measured(self, tick: int, true: Array) -> Array:
        """Return the measured values for true values (3 len(specs),) at a tick, with rounding."""
        measured = true + self.error(tick)
        if self._kinds[2]:
            rounded = np.round(measured / self._step) * self._step
            measured = np.where(self._stepped, rounded, measured)
        return measured


def variance(spec: NoiseSpec) -> tuple[float, float, float]:
    """Return the variance of white noise and rounding for each axis (3,)."""
    x, y, z = (s * s + r * r / 12.0 for s, r in zip(spec.stddev, spec.resolution, strict=True))
    return x, y, z
