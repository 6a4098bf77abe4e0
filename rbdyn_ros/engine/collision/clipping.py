# SPDX-License-Identifier: Apache-2.0
"""The part of one face that lies above another face, found by clipping along the other's sides.

A corner of the geometry keeps its number. The number of a corner made by a cut combines the edge
and the side that cut the edge. So the number stays the same in later calls as long as the same
corners and edges touch.

Source: Sutherland, Hodgman, Reentrant polygon clipping, 1974.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import add3, cross3, dot3, load3, scaled3, sub3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints
from rbdyn_ros.model.geometry.pushing import FACE_CORNERS

#: Largest number of contact points of a pair. With fewer points a disc would tip over too early.
POINTS = 8

#: Largest number of corners of a clipped face; each clipping side adds at most one.
ROOM = 40
assert ROOM > 2 * FACE_CORNERS

#: Depths or distances that differ by less than this part of a face's size count as equal.
SAME_DEPTH = 1e-4

#: Bit that is set in the number of a corner made by a cut.
CUT = 1 << 22

#: Number of bits for the edge in the number of a cut; the highest is set if a side made the edge.
EDGE_BITS = 11
EDGE_MASK = (1 << EDGE_BITS) - 1
CUT_EDGE = 1 << (EDGE_BITS - 1)


@kernel
def part_above(
    base, base_names, n_base, up, top, top_names, n_top, r_base, r_top, reach, points, names
):
    """Write the corners of the part of the face `top` above the face `base`.

    Return the number of corners. `up` is the normal of `base`; the faces are moved outwards by the
    radii r_base and r_top, and a corner must be nearer than `reach`.
    """
    P, Q = stack_floats(ROOM, 3), stack_floats(ROOM, 3)
    codes, other_codes = stack_ints(ROOM, 2), stack_ints(ROOM, 2)
    for n in range(n_top):
        P[n, 0], P[n, 1], P[n, 2] = load3(top, n)
        codes[n, 0] = codes[n, 1] = top_names[n, 0]
    number, level = n_top, -np.inf
    for k in range(n_base):
        level = max(level, dot3(up, load3(base, k)))
    for k in range(n_base):
        start = load3(base, k)
        out = cross3(sub3(load3(base, (k + 1) % n_base), start), up)
        number = _cut(P, codes, number, start, out, base_names[k, 0], Q, other_codes)
        P, Q = Q, P
        codes, other_codes = other_codes, codes
    kept = 0
    for n in range(number):
        x = load3(P, n)
        dist = dot3(up, x) - level - r_base - r_top
        if dist < reach:
            # the first rows of P are the kept corners
            P[kept, 0], P[kept, 1], P[kept, 2] = sub3(x, scaled3(up, r_top + 0.5 * dist))
            Q[kept, 0] = dist
            codes[kept, 0] = codes[n, 0]
            kept += 1
    return _chosen(P, Q, codes, kept, points, names)


@kernel
def _cut(P, codes, number, start, out, side, Q, new_codes):
    """Write the part of a polygon on the inner side of a plane; return its number of corners.

    A corner has two numbers. The first is the number of the corner; for a cut it combines CUT, the
    edge and the side. The second is the number of the edge after it: the corner at which the edge
    began, or CUT_EDGE combined with the side that made the edge. A polygon of two corners is a
    segment.
    """
    kept = 0
    for n in range(number):
        after = n + 1 if n + 1 < number else 0
        here, there = load3(P, n), load3(P, after)
        inside, next_inside = -dot3(out, sub3(here, start)), -dot3(out, sub3(there, start))
        if inside >= 0.0 and kept < ROOM:
            Q[kept, 0], Q[kept, 1], Q[kept, 2] = here
            new_codes[kept, 0], new_codes[kept, 1] = codes[n, 0], codes[n, 1]
            kept += 1
        crosses = (inside > 0.0 and next_inside < 0.0) or (inside < 0.0 and next_inside > 0.0)
        if number == 2 and n == 1:
            crosses = False  # a segment has one edge, not two
        if crosses and kept < ROOM:
            share = inside / (inside - next_inside)
            x = add3(here, scaled3(sub3(there, here), share))
            Q[kept, 0], Q[kept, 1], Q[kept, 2] = x
            edge = codes[n, 1]
            new_codes[kept, 0] = CUT | ((edge & EDGE_MASK) << EDGE_BITS) | (side & EDGE_MASK)
            new_codes[kept, 1] = CUT_EDGE | (side & (CUT_EDGE - 1)) if inside > 0.0 else edge
            kept += 1
    return kept


@kernel
def _chosen(P, Q, codes, number, points, names):
    """Write up to POINTS points and return their number.

    From a larger number of points, the deepest is chosen first. Each further point is the point
    farthest from all chosen points.

    If points are equal up to rounding, the first is chosen, so that a body at rest keeps its
    points.
    """
    if number <= POINTS:
        for n in range(number):
            write_point(points, names, n, load3(P, n), Q[n, 0], codes[n, 0])
        return number
    across = sub3(load3(P, number // 2), load3(P, 0))
    best, same = 0, SAME_DEPTH * np.sqrt(dot3(across, across))
    for n in range(1, number):
        if Q[n, 0] < Q[best, 0] - same:
            best = n
    for n in range(number):
        Q[n, 1] = np.inf  # the last column holds the squared distance from the chosen points
    for kept in range(POINTS):
        x = load3(P, best)
        write_point(points, names, kept, x, Q[best, 0], codes[best, 0])
        best = 0
        for n in range(number):
            between = sub3(load3(P, n), x)
            Q[n, 1] = min(Q[n, 1], dot3(between, between))
            if Q[n, 1] > Q[best, 1] * (1.0 + SAME_DEPTH):
                best = n
    return POINTS


@inline
def write_point(points, names, n, x, dist, name):
    points[n, 0], points[n, 1], points[n, 2] = x
    points[n, 3] = dist
    names[n, 0] = name
