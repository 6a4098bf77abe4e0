# SPDX-License-Identifier: Apache-2.0
"""A polytope inside A - B that grows corner by corner; its faces are triangles.

The first rows of these arrays are in use:

    P, P_names      corners: the point of A - B, the points of A and of B whose difference it is;
                    the numbers of the corners of A and of B
    planes, faces   faces: the outward normal, the distance of the plane from the origin, and OPEN;
                    the numbers of three corners, anticlockwise seen from outside
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import ZERO3, cross3, dot3, load3, scaled3, store3, sub3
from rbdyn_ros.engine.collision.simplex import nearest
from rbdyn_ros.engine.compiler.jit import inline, kernel

MAX_CORNERS, MAX_FACES, MAX_EDGES = 256, 512, 512
# column of `planes`: distance of a face, or infinity if no lesser depth can lie behind it
OPEN = 4


@inline
def put_corner(P, names, n, w, x, y, i, j):
    store3(P, n, w)
    P[n, 3], P[n, 4], P[n, 5] = x
    P[n, 6], P[n, 7], P[n, 8] = y
    names[n, 0], names[n, 1] = i, j


@kernel
def start_polytope(S, names, P, P_names, planes, faces):
    """Write the polytope of a simplex of four points; return its numbers of corners and faces."""
    for n in range(4):
        P_names[n, 0], P_names[n, 1] = names[n, 0], names[n, 1]
        for k in range(9):
            P[n, k] = S[n, k]
    a, b, c, d = load3(P, 0), load3(P, 1), load3(P, 2), load3(P, 3)
    right = dot3(cross3(sub3(b, a), sub3(c, a)), sub3(d, a)) < 0.0
    if right:
        _face(P, planes, faces, 0, 0, 1, 2)
        _face(P, planes, faces, 1, 0, 3, 1)
        _face(P, planes, faces, 2, 1, 3, 2)
        _face(P, planes, faces, 3, 2, 3, 0)
    else:
        _face(P, planes, faces, 0, 0, 2, 1)
        _face(P, planes, faces, 1, 0, 1, 3)
        _face(P, planes, faces, 2, 1, 2, 3)
        _face(P, planes, faces, 3, 2, 0, 3)
    return 4, 4


@kernel
def _face(P, planes, faces, f, i, j, k):
    """Write face f with the corners i, j, k, which are anticlockwise seen from outside."""
    faces[f, 0], faces[f, 1], faces[f, 2] = i, j, k
    a, b, c = load3(P, i), load3(P, j), load3(P, k)
    ab, ac = sub3(b, a), sub3(c, a)
    normal = cross3(ab, ac)
    length = np.sqrt(dot3(normal, normal))
    # a face without area keeps the polytope closed, but is never the nearest face
    if length <= 1e-14 * (dot3(ab, ab) + dot3(ac, ac)):
        store3(planes, f, ZERO3)
        planes[f, 3] = np.inf
    else:
        normal = scaled3(normal, 1.0 / length)
        store3(planes, f, normal)
        planes[f, 3] = max(dot3(normal, a), dot3(normal, b), dot3(normal, c))
    planes[f, OPEN] = planes[f, 3]


@inline
def nearest_face(planes, count):
    best = 0
    for f in range(1, count):
        if planes[f, OPEN] < planes[best, OPEN]:
            best = f
    return best


@kernel
def expanded(P, planes, faces, edges, count, corner, above):
    """Replace the faces visible from a new corner by faces with this corner; return the new count.

    The count is negative if no face is visible from the corner, or if the arrays are full.
    """
    w = load3(P, corner)
    open_edges, f = 0, 0
    while f < count:
        if dot3(load3(planes, f), w) <= planes[f, 3] + above:
            f += 1
            continue
        if open_edges > MAX_EDGES - 3:
            return -1
        for e in range(3):
            open_edges = _toggled(edges, open_edges, faces[f, e], faces[f, (e + 1) % 3])
        count -= 1  # move the last face to the row of face f
        for k in range(3):
            faces[f, k] = faces[count, k]
        for k in range(5):
            planes[f, k] = planes[count, k]
    if open_edges == 0 or count + open_edges > MAX_FACES:
        return -1
    for e in range(open_edges):
        _face(P, planes, faces, count, edges[e, 0], edges[e, 1], corner)
        count += 1
    return count


@inline
def _toggled(edges, count, i, j):
    """Add an edge, or remove it if its opposite is listed; return the number of edges.

    The adjacent face has the same edge in the opposite direction.
    """
    for e in range(count):
        if edges[e, 0] == j and edges[e, 1] == i:
            edges[e, 0], edges[e, 1] = edges[count - 1, 0], edges[count - 1, 1]
            return count - 1
    edges[count, 0], edges[count, 1] = i, j
    return count + 1


@kernel
def facing_corners(P, P_names, planes, faces, count, level, deepest, S, names):
    """Return the corners of the face nearest to the deepest point of A - B; S, names are scratch.

    Only faces up to the distance `level` from the origin count: a flat side of A - B can consist
    of several faces, and another side can be equally deep.
    """
    at, least = (0, 0, 0), np.inf
    for f in range(count):
        if planes[f, OPEN] <= level:
            corners = (faces[f, 0], faces[f, 1], faces[f, 2])
            _, x = on_face(P, P_names, corners, deepest, S, names)
            square = dot3(x, x)
            if square < least:
                at, least = corners, square
    return at


@kernel
def on_face(P, P_names, corners, origin, S, names):
    """Make a simplex of a face.

    Return the simplex's size, and the vector from `origin` to its nearest point.
    """
    for n in range(3):
        corner = corners[0] if n == 0 else (corners[1] if n == 1 else corners[2])
        for k in range(9):
            S[n, k] = P[corner, k]
        store3(S, n, sub3(load3(P, corner), origin))
        names[n, 0], names[n, 1] = P_names[corner, 0], P_names[corner, 1]
    return nearest(S, names, 3)
