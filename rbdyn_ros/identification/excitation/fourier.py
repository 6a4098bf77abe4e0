# SPDX-License-Identifier: Apache-2.0
"""Finite Fourier series that start and end at rest.

Source: Swevers, Ganseman, Tukel, De Schutter, Van Brussel, 1997, Optimal robot excitation and
identification.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space

from rbdyn_ros.arrays import Array

FEWEST_HARMONICS, MOST_HARMONICS = 2, 20


def rest_shapes(harmonics: int) -> Array:
    """Return a basis (2 h, 2 h - 3) of series with zero position, velocity, acceleration at 0.

    The series is sum_k a_k sin(k w t) / (k w) - b_k cos(k w t) / (k w), with the velocity
    sum_k a_k cos(k w t) + b_k sin(k w t). A column is a_1 ... a_h, b_1 ... b_h. The series is
    periodic, so it also ends at rest.
    """
    k, zeros = np.arange(1.0, harmonics + 1.0), np.zeros(harmonics)
    position = np.concatenate([zeros, 1.0 / k])
    velocity = np.concatenate([np.ones(harmonics), zeros])
    acceleration = np.concatenate([zeros, k])
    shapes: Array = null_space(np.stack([position, velocity, acceleration]))
    return shapes


def tables(harmonics: int, duration: float, time: ArrayLike) -> Array:
    """Return matrices (3, t, 2 h) from coefficients to positions, velocities, accelerations."""
    k = 2.0 * np.pi / duration * np.arange(1.0, harmonics + 1.0)
    phase = np.multiply.outer(np.asarray(time, np.float64), k)
    sine, cosine = np.sin(phase), np.cos(phase)
    position = np.hstack([sine / k, -cosine / k])
    velocity = np.hstack([cosine, sine])
    acceleration = np.hstack([-k * sine, k * cosine])
    return np.stack([position, velocity, acceleration])
