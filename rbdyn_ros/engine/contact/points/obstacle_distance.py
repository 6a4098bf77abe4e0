# SPDX-License-Identifier: Apache-2.0
"""The distance from points and lines of the world to an obstacle."""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    dot3,
    load3,
    load9,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.distances import distance
from rbdyn_ros.engine.collision.kinds import PLANE
from rbdyn_ros.engine.compiler.jit import inline, kernel

GOLDEN = 0.6180339887498949
GOLDEN_STEPS = 40  # after this many iterations the point is exact to 1e-8 of the line's length


@inline
def from_obstacle(m, o, x):
    """Return the distance from a world point to an obstacle, and the direction away from it."""
    R = load9(m.geom_mat, o)
    local = mat_vec(transposed(R), sub3(x, load3(m.geom_pos, o)))
    dist, away = distance(m.geom_type[o], load3(m.geom_size, o), local)
    return dist, mat_vec(R, away)


@inline
def distance_to_obstacle(m, o, x):
    """Return the distance from a point of the world to an obstacle."""
    if m.geom_type[o] == PLANE:  # a closed form gives the same distance at less cost
        up = (m.geom_mat[o, 2], m.geom_mat[o, 5], m.geom_mat[o, 8])
        return dot3(up, sub3(x, load3(m.geom_pos, o)))
    dist, _ = from_obstacle(m, o, x)
    return dist


@kernel
def nearest_on_line(m, o, p, line, tilt):
    """Return the point (0 to 1) of a line nearest to a box; its far end is raised by `tilt`.

    The distance to a convex body is convex along a line, so golden-section search finds it.
    """
    low, high = 0.0, 1.0
    for _ in range(GOLDEN_STEPS):
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_a, _n = from_obstacle(m, o, add3(p, scaled3(line, a)))
        at_b, _n = from_obstacle(m, o, add3(p, scaled3(line, b)))
        if at_a + tilt * a < at_b + tilt * b:
            high = b
        else:
            low = a
    return 0.5 * (low + high)
