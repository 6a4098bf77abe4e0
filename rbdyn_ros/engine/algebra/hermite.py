# SPDX-License-Identifier: Apache-2.0
"""Hermite interpolation between two points of a path, with given derivatives."""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline


@inline
def hermite(order, x, h, first, last):
    """Return the position, velocity and acceleration at the time x h after the first point.

    Args:
        order: 1 uses the positions of both points, 3 also velocities, 5 also accelerations.
        x: 0 at the first point, 1 at the last.
        h: time between them [s], more than 0.
        first: position, velocity and acceleration of the first point.
        last: position, velocity and acceleration of the last point.
    """
    p0, v0, a0 = first
    p1, v1, a1 = last
    d = p1 - p0
    if order == 1:
        c1, c2, c3, c4, c5 = d, 0.0, 0.0, 0.0, 0.0
    elif order == 3:
        c1, c2 = h * v0, 3.0 * d - h * (2.0 * v0 + v1)
        c3, c4, c5 = h * (v0 + v1) - 2.0 * d, 0.0, 0.0
    else:
        u0, u1, b0, b1 = h * v0, h * v1, h * h * a0, h * h * a1
        c1, c2 = u0, 0.5 * b0
        c3 = 10.0 * d - 6.0 * u0 - 4.0 * u1 - 1.5 * b0 + 0.5 * b1
        c4 = -15.0 * d + 8.0 * u0 + 7.0 * u1 + 1.5 * b0 - b1
        c5 = 6.0 * d - 3.0 * (u0 + u1) + 0.5 * (b1 - b0)
    place = p0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))))
    rate = c1 + x * (2.0 * c2 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))
    bend = 2.0 * c2 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))
    return place, rate / h, bend / (h * h)
