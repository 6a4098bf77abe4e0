# SPDX-License-Identifier: Apache-2.0
"""Nearest or deepest points of two cores (support.py) at a cylinder's flat end, in closed form.

All points of a rim are equally far along its axis, so Newton's method (smooth.py) fails there.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import ZERO3, add3, dot3, scaled3, sub3
from rbdyn_ros.engine.collision.kinds import CYLINDER
from rbdyn_ros.engine.collision.simplex import WEIGHT, weighted
from rbdyn_ros.engine.collision.support import farthest, kind_of
from rbdyn_ros.engine.compiler.jit import inline, kernel

#: Least |cosine| of the angle between the axis and the direction v for which an end is tried.
END_COSINE = 0.9


@kernel
def at_end(m, a, b, R, t, v, S, n, F, pairs, rounding):
    """Try cylinder ends that face v. Return the results of `refined`, with 0 rows if none fits."""
    axis = (R[2], R[5], R[8])
    along = dot3(axis, v)
    if m.geom_type[a] == CYLINDER and abs(v[2]) > END_COSINE:
        up = (0.0, 0.0, 1.0 if v[2] > 0.0 else -1.0)
        w, _x, y, i, j = farthest(m, a, b, R, t, up, 0, 0)
        height, level = dot3(w, up), dot3(y, up)
        _near, near = weighted(S, n)
        found, y = _above_disc(y, near, ZERO3, up, level, m.geom_size[a, 0], rounding)
        if found:
            _write(F, pairs, add3(y, scaled3(up, height)), y, i, j)
            return 1, up, height
    if kind_of(m, b) == CYLINDER and abs(along) > END_COSINE:
        up = scaled3(axis, 1.0 if along > 0.0 else -1.0)
        w, x, _y, i, j = farthest(m, a, b, R, t, up, 0, 0)
        height, level = dot3(w, up), dot3(x, up)
        near, _near = weighted(S, n)
        found, x = _above_disc(x, near, t, up, level, m.geom_size[b, 0], rounding)
        if found:
            _write(F, pairs, x, sub3(x, scaled3(up, height)), i, j)
            return 1, up, height
    return 0, v, 0.0


@inline
def _write(F, pairs, x, y, i, j):
    F[0, 0], F[0, 1], F[0, 2] = sub3(x, y)
    F[0, 3], F[0, 4], F[0, 5] = x
    F[0, 6], F[0, 7], F[0, 8] = y
    F[0, WEIGHT] = 1.0
    pairs[0, 0], pairs[0, 1] = i, j


@inline
def _above_disc(x, near, centre, v, level, radius, rounding):
    """Return whether the point of the other core farthest along v is within a disc, and the point.

    The point is x. If a whole face is farthest, x may be a corner of it outside the disc; then
    `near`, the nearest point of the simplex, is tried too.
    """
    found = _is_within(sub3(x, centre), v, radius)
    level_too = abs(dot3(near, v) - level) <= rounding
    if not found and level_too and _is_within(sub3(near, centre), v, radius):
        found, x = True, near
    return found, x


@inline
def _is_within(x, v, radius):
    along = dot3(x, v)
    return dot3(x, x) - along * along <= radius * radius
