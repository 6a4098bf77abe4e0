# SPDX-License-Identifier: Apache-2.0
"""Points on the rims of a cylinder, at angles about its axis."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import mat_vec, transposed
from rbdyn_ros.engine.compiler.jit import inline

#: If a cylinder is tilted by less than this [rad], fixed points of its rim are used.
UPRIGHT_TILT = 1e-6


@inline
def lowest_angle(R, up):
    """Return the angle about the axis of a cylinder at which its rims are lowest."""
    x, y, _ = mat_vec(transposed(R), up)
    # of an upright cylinder rounding errors would determine the lowest point
    upright = x * x + y * y < UPRIGHT_TILT * UPRIGHT_TILT
    return 0.0 if upright else np.arctan2(-y, -x)


@inline
def on_rim(m, g, angle, n):
    """Return x and y, in the geometry, of point n of a rim: n times 120 degrees from `angle`."""
    turned = angle + n * (2.0 * np.pi / 3.0)
    return m.geom_size[g, 0] * np.cos(turned), m.geom_size[g, 0] * np.sin(turned)
