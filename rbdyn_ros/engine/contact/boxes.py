"""Contact of two boxes: a face of one with the part of the other above it, or two edges.

Two boxes can be separated along fifteen directions: six of faces, nine of pairs of edges. The
contact is along the direction of least penetration. If it belongs to a face, the nearest face of
the other box is clipped along the sides of that face, and its corners are the contact points. Each
corner has a name in clip_name: the corner of the box, or the edge and the side that cut it. With
the face and the side of the other box this is the feature of the contact.

Source: Gottschalk, Lin, Manocha, OBBTree, 1996 (the fifteen directions); Sutherland, Hodgman,
Reentrant polygon clipping, 1974.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.contact.touch import touch
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import (
    add3,
    cross3,
    dot3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)

#: Edges count only if they are further apart than faces by this part of the size.
FACES_FIRST = 1e-3
#: Names of corners of a face, and pairs of faces, for features.
NAMES = 36
FACES = 72
PARALLEL = 1e-6  # square of the sine of the angle between two edges


@kernel
def meet_boxes(m, d, g, o, reach):
    """Find the contacts of a box with a box of the world, up to the distance `reach`."""
    i = m.geom_bodyid[g]
    R_body, a = load9(d.xmat, i), load3(m.geom_size, g)
    p_A = add3(load3(d.xpos, i), mat_vec(R_body, load3(m.geom_pos, g)))
    R_A = mat_mul(R_body, load9(m.geom_mat, g))
    p_B, R_B, b = load3(m.obstacle_pos, o), load9(m.obstacle_mat, o), load3(m.obstacle_size, o)
    # A in B, and B in A
    C, t = mat_mul(transposed(R_B), R_A), mat_vec(transposed(R_B), sub3(p_A, p_B))
    C_T, t_A = transposed(C), mat_vec(transposed(R_A), sub3(p_B, p_A))
    of_B, apart_B = _best_face(t, C, b, a)
    of_A, apart_A = _best_face(t_A, C_T, a, b)
    pair, apart_edges = _best_edges(t, C, b, a)
    apart = max(apart_A, apart_B)
    bias = FACES_FIRST * min(a[0], a[1], a[2], b[0], b[1], b[2])
    if max(apart, apart_edges) >= reach:
        return
    if apart_edges > apart + bias:
        _edges(m, d, g, o, p_B, R_B, t, C, b, a, pair, apart_edges)
    elif apart_B >= apart_A - bias:
        _face(m, d, g, o, reach, p_B, R_B, t, C, b, a, of_B, True)
    else:
        _face(m, d, g, o, reach, p_A, R_A, t_A, C_T, a, b, of_A, False)


@inline
def _column(C, j):
    return C[j], C[3 + j], C[6 + j]


@kernel
def _best_face(t, C, own, other):
    """Return the face direction of a box along which the other, at t, C, is farthest away."""
    best, most = 0, -np.inf
    for k in range(3):
        reach = (
            other[0] * abs(C[3 * k]) + other[1] * abs(C[3 * k + 1]) + other[2] * abs(C[3 * k + 2])
        )
        apart = abs(t[k]) - own[k] - reach
        if apart > most:
            best, most = k, apart
    return best, most


@kernel
def _best_edges(t, C, own, other):
    """Return the same for pairs of edges: 3 times the own axis plus the other box's axis."""
    best, most = 0, -np.inf
    for pair in range(9):
        n, square = _across(C, pair)
        if square > PARALLEL:
            n = scaled3(n, 1.0 / np.sqrt(square))
            apart = abs(dot3(t, n))
            for k in range(3):
                apart -= own[k] * abs(n[k]) + other[k] * abs(dot3(_column(C, k), n))
            if apart > most:
                best, most = pair, apart
    return best, most


