# SPDX-License-Identifier: Apache-2.0
"""The distance of two convex cores by the algorithm of Gilbert, Johnson and Keerthi.

A - B contains the origin if A and B overlap. Otherwise its distance from the origin is the
distance of A and B. A simplex of corners of A - B is moved towards the origin until it contains
the point of A - B nearest to the origin.

Source: van den Bergen, Collision Detection in Interactive 3D Environments, 2003, chapter 4.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import ZERO3, dot3, scaled3
from rbdyn_ros.engine.collision.simplex import ROW, copy_rows, nearest, put
from rbdyn_ros.engine.collision.smooth import has_cylinder, refined
from rbdyn_ros.engine.collision.support import bound_of, farthest
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints

MAX_ITERATIONS = 200  # cores with corners need about ten iterations, cylinders up to a hundred
GAP = 1e-12  # allowed relative gap between the upper and the lower bound of the squared distance
# Newton's method is tried in every second iteration from the third on
NEWTON_AFTER, NEWTON_EVERY = 3, 2
TOUCHING = 1e-9  # cores nearer than this part of their size count as touching

#: At a smaller distance, as a part of the size, rounding errors of the points would turn the
#: normal, so the solution is refined.
REFINE_BELOW = 1e-3


@kernel
def gjk(m, a, b, R, t, reach, S, names):
    """Find the nearest points of two cores, unless they are farther apart than `reach`.

    The pose of B in A is R, t. The simplex of the nearest point is written to S and names.

    Returns:
        Number of points of the simplex, 0 if the cores are farther apart than `reach`; the point
        of A - B nearest to the origin, in A; and a depth, 0 if unknown. With 0 points the vector
        is a direction that separates the cores. If the cores overlap or touch it is zero, or, with
        a known depth, the unit vector along which the depth is known.
    """
    size = bound_of(m, a) + bound_of(m, b)
    small, close = TOUCHING * size, REFINE_BELOW * size
    v = scaled3(t, -1.0)
    if dot3(v, v) == 0.0:
        v = (1.0, 0.0, 0.0)
    w, x, y, i, j = farthest(m, a, b, R, t, scaled3(v, -1.0), 0, 0)
    put(S, names, 0, w, x, y, i, j)
    n, v = nearest(S, names, 1)
    square = dot3(v, v)
    cylinder = has_cylinder(m, a, b)
    for iteration in range(MAX_ITERATIONS):
        if square <= small * small:
            return n, ZERO3, 0.0
        w, x, y, i, j = farthest(m, a, b, R, t, scaled3(v, -1.0), max(i, 0), max(j, 0))
        along = dot3(v, w)
        if along > 0.0 and along > reach * np.sqrt(square):
            return 0, v, 0.0
        if square - along <= GAP * square or _has(names, n, i, j):
            break
        put(S, names, n, w, x, y, i, j)
        n, v = nearest(S, names, n + 1)
        if n == 4:
            return n, ZERO3, 0.0
        before, square = square, dot3(v, v)
        if square >= before:  # the distance no longer decreases: only rounding errors remain
            break
        if cylinder and iteration >= NEWTON_AFTER and iteration % NEWTON_EVERY == 0:
            count, normal, height = _refined(m, a, b, R, t, v, S, names, n)
            if count > 0:
                return _solution(count, normal, height, reach)
    if square <= small * small:
        return n, ZERO3, 0.0
    if square <= close * close:
        # v is the difference of nearly equal points, so the normal of faces or edges is more exact
        count, normal, height = _refined(m, a, b, R, t, v, S, names, n)
        if count > 0:
            return _solution(count, normal, height, reach)
    return n, v, 0.0


@inline
def _solution(count, normal, height, reach):
    """Return the results of `gjk` for a solution of Newton's method."""
    if -height > reach:
        count = 0
    return count, normal if height > 0.0 else scaled3(normal, height), max(height, 0.0)


@inline
def _refined(m, a, b, R, t, v, S, names, n):
    """Replace the simplex by the solution of Newton's method; return the results of `refined`."""
    F, pairs = stack_floats(3, ROW), stack_ints(3, 2)
    v = scaled3(v, -1.0 / np.sqrt(dot3(v, v)))
    count, normal, height = refined(m, a, b, R, t, v, S, names, n, F, pairs)
    copy_rows(F, pairs, count, S, names)
    return count, normal, height


@inline
def _has(names, n, i, j):
    """Return whether a simplex already has the point made from corner i of A and corner j of B."""
    found = False
    for k in range(n):
        if i >= 0 and j >= 0 and names[k, 0] == i and names[k, 1] == j:
            found = True
    return found
