"""The depth of two overlapping cores by the expanding polytope algorithm.

A polytope inside A - B is expanded where its surface is nearest to the origin, until that face
lies on the surface of A - B. Its distance is the depth.

Source: van den Bergen, Proximity queries and penetration depth computation on 3D game objects,
2001.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.collision.simplex import WEIGHT, nearest, put
from rbdyn_ros.engine.collision.support import farthest
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import (
    ZERO3,
    add3,
    cross3,
    dot3,
    load3,
    scaled3,
    store3,
    sub3,
)
from rbdyn_ros.engine.stack import stack_floats, stack_ints

CORNERS, FACES, EDGES = 256, 512, 512
EXACT = 1e-11  # the surface and the bound of the depth agree to this part of the size
FLAT = 1e-12  # a tetrahedron is flat if it is thinner than this part of the size
ABOVE = 1e-13  # a point is above a face by more than this part of the size


@kernel
def epa(m, a, b, R, t, S, names, n):
    """Return the depth of two cores, the direction in which B leaves A, and points of A and B.

    S, names, n is the simplex of `gjk`, which has the origin in it; the pose of B in A is R, t.

    Returns:
        Depth, unit normal from A to B, and the points of A and B whose difference is depth times
        normal; all in A.
    """
    size = m.geom_rbound[a] + m.geom_rbound[b]
    n, normal = _filled(m, a, b, R, t, S, names, n, FLAT * size)
    if n < 4:  # A - B is flat
        x, y = weighted(S, n)
        middle = scaled3(add3(x, y), 0.5)
        return 0.0, normal, middle, middle
    P = stack_floats(CORNERS, 9)
    planes, faces = stack_floats(FACES, 4), stack_ints(FACES, 3)
    edges = stack_ints(EDGES, 2)
    corners, count = _tetrahedron(S, P, planes, faces)
    depth, best, at = np.inf, normal, (0, 0, 0)
    i, j = 0, 0
    while True:
        f = _nearest_face(planes, count)
        normal = load3(planes, f)
        w, x, y, i, j = farthest(m, a, b, R, t, normal, max(i, 0), max(j, 0))
        bound = dot3(w, normal)
        if bound < depth:  # moved by this B has left A, whatever the polytope is like
            depth, best, at = bound, normal, (faces[f, 0], faces[f, 1], faces[f, 2])
        if bound - planes[f, 3] <= EXACT * size:
            depth, best = bound, normal
            at = _facing(P, planes, faces, count, planes[f, 3] + EXACT * size, S, names)
            break
        if corners == CORNERS:
            break
        store3(P, corners, w)
        P[corners, 3], P[corners, 4], P[corners, 5] = x
        P[corners, 6], P[corners, 7], P[corners, 8] = y
        count = _expanded(P, planes, faces, edges, count, corners, ABOVE * size)
        corners += 1
        if count < 0:
            break
    n, _ = _on_face(P, at, S, names)
    x, y = weighted(S, n)
    middle, half = scaled3(add3(x, y), 0.5), scaled3(best, 0.5 * depth)
    return depth, best, add3(middle, half), sub3(middle, half)


@kernel
def _filled(m, a, b, R, t, S, names, n, thin):
    """Add points to a simplex until it is a tetrahedron; return its size, and a normal if flat."""
    normal = (0.0, 0.0, 1.0)
    while n < 4:
        grown = False
        for k in range(6):
            v = _outwards(S, n, k)
            length = np.sqrt(dot3(v, v))
            if length > 0.0 and not grown:
                v = scaled3(v, 1.0 / length)
                normal = v
                w, x, y, i, j = farthest(m, a, b, R, t, v, 0, 0)
                if dot3(sub3(w, load3(S, 0)), v) > thin:
                    put(S, names, n, w, x, y, i, j)
                    n += 1
                    grown = True
        if not grown:
            return n, normal
    return n, normal


@kernel
def _outwards(S, n, k):
    """Return direction k of those that lead out of the space of a simplex of n points."""
    sign = 1.0 if k % 2 == 0 else -1.0
    which = k // 2
    if n == 1:
        return (
            sign if which == 0 else 0.0,
            sign if which == 1 else 0.0,
            sign if which == 2 else 0.0,
        )
    along = sub3(load3(S, 1), load3(S, 0))
    if n == 2:
        # the axis most perpendicular to the segment, and two more directions around it
        x, y, z = abs(along[0]), abs(along[1]), abs(along[2])
        axis = (1.0, 0.0, 0.0)
        if y <= x and y <= z:
            axis = (0.0, 1.0, 0.0)
        elif z <= x and z <= y:
            axis = (0.0, 0.0, 1.0)
        v = cross3(along, axis)
        if which == 1:
            v = cross3(along, v)
        elif which == 2:
            return ZERO3
        return scaled3(v, sign / max(np.sqrt(dot3(v, v)), 1e-300))
    if which > 0:
        return ZERO3
    return scaled3(cross3(along, sub3(load3(S, 2), load3(S, 0))), sign)


@kernel
def _tetrahedron(S, P, planes, faces):
    """Write the polytope of a simplex of four points; return its numbers of corners and faces."""
    for n in range(4):
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
    """Write a face, whose corners i, j, k go round it anticlockwise seen from outside."""
    faces[f, 0], faces[f, 1], faces[f, 2] = i, j, k
    a, b, c = load3(P, i), load3(P, j), load3(P, k)
    ab, ac = sub3(b, a), sub3(c, a)
    normal = cross3(ab, ac)
    length = np.sqrt(dot3(normal, normal))
    # a face without area keeps the polytope closed, but is never the nearest one
    if length <= 1e-14 * (dot3(ab, ab) + dot3(ac, ac)):
        store3(planes, f, ZERO3)
        planes[f, 3] = np.inf
    else:
        normal = scaled3(normal, 1.0 / length)
        store3(planes, f, normal)
        planes[f, 3] = max(dot3(normal, a), dot3(normal, b), dot3(normal, c))


@inline
def _nearest_face(planes, count):
    best = 0
    for f in range(1, count):
        if planes[f, 3] < planes[best, 3]:
            best = f
    return best


@kernel
def _expanded(P, planes, faces, edges, count, corner, above):
    """Replace the faces that a new corner sees by faces to it; return the number of faces.

    It is negative if the corner sees no face, or there is no room.
    """
    w = load3(P, corner)
    open_edges, f = 0, 0
    while f < count:
        if dot3(load3(planes, f), w) <= planes[f, 3] + above:
            f += 1
            continue
        if open_edges > EDGES - 3:
            return -1
        for e in range(3):
            open_edges = _toggled(edges, open_edges, faces[f, e], faces[f, (e + 1) % 3])
        count -= 1  # the last face takes its place
        for k in range(3):
            faces[f, k] = faces[count, k]
        for k in range(4):
            planes[f, k] = planes[count, k]
    if open_edges == 0 or count + open_edges > FACES:
        return -1
    for e in range(open_edges):
        _face(P, planes, faces, count, edges[e, 0], edges[e, 1], corner)
        count += 1
    return count


@inline
def _toggled(edges, count, i, j):
    """Add an edge, or remove it if its neighbour has added it the other way round."""
    for e in range(count):
        if edges[e, 0] == j and edges[e, 1] == i:
            edges[e, 0], edges[e, 1] = edges[count - 1, 0], edges[count - 1, 1]
            return count - 1
    edges[count, 0], edges[count, 1] = i, j
    return count + 1


@kernel
def _facing(P, planes, faces, count, level, S, names):
    """Return the corners of the face nearest to the origin, of those up to `level` away.

    A side of A - B may be several faces, of which one has the nearest point.
    """
    at, least = (0, 0, 0), np.inf
    for f in range(count):
        if planes[f, 3] <= level:
            corners = (faces[f, 0], faces[f, 1], faces[f, 2])
            _, x = _on_face(P, corners, S, names)
            square = dot3(x, x)
            if square < least:
                at, least = corners, square
    return at


@kernel
def _on_face(P, corners, S, names):
    """Make a simplex of a face; return its size and its point nearest to the origin."""
    for n in range(3):
        corner = corners[0] if n == 0 else (corners[1] if n == 1 else corners[2])
        for k in range(9):
            S[n, k] = P[corner, k]
    return nearest(S, names, 3)


@kernel
def weighted(S, n):
    """Return the points of A and B of the nearest point of a simplex."""
    x, y = ZERO3, ZERO3
    for row in range(n):
        x = add3(x, scaled3((S[row, 3], S[row, 4], S[row, 5]), S[row, WEIGHT]))
        y = add3(y, scaled3((S[row, 6], S[row, 7], S[row, 8]), S[row, WEIGHT]))
    return x, y
