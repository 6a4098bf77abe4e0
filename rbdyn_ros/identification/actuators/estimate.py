# SPDX-License-Identifier: Apache-2.0
"""A number with its standard deviation, and linear least squares that return such numbers."""

import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.identification.equations.residuals import memory

#: A number is found if its standard deviation is at most this part of its value.
LARGEST_STD = 0.1
#: Strength of the equations, relative to the strongest, below which a direction is unknown.
WEAKEST = 1e-10


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its standard deviation; infinite if the recording does not determine it."""

    value: float
    std: float

    @property
    def is_found(self) -> bool:
        """Return whether the number is known well enough to be used."""
        return abs(self.value) > 0.0 and self.std <= LARGEST_STD * abs(self.value)

    def __str__(self) -> str:
        return f"{self.value:.4g} +- {self.std:.1g}"

    def times(self, factor: float) -> "Estimate":
        """Return the estimate times a factor, as in another unit."""
        return Estimate(self.value * factor, self.std * abs(factor))


def solution(A: Array, b: Array) -> tuple[Array, Array]:
    """Return the least-squares solution x (k,) of A x = b, and b - A x (p,)."""
    lengths = _lengths(A)
    x = np.asarray(np.linalg.lstsq(A / lengths, b, rcond=WEAKEST)[0], np.float64) / lengths
    return x, b - A @ x


def covariance(J: Array, differences: Array) -> Array:
    """Return the covariance (k, k) of k parameters.

    Neighbouring differences are correlated, so they count as fewer differences.

    Args:
        J: (p, k) derivatives of the predictions by the parameters.
        differences: (p,) measured - predicted.
    """
    lengths = _lengths(J)
    _, sizes, V = np.linalg.svd(J / lengths, full_matrices=False)
    sizes = np.maximum(sizes, WEAKEST * max(float(sizes[0]), WEAKEST))
    freedom = max(1, len(differences) - J.shape[1])
    variance = float(differences @ differences) / freedom
    variance *= float(memory(differences[:, np.newaxis])[0])
    half = V.T / sizes / lengths[:, np.newaxis]
    found: Array = variance * (half @ half.T)
    return found


def deviation(gradient: Array, covariances: Array) -> float:
    """Return the standard deviation of a function of parameters with this gradient (k,).

    `covariances` (k, k) belong to the parameters.
    """
    return math.sqrt(max(0.0, float(gradient @ covariances @ gradient)))


def _lengths(A: Array) -> Array:
    lengths = np.linalg.norm(A, axis=0)
    return np.where(lengths > 0.0, lengths, 1.0)
