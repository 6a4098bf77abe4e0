# SPDX-License-Identifier: Apache-2.0
"""Compute the structural similarity of two pictures."""

import numpy as np
from scipy.ndimage import gaussian_filter


def similarity(a, b, sigma=1.5):
    """Return the mean structural similarity of two pictures (height, width, 3), at most 1.

    Source: Wang, Bovik, Sheikh, Simoncelli, Image quality assessment: from error visibility to
    structural similarity, 2004, eq. 13 with Gaussian weights.
    """

    def blurred(x):
        return gaussian_filter(x, (sigma, sigma, 0.0), truncate=3.5)

    a, b = np.asarray(a, float), np.asarray(b, float)
    mean_a, mean_b = blurred(a), blurred(b)
    var_a, var_b = blurred(a * a) - mean_a**2, blurred(b * b) - mean_b**2
    both = blurred(a * b) - mean_a * mean_b
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    light = (2.0 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
    return float((light * (2.0 * both + c2) / (var_a + var_b + c2)).mean())
