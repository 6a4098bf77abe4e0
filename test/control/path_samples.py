# SPDX-License-Identifier: Apache-2.0
"""Sample a path for tests."""

import numpy as np


def sampled(path, times):
    """Return positions, velocities and accelerations at some times, (t, 3, n)."""
    rows = np.empty((3, path.positions.shape[1]))
    return np.array([path.sample(t, rows).copy() for t in times])
