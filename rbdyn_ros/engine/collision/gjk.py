"""The distance of two convex cores by the algorithm of Gilbert, Johnson and Keerthi.

A - B contains the origin if A and B overlap, and its point nearest to the origin is their
distance. A simplex of its corners is moved towards the origin until it holds that point.

Source: van den Bergen, Collision Detection in Interactive 3D Environments, 2003, chapter 4.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.collision.simplex import nearest, put
from rbdyn_ros.engine.collision.support import farthest
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import ZERO3, dot3, scaled3

MOST = 200  # iterations; polytopes take some ten, cylinders up to a hundred
GAP = 1e-12  # upper minus lower bound of the squared distance, as a part of it
TOUCHING = 1e-9  # distance of cores that count as touching, as a part of their size


@inline
def is_apart(m, a, b, R, t, v, reach):
    """Return whether a direction v shows that two cores are farther apart than `reach`."""
    w, _, _, _, _ = farthest(m, a, b, R, t, scaled3(v, -1.0), 0, 0)
    along = dot3(v, w)
    return along > 0.0 and along > reach * np.sqrt(dot3(v, v))


@kernel
def gjk(m, a, b, R, t, reach, S, names):
    """Find the nearest points of two cores, unless they are farther apart than `reach`.

    The pose of B in A is R, t. The simplex of the nearest point is written to S and names.

    Returns:
        Number of points of the simplex, 0 if the cores are farther apart than `reach`; and the
        nearest point of A - B, or a direction that separates them, in A. It is zero if they
        overlap or touch.
    """
    small = TOUCHING * (m.geom_rbound[a] + m.geom_rbound[b])
    v = scaled3(t, -1.0)
    if dot3(v, v) == 0.0:
        v = (1.0, 0.0, 0.0)
    w, x, y, i, j = farthest(m, a, b, R, t, scaled3(v, -1.0), 0, 0)
    put(S, names, 0, w, x, y, i, j)
    n, v = nearest(S, names, 1)
    square = dot3(v, v)
    for _ in range(MOST):
        if square <= small * small:
            return n, ZERO3
        w, x, y, i, j = farthest(m, a, b, R, t, scaled3(v, -1.0), max(i, 0), max(j, 0))
        along = dot3(v, w)
        if along > 0.0 and along > reach * np.sqrt(square):
            return 0, v
        if square - along <= GAP * square or _has(names, n, i, j):
            break
        put(S, names, n, w, x, y, i, j)
        n, v = nearest(S, names, n + 1)
        if n == 4:
            return n, ZERO3
        before, square = square, dot3(v, v)
        if square >= before:  # only rounding is left
            break
    return n, v if square > small * small else ZERO3


@inline
def _has(names, n, i, j):
    """Return whether a simplex has a point already."""
    found = False
    for k in range(n):
        if i >= 0 and j >= 0 and names[k, 0] == i and names[k, 1] == j:
            found = True
    return found
