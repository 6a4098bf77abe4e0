# SPDX-License-Identifier: Apache-2.0
"""Contact of two boxes: a face with the part of the other box above it, or two edges.

Two boxes can be separated along fifteen directions: six face normals, and nine cross products of
edges. The contact is along the direction of least penetration. If this is a face normal, the
nearest face of the other box is clipped along the sides of the face, and its remaining corners are
the contact points. The name of a point is the corner of the box, or the edge and the side that cut
it. Combined with the numbers of both faces it is the feature of the contact.

Source: Gottschalk, Lin, Manocha, OBBTree, 1996 (the fifteen directions); Sutherland, Hodgman,
Reentrant polygon clipping, 1974.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    cross3,
    dot3,
    mat_mul,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import inline
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints

#: Largest number of points; rounding errors of a tiny face could make more than eight.
BOX_POINTS = 12
#: A pair of edges is used only if it separates the boxes farther than every face, by this part of
#: the size.
FACES_FIRST = 1e-3
#: NAMES: number of names of a point: 4 corners of a face, and cuts of 8 edges by each of 4 sides.
#: FACE_PAIRS: number of pairs of one of the 12 faces of both boxes and one of the 6 faces of the
#: other box.
NAMES = 36
FACE_PAIRS = 72
PARALLEL_EDGES = 1e-6  # edges with a smaller squared sine of their angle count as parallel


@inline
def box_points(p_A, R_A, a, p_B, R_B, b, reach, points, names):
    """Write the contact points of two boxes, up to the distance `reach`.

    Args:
        p_A: centre of box A in the world.
        R_A: rotation of box A.
        a: half edges of box A.
        p_B: centre of box B in the world.
        R_B: rotation of box B.
        b: half edges of box B.
        reach: largest distance of a contact point.
        points: (BOX_POINTS, 4), receives points of A in the world, and their distances from B.
        names: (BOX_POINTS, 1), receives the features of the points.

    Returns:
        The number of points, and their common unit normal, from B to A.
    """
    # pose of A in B, and of B in A
    C, t = mat_mul(transposed(R_B), R_A), mat_vec(transposed(R_B), sub3(p_A, p_B))
    C_T, t_A = transposed(C), mat_vec(transposed(R_A), sub3(p_B, p_A))
    of_B, apart_B = _best_face(t, C, b, a)
    of_A, apart_A = _best_face(t_A, C_T, a, b)
    apart = max(apart_A, apart_B)
    bias = FACES_FIRST * min(a[0], a[1], a[2], b[0], b[1], b[2])
    pair, apart_edges = _best_edges(t, C, b, a, min(apart + bias, reach))
    if max(apart, apart_edges) >= reach:
        return 0, ZERO3
    if apart_edges > apart + bias:
        return _edges(p_B, R_B, t, C, b, a, pair, apart_edges, points, names)
    if apart_B >= apart_A - bias:
        return _face(reach, p_B, R_B, t, C, b, a, of_B, True, points, names)
    return _face(reach, p_A, R_A, t_A, C_T, a, b, of_A, False, points, names)


@inline
def box_gap(p_A, R_A, a, p_B, R_B, b, reach):
    """Return the largest distance of two boxes along any of the fifteen directions, and the axis.

    The arguments are as in box_points. The axis points from B to A; beyond `reach` it is
    arbitrary.
    """
    C, t = mat_mul(transposed(R_B), R_A), mat_vec(transposed(R_B), sub3(p_A, p_B))
    C_T, t_A = transposed(C), mat_vec(transposed(R_A), sub3(p_B, p_A))
    of_B, apart_B = _best_face(t, C, b, a)
    of_A, apart_A = _best_face(t_A, C_T, a, b)
    apart = max(apart_A, apart_B)
    if apart < reach:
        bias = FACES_FIRST * min(a[0], a[1], a[2], b[0], b[1], b[2])
        pair, apart_edges = _best_edges(t, C, b, a, apart + bias)
        if apart_edges > apart:
            n, square = _across(C, pair)
            n = scaled3(n, (1.0 if dot3(n, t) >= 0.0 else -1.0) / np.sqrt(square))
            return apart_edges, mat_vec(R_B, n)
    if apart_B >= apart_A:
        return apart_B, mat_vec(R_B, scaled3(_axis(of_B), 1.0 if t[of_B] >= 0.0 else -1.0))
    return apart_A, mat_vec(R_A, scaled3(_axis(of_A), -1.0 if t_A[of_A] >= 0.0 else 1.0))


@inline
def _column(C, j):
    return C[j], C[3 + j], C[6 + j]


@inline
def _best_face(t, C, own, other):
    """Return the axis of the own box along which the other is farthest away, and the distance."""
    best, most = 0, -np.inf
    for k in range(3):
        reach = (
            other[0] * abs(C[3 * k]) + other[1] * abs(C[3 * k + 1]) + other[2] * abs(C[3 * k + 2])
        )
        apart = abs(t[k]) - own[k] - reach
        if apart > most:
            best, most = k, apart
    return best, most


@inline
def _best_edges(t, C, own, other, least):
    """Return the number of the edge pair with the largest distance: 3 * own axis + other axis.

    The distance is returned too. Pairs with a distance of at most `least` are left out.
    """
    best, x, y, z = (0, -np.inf), (C[0], C[1], C[2]), (C[3], C[4], C[5]), (C[6], C[7], C[8])
    best = _of_one_edge(best, 0, x, y, z, t[1], t[2], own[1], own[2], other, least)
    best = _of_one_edge(best, 3, y, z, x, t[2], t[0], own[2], own[0], other, least)
    return _of_one_edge(best, 6, z, x, y, t[0], t[1], own[0], own[1], other, least)


@inline
def _of_one_edge(best, first, x, y, z, t_y, t_z, own_y, own_z, other, least):
    """Return the best of `best` and the pairs of one own axis with the axes of the other box."""
    for_0 = other[1] * abs(x[2]) + other[2] * abs(x[1])
    for_1 = other[2] * abs(x[0]) + other[0] * abs(x[2])
    for_2 = other[0] * abs(x[1]) + other[1] * abs(x[0])
    best = _farther(best, first, y[0], z[0], t_y, t_z, own_y, own_z, for_0, least)
    best = _farther(best, first + 1, y[1], z[1], t_y, t_z, own_y, own_z, for_1, least)
    return _farther(best, first + 2, y[2], z[2], t_y, t_z, own_y, own_z, for_2, least)


@inline
def _farther(best, pair, y, z, t_y, t_z, own_y, own_z, extent, least):
    """Return the better of a pair and the best pair so far, with its distance.

    The other edge has the components y and z across the own edge. `extent` is the extent of the
    other box across both edges.
    """
    square = y * y + z * z
    apart = abs(t_z * y - t_y * z) - own_y * abs(z) - own_z * abs(y) - extent
    # compare before dividing by the length, so that few pairs need the square root
    if square > PARALLEL_EDGES and apart * abs(apart) > least * abs(least) * square:
        apart /= np.sqrt(square)
        if apart > best[1]:
            return pair, apart
    return best


@inline
def _across(C, pair):
    """Return the direction perpendicular to two edges, not normalised, and its squared length."""
    n = cross3(_axis(pair // 3), _column(C, pair % 3))
    return n, dot3(n, n)


@inline
def _axis(k):
    return 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0


@inline
def _face(reach, p, R, t, C, own, other, k, of_B, points, names):
    """Write the corners of the part of the other box above face k of the own box.

    The corners are clipped as (u, v, w) in the face's axes, with w along its normal. Return the
    number of corners and the normal.
    """
    clip, clip_names = stack_floats(BOX_POINTS, 3), stack_ints(BOX_POINTS, 2)
    sign = 1.0 if t[k] >= 0.0 else -1.0
    u, v = (k + 1) % 3, (k + 2) % 3
    number, towards = _facing(clip, clip_names, t, C, other, k, sign, u, v)
    number = _clip(clip, clip_names, number, own[u], own[v])
    face = 2 * k + (1 if sign > 0.0 else 0) + (6 if of_B else 0)
    first_feature = (6 * face + towards) * NAMES
    n = mat_vec(R, scaled3(_axis(k), sign))
    normal = n if of_B else scaled3(n, -1.0)
    kept = 0
    for c in range(number):
        dist = clip[c, 2] - own[k]
        if dist < reach:
            x = add3(scaled3(_axis(u), clip[c, 0]), scaled3(_axis(v), clip[c, 1]))
            x = add3(x, scaled3(_axis(k), sign * clip[c, 2]))
            x = add3(p, mat_vec(R, x))
            if not of_B:  # the point is on B
                x = add3(x, scaled3(normal, dist))
            points[kept, 0], points[kept, 1], points[kept, 2] = x
            points[kept, 3] = dist
            names[kept, 0] = first_feature + clip_names[c, 0]
            kept += 1
    return kept, normal


@inline
def _facing(clip, names, t, C, other, k, sign, u, v):
    """Write the corners of the other box's face that is opposite to face k.

    Return the number of corners, 4, and the number of the opposite face, 0 to 5.
    """
    j, most = 0, -1.0
    for n in range(3):
        if abs(C[3 * k + n]) > most:
            j, most = n, abs(C[3 * k + n])
    towards = -1.0 if sign * C[3 * k + j] > 0.0 else 1.0
    centre = add3(t, scaled3(_column(C, j), towards * other[j]))
    e = scaled3(_column(C, (j + 1) % 3), other[(j + 1) % 3])
    f = scaled3(_column(C, (j + 2) % 3), other[(j + 2) % 3])
    for c in range(4):  # the corners in order around the face
        x = add3(centre, scaled3(e, 1.0 if c == 0 or c == 3 else -1.0))
        x = add3(x, scaled3(f, 1.0 if c < 2 else -1.0))
        clip[c, 0], clip[c, 1], clip[c, 2] = x[u], x[v], sign * x[k]
        names[c, 0] = names[c, 1] = c
    return 4, 2 * j + (1 if towards > 0.0 else 0)


@inline
def _clip(old, names, number, half_u, half_v):
    """Clip a polygon to |u| <= half_u, |v| <= half_v; return its number of corners.

    A corner is stored with two names: its own, and the name of the edge that begins there. Edges 0
    to 3 belong to the face, and edges 4 to 7 are made by cuts along the sides.
    """
    new, new_names = stack_floats(BOX_POINTS, 3), stack_ints(BOX_POINTS, 2)
    for side in range(4):
        axis, end = side // 2, 1.0 if side % 2 == 0 else -1.0
        limit = half_u if axis == 0 else half_v
        kept, farthest = 0, -np.inf
        for c in range(number):
            farthest = max(farthest, end * old[c, axis])
        if farthest <= limit:
            continue
        for c in range(number):
            after = c + 1 if c + 1 < number else 0
            inside, next_inside = limit - end * old[c, axis], limit - end * old[after, axis]
            if inside >= 0.0 and kept < BOX_POINTS:
                for x in range(3):
                    new[kept, x] = old[c, x]
                new_names[kept, 0], new_names[kept, 1] = names[c, 0], names[c, 1]
                kept += 1
            crosses = (inside > 0.0 and next_inside < 0.0) or (inside < 0.0 and next_inside > 0.0)
            if crosses and kept < BOX_POINTS:
                share = inside / (inside - next_inside)
                for x in range(3):
                    new[kept, x] = old[c, x] + share * (old[after, x] - old[c, x])
                new_names[kept, 0] = 4 + 8 * side + names[c, 1]
                new_names[kept, 1] = 4 + side if inside > 0.0 else names[c, 1]
                kept += 1
        number = kept
        for c in range(number):
            for x in range(3):
                old[c, x] = new[c, x]
            names[c, 0], names[c, 1] = new_names[c, 0], new_names[c, 1]
    return number


@inline
def _edges(p, R, t, C, own, other, pair, apart, points, names):
    """Write the contact point of two crossing edges; return the count of points and the normal."""
    i, j = pair // 3, pair % 3
    n, square = _across(C, pair)
    n = scaled3(n, (1.0 if dot3(n, t) >= 0.0 else -1.0) / np.sqrt(square))
    on_own, on_other = (0.0, 0.0, 0.0), t
    for k in range(3):
        if k != i:
            on_own = add3(on_own, scaled3(_axis(k), own[k] if n[k] >= 0.0 else -own[k]))
        if k != j:
            axis = _column(C, k)
            side = -other[k] if dot3(axis, n) >= 0.0 else other[k]
            on_other = add3(on_other, scaled3(axis, side))
    # solve for s: on_other + s e is the point nearest to the line of the own edge
    e, between = _column(C, j), sub3(on_other, on_own)
    s = (e[i] * between[i] - dot3(e, between)) / (1.0 - e[i] * e[i])
    x = add3(p, mat_vec(R, add3(on_other, scaled3(e, s))))
    points[0, 0], points[0, 1], points[0, 2] = x
    points[0, 3] = apart
    names[0, 0] = FACE_PAIRS * NAMES + pair
    return 1, mat_vec(R, n)
