"""The points at which two convex geometries touch, from the direction of their contact.

Faces come first: where a face separates the two as far as any direction does, or nearly, the
contact is along its normal, and the part of the other geometry above the face has its corners as
points. Capsules and cylinders side by side touch at both ends of their common part. All else
touches at the nearest point.

A point has a number of its own in its pair, made of the corner, or of the edge and the side that
cut it. It is the same from call to call as long as the same parts touch.

Source: Sutherland, Hodgman, Reentrant polygon clipping, 1974.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.collision.faces import face
from rbdyn_ros.engine.collision.support import farthest, radius_of
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import (
    add3,
    cross3,
    dot3,
    load3,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.stack import stack_floats, stack_ints
from rbdyn_ros.model.pushing import FACE_CORNERS

#: Most points of a pair: a disc on fewer would tip over them too early.
POINTS = 8

#: Corners of a face that the sides of another have cut; a side adds at most one.
ROOM = 40
assert ROOM > 2 * FACE_CORNERS

#: A direction of edges counts only if it separates further than faces by this part of the size.
FACES_FIRST = 1e-4

#: The same where a core has a radius, and a corner of the core is not one of the surface.
ROUND_FIRST = 1e-7

#: Sine of the angle between axes that count as parallel.
PARALLEL_AXES = 1e-2

#: Points that differ by less than this part of a face's size are equally deep, or far away.
SAME_DEPTH = 1e-4

#: Least common part of two parallel axes, as a part of the half of the first.
MIN_COMMON = 1e-2

#: Numbers of points: of the face that is cut, of a corner that is a cut, of the nearest point.
SECOND, CUT, NEAREST = 1 << 23, 1 << 22, (1 << 23) - 1

#: Bits of the number of an edge in that of a cut; the highest is set if a side made the edge.
EDGE_BITS = 11
EDGE_MASK = (1 << EDGE_BITS) - 1
CUT_EDGE = 1 << (EDGE_BITS - 1)


@kernel
def manifold(m, a, b, R, t, nearest, reach, points, names):
    """Write the contact points of two geometries, half way between their surfaces.

    Args:
        m: the Model.
        a: a geometry.
        b: another one; the two are in order, see `in_order`.
        R: the rotation of B in A.
        t: the position of B in A.
        nearest: distance, normal from A to B, and nearest points, in A.
        reach: largest distance of a point.
        points: (POINTS, 4), receives points in A, and their distances.
        names: (POINTS, 1), receives their numbers.

    Returns:
        How many points there are, and the normal of all of them, from A to B.
    """
    dist, normal, _x, _y = nearest
    A, B = stack_floats(FACE_CORNERS, 3), stack_floats(FACE_CORNERS, 3)
    names_A, names_B = stack_ints(FACE_CORNERS, 1), stack_ints(FACE_CORNERS, 1)
    n_a, of_a = face(m, a, normal, A, names_A)
    n_b, of_b = face(m, b, scaled3(mat_vec(transposed(R), normal), -1.0), B, names_B)
    _move(B, n_b, R, t)
    of_b = mat_vec(R, of_b)
    r_a, r_b = radius_of(m, a), radius_of(m, b)
    part = FACES_FIRST if r_a + r_b == 0.0 else ROUND_FIRST
    bias = part * min(m.geom_rbound[a], m.geom_rbound[b])
    least = dist + r_a + r_b - bias
    apart_a = _apart(m, a, b, R, t, of_a) if n_a > 2 and n_b > 1 else -np.inf
    apart_b = _apart(m, a, b, R, t, scaled3(of_b, -1.0)) if n_b > 2 and n_a > 1 else -np.inf
    number = 0
    if apart_a >= least and apart_a >= apart_b - bias:
        normal = of_a
        number = _above(A, names_A, n_a, of_a, B, names_B, n_b, r_a, r_b, reach, points, names)
    elif apart_b >= least:
        normal = scaled3(of_b, -1.0)
        number = _above(B, names_B, n_b, of_b, A, names_A, n_a, r_b, r_a, reach, points, names)
        for n in range(number):
            names[n, 0] += SECOND
    elif n_a == 2 and n_b == 2:
        number, normal = _beside(m, a, b, R, t, normal, reach, points, names)
    return _with_nearest(points, names, number, normal, nearest, bias)


@kernel
def _with_nearest(points, names, number, normal, nearest, bias):
    """Add the nearest point unless another one is as deep; the corners of round faces are few."""
    dist, along, x, y = nearest
    deepest, highest = np.inf, 0
    for n in range(number):
        deepest = min(deepest, points[n, 3])
        if points[n, 3] > points[highest, 3]:
            highest = n
    if deepest <= dist + bias:
        return number, normal
    place = number if number < POINTS else highest
    _write(points, names, place, scaled3(add3(x, y), 0.5), dist, NEAREST)
    return min(number + 1, POINTS), normal if number > 0 else along


@inline
def _move(corners, number, R, t):
    for n in range(number):
        x = add3(t, mat_vec(R, load3(corners, n)))
        corners[n, 0], corners[n, 1], corners[n, 2] = x


@inline
def _apart(m, a, b, R, t, v):
    """Return how far the core of B is from that of A along v."""
    w, _x, _y, _i, _j = farthest(m, a, b, R, t, v, 0, 0)
    return -dot3(w, v)


@inline
def _write(points, names, n, x, dist, name):
    points[n, 0], points[n, 1], points[n, 2] = x
    points[n, 3] = dist
    names[n, 0] = name


@kernel
def _above(
    base, base_names, n_base, up, top, top_names, n_top, r_base, r_top, reach, points, names
):
    """Write the corners of the part of `top` above the face `base`; return their number."""
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
            # P has the corners that are kept in its first rows
            P[kept, 0], P[kept, 1], P[kept, 2] = sub3(x, scaled3(up, r_top + 0.5 * dist))
            Q[kept, 0] = dist
            codes[kept, 0] = codes[n, 0]
            kept += 1
    return _chosen(P, Q, codes, kept, points, names)


@kernel
def _cut(P, codes, number, start, out, side, Q, new_codes):
    """Write the part of a polygon on the inner side of a plane; return its number of corners.

    A corner has two numbers: its own, which is CUT, the edge and the side for a cut; and the
    number of the edge after it, which is the corner it began with, or CUT_EDGE and the side that
    made it. Two corners are a segment.
    """
    kept = 0
    for n in range(number):
        after = (n + 1) % number
        here, there = load3(P, n), load3(P, after)
        inside, next_inside = -dot3(out, sub3(here, start)), -dot3(out, sub3(there, start))
        if inside >= 0.0 and kept < ROOM:
            Q[kept, 0], Q[kept, 1], Q[kept, 2] = here
            new_codes[kept, 0], new_codes[kept, 1] = codes[n, 0], codes[n, 1]
            kept += 1
        crosses = (inside > 0.0 and next_inside < 0.0) or (inside < 0.0 and next_inside > 0.0)
        if number == 2 and n == 1:
            crosses = False  # a segment has no way back
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
    """Write up to POINTS of some points: the deepest, and again and again the one most alone.

    Of points that are equal up to rounding it is the first, so that a body at rest keeps them.
    """
    if number <= POINTS:
        for n in range(number):
            _write(points, names, n, load3(P, n), Q[n, 0], codes[n, 0])
        return number
    across = sub3(load3(P, number // 2), load3(P, 0))
    best, same = 0, SAME_DEPTH * np.sqrt(dot3(across, across))
    for n in range(1, number):
        if Q[n, 0] < Q[best, 0] - same:
            best = n
    for n in range(number):
        Q[n, 1] = np.inf  # squared distance from the chosen ones
    for kept in range(POINTS):
        x = load3(P, best)
        _write(points, names, kept, x, Q[best, 0], codes[best, 0])
        best = 0
        for n in range(number):
            between = sub3(load3(P, n), x)
            Q[n, 1] = min(Q[n, 1], dot3(between, between))
            if Q[n, 1] > Q[best, 1] * (1.0 + SAME_DEPTH):
                best = n
    return POINTS


@kernel
def _beside(m, a, b, R, t, normal, reach, points, names):
    """Write the ends of the common part of two parallel capsules or cylinders, side by side.

    Returns their number, and the normal: from one axis to the other, which is exact for cylinders.
    """
    h_a, h_b = m.geom_size[a, 1], m.geom_size[b, 1]
    u, v = (0.0, 0.0, h_a), mat_vec(R, (0.0, 0.0, h_b))
    n = cross3(u, v)
    if dot3(n, n) > (PARALLEL_AXES * h_a * h_b) ** 2:
        return 0, normal
    # in parts of u, from the centre of A
    along, middle = v[2] / h_a, t[2] / h_a
    low, high = max(middle - abs(along), -1.0), min(middle + abs(along), 1.0)
    if high - low < MIN_COMMON:
        return 0, normal
    x, y = _side_by_side(u, t, v, 0.5 * (low + high))
    between = sub3(y, x)
    length = np.sqrt(dot3(between, between))
    if length > 0.0:
        normal = scaled3(between, 1.0 / length)
    r_a, r_b, kept = m.geom_size[a, 0], m.geom_size[b, 0], 0
    for end in range(2):
        x, y = _side_by_side(u, t, v, low if end == 0 else high)
        dist = dot3(normal, sub3(y, x)) - r_a - r_b
        if dist < reach:
            x, y = add3(x, scaled3(normal, r_a)), sub3(y, scaled3(normal, r_b))
            _write(points, names, kept, scaled3(add3(x, y), 0.5), dist, end)
            kept += 1
    return kept, normal


@inline
def _side_by_side(u, t, v, place):
    """Return the points of two axes at the same place along u."""
    x = scaled3(u, place)
    return x, add3(t, scaled3(v, (x[2] - t[2]) / v[2]))