@inline
def _across(C, pair):
    """Return the direction perpendicular to two edges, not normalised, and its squared length."""
    n = cross3(_axis(pair // 3), _column(C, pair % 3))
    return n, dot3(n, n)


@inline
def _axis(k):
    return 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0


@kernel
def _face(m, d, g, o, reach, p, R, t, C, own, other, k, of_obstacle):
    """Add contacts with the part of the other box above face k of the own box.

    Corners are kept as (u, v, w) in the face's axes, w along its normal.
    """
    sign = 1.0 if t[k] >= 0.0 else -1.0
    u, v = (k + 1) % 3, (k + 2) % 3
    number, towards = _facing(d, t, C, other, k, sign, u, v)
    number, source = _clip(d, number, own[u], own[v])
    face = 2 * k + (1 if sign > 0.0 else 0) + (6 if of_obstacle else 0)
    first_feature = (6 * face + towards) * NAMES
    n = mat_vec(R, scaled3(_axis(k), sign))
    normal = n if of_obstacle else scaled3(n, -1.0)
    for c in range(number):
        corner = d.clip[source, c]
        dist = corner[2] - own[k]
        if dist < reach:
            x = add3(scaled3(_axis(u), corner[0]), scaled3(_axis(v), corner[1]))
            x = add3(x, scaled3(_axis(k), sign * corner[2]))
            x = add3(p, mat_vec(R, x))
            if not of_obstacle:  # it is a point of the obstacle
                x = add3(x, scaled3(normal, dist))
            touch(m, d, g, o, x, normal, dist, first_feature + d.clip_name[source, c])


@kernel
def _facing(d, t, C, other, k, sign, u, v):
    """Write to clip[0] the corners of the other box's face that faces face k.

    Returns their number, 4, and the number of that face, 0 to 5.
    """
    j, most = 0, -1.0
    for n in range(3):
        if abs(C[3 * k + n]) > most:
            j, most = n, abs(C[3 * k + n])
    towards = -1.0 if sign * C[3 * k + j] > 0.0 else 1.0
    centre = add3(t, scaled3(_column(C, j), towards * other[j]))
    e = scaled3(_column(C, (j + 1) % 3), other[(j + 1) % 3])
    f = scaled3(_column(C, (j + 2) % 3), other[(j + 2) % 3])
    for c in range(4):  # around the face
        x = add3(centre, scaled3(e, 1.0 if c == 0 or c == 3 else -1.0))
        x = add3(x, scaled3(f, 1.0 if c < 2 else -1.0))
        d.clip[0, c, 0], d.clip[0, c, 1], d.clip[0, c, 2] = x[u], x[v], sign * x[k]
        d.clip_name[0, c] = d.clip_edge[0, c] = c
    return 4, 2 * j + (1 if towards > 0.0 else 0)


@kernel
def _clip(d, number, wide, high):
    """Cut a polygon in clip[0] to |u| <= wide, |v| <= high; return its corners and where.

    An edge belongs to the corner it begins at: 0 to 3 of the face, 4 to 7 cut by a side.
    """
    source = 0
    for side in range(4):
        axis, end = side // 2, 1.0 if side % 2 == 0 else -1.0
        limit = wide if axis == 0 else high
        old, new = d.clip[source], d.clip[1 - source]
        names, edges = d.clip_name[source], d.clip_edge[source]
        new_names, new_edges = d.clip_name[1 - source], d.clip_edge[1 - source]
        kept, most = 0, len(new)  # rounding errors of a tiny polygon could make more corners
        for c in range(number):
            here, after = old[c], old[(c + 1) % number]
            inside, next_inside = limit - end * here[axis], limit - end * after[axis]
            if inside >= 0.0 and kept < most:
                for x in range(3):
                    new[kept, x] = here[x]
                new_names[kept], new_edges[kept] = names[c], edges[c]
                kept += 1
            crosses = (inside > 0.0 and next_inside < 0.0) or (inside < 0.0 and next_inside > 0.0)
            if crosses and kept < most:
                share = inside / (inside - next_inside)
                for x in range(3):
                    new[kept, x] = here[x] + share * (after[x] - here[x])
                new_names[kept] = 4 + 8 * side + edges[c]
                new_edges[kept] = 4 + side if inside > 0.0 else edges[c]
                kept += 1
        number, source = kept, 1 - source
    return number, source


@kernel
def _edges(m, d, g, o, p, R, t, C, own, other, pair, apart):
    """Add the contact at which two edges cross."""
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
    # on_other + s e is nearest to the line of the own edge
    e, between = _column(C, j), sub3(on_other, on_own)
    s = (e[i] * between[i] - dot3(e, between)) / (1.0 - e[i] * e[i])
    x = add3(p, mat_vec(R, add3(on_other, scaled3(e, s))))
    touch(m, d, g, o, x, mat_vec(R, n), apart, FACES * NAMES + pair)
