"""The depth of two overlapping cores by the expanding polytope algorithm.

A polytope inside A - B is expanded where its surface is nearest to the origin, until that face
lies on the surface of A - B. Its distance is the depth.

Source: van den Bergen, Proximity queries and penetration depth computation on 3D game objects,
2001.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.collision.simplex import ROW, copy_rows, nearest, put, weighted
from rbdyn_ros.engine.collision.smooth import has_cylinder, is_least, refined, tangents
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

MAX_CORNERS, MAX_FACES, MAX_EDGES = 256, 512, 512
OPEN = 4  # column of planes: the distance of a face; infinite if no lesser depth is behind it
DEPTH_TOLERANCE = 1e-11  # the surface and the bound of the depth agree to this part of the size
FLAT_THICKNESS = 1e-12  # a tetrahedron is flat if it is thinner than this part of the size
ABOVE = 1e-13  # a point is above a face by more than this part of the size

#: Newton's method is tried from a face nearer to the surface than this part of the size, and again
#: from one that is nearer by this factor.
ROUGH, NEARER = 1e-2, 0.1

#: Cosine of the angle between a face and a solution of Newton's method, and part of the size by
#: which the depth behind the face could be less, for the solution to hold there.
NEAR_COSINE, SLACK = 0.87, 1e-3

#: Slope of the directions around that of a known depth, and the directions in the tangent plane.
STEEP = 2.0
AROUND = ((1.0, 0.0), (-0.5, 0.866), (-0.5, -0.866))

#: Sine of the angle between the fourth of those corners and the plane of the others: below it, the
#: four are flat.
FLAT_SINE = 1e-6


@kernel
def epa(m, a, b, R, t, S, names, n, known, along):
    """Return the depth of two cores, the direction in which B leaves A, and points of A and B.

    S, names, n is the simplex of `gjk`, which has the origin in it; the pose of B in A is R, t.
    If `known` is positive, it is the depth along the unit vector `along`, the least nearby, and
    the simplex is that of `refined`.

    Returns:
        Depth, unit normal from A to B, and the points of A and B whose difference is depth times
        normal; all in A.
    """
    size = m.geom_rbound[a] + m.geom_rbound[b]
    cylinder, limit = has_cylinder(m, a, b), ROUGH * size
    F, pairs, rows = stack_floats(3, ROW), stack_ints(3, 2), 0  # the best of Newton's method
    depth, best, level = np.inf, along, np.inf
    if known > 0.0:
        depth, rows = known, n
        copy_rows(S, names, n, F, pairs)
        n = _around(m, a, b, R, t, along, S, names)
    n, normal = _filled(m, a, b, R, t, S, names, n, FLAT_THICKNESS * size)
    if n < 4:  # A - B is flat
        x, y = weighted(S, n)
        middle = scaled3(add3(x, y), 0.5)
        return 0.0, normal, middle, middle
    P, P_names = stack_floats(MAX_CORNERS, 9), stack_ints(MAX_CORNERS, 2)
    planes, faces = stack_floats(MAX_FACES, 5), stack_ints(MAX_FACES, 3)
    edges = stack_ints(MAX_EDGES, 2)
    corners, count = _tetrahedron(S, names, P, P_names, planes, faces)
    if rows > 0:
        x, y = weighted(F, rows)
        _put_corner(P, P_names, corners, sub3(x, y), x, y, pairs[0, 0], pairs[0, 1])
        added = _expanded(P, planes, faces, edges, count, corners, ABOVE * size)
        if added > 0:
            count, corners = added, corners + 1
    i, j = 0, 0
    while True:
        f = _nearest_face(planes, count)
        if rows > 0 and planes[f, OPEN] >= depth - DEPTH_TOLERANCE * size:
            break
        normal, here = load3(planes, f), (faces[f, 0], faces[f, 1], faces[f, 2])
        w, x, y, i, j = farthest(m, a, b, R, t, normal, max(i, 0), max(j, 0))
        bound = dot3(w, normal)
        if bound < depth - (DEPTH_TOLERANCE * size if rows > 0 else 0.0):
            # moved by this B has left A, whatever the polytope is like
            depth, best, rows = bound, normal, 0
        elif (
            rows > 0
            and dot3(normal, best) >= max(NEAR_COSINE, 1.0 - SLACK * size / depth)
            and _is_solved(P_names, here, i, j, pairs, rows)
        ):
            planes[f, OPEN] = np.inf
            continue
        gap = bound - planes[f, 3]
        if gap <= DEPTH_TOLERANCE * size:
            depth, best, rows = bound, normal, 0
            level = planes[f, 3] + DEPTH_TOLERANCE * size
            break
        if corners == MAX_CORNERS:
            break
        if cylinder and gap <= limit and bound <= depth + limit:
            limit = NEARER * gap
            n, _x = _on_face(P, P_names, here, ZERO3, S, names)
            most = depth + (DEPTH_TOLERANCE * size if rows == 0 else -DEPTH_TOLERANCE * size)
            n, v, height = _refined_from_face(m, a, b, R, t, normal, S, names, n, most, F, pairs)
            if n > 0:
                depth, best, rows, limit = height, v, n, ROUGH * size
                if is_least(m, a, b, R, t, F, n, height):
                    break
                on, of_a, of_b, k, l = farthest(m, a, b, R, t, v, max(i, 0), max(j, 0))
                if dot3(on, normal) - planes[f, 3] > 0.5 * gap:
                    w, x, y, i, j = on, of_a, of_b, k, l
        _put_corner(P, P_names, corners, w, x, y, i, j)
        added = _expanded(P, planes, faces, edges, count, corners, ABOVE * size)
        if added < 0:
            break
        count, corners = added, corners + 1
    if rows > 0:
        x, y = weighted(F, rows)
    else:
        deepest = scaled3(best, depth)
        at = _facing(P, P_names, planes, faces, count, level, deepest, S, names)
        n, _x = _on_face(P, P_names, at, deepest, S, names)
        x, y = weighted(S, n)
    middle, half = scaled3(add3(x, y), 0.5), scaled3(best, 0.5 * depth)
    return depth, best, add3(middle, half), sub3(middle, half)


@kernel
def _refined_from_face(m, a, b, R, t, v, S, names, n, most, F, pairs):
    """Solve by Newton's method from a face; write a solution with a depth of less than `most`.

    Returns:
        Number of its rows, 0 if there is none; its normal and its depth.
    """
    G, found = stack_floats(3, ROW), stack_ints(3, 2)
    n, v, height = refined(m, a, b, R, t, v, S, names, n, G, found)
    if n == 0 or height <= 0.0 or height >= most:
        return 0, v, height
    copy_rows(G, found, n, F, pairs)
    return n, v, height


@kernel
def _is_solved(names, corners, i, j, pairs, count):
    """Return whether only features of a solution are on a face, and farthest along its normal."""
    solved = _has(pairs, count, 0, i) and _has(pairs, count, 1, j)
    for k in corners:
        solved = solved and _has(pairs, count, 0, names[k, 0])
        solved = solved and _has(pairs, count, 1, names[k, 1])
    return solved


@inline
def _has(pairs, count, side, name):
    found = False
    for k in range(count):
        found = found or pairs[k, side] == name
    return found


@inline
def _put_corner(P, names, n, w, x, y, i, j):
    store3(P, n, w)
    P[n, 3], P[n, 4], P[n, 5] = x
    P[n, 6], P[n, 7], P[n, 8] = y
    names[n, 0], names[n, 1] = i, j


@kernel
def _around(m, a, b, R, t, v, S, names):
    """Write the farthest points along three directions around v, and along -v, as a simplex.

    Returns the number of points: 4, or 1 if they are in a plane.
    """
    e, f = tangents(v)
    for k in range(4):
        along = scaled3(v, -1.0)
        if k < 3:
            side = add3(scaled3(e, AROUND[k][0]), scaled3(f, AROUND[k][1]))
            along = add3(scaled3(v, STEEP), side)
        w, x, y, i, j = farthest(m, a, b, R, t, along, 0, 0)
        put(S, names, k, w, x, y, i, j)
    first, last = load3(S, 0), sub3(load3(S, 3), load3(S, 0))
    normal = cross3(sub3(load3(S, 1), first), sub3(load3(S, 2), first))
    height = dot3(normal, last)
    solid = height * height > FLAT_SINE * FLAT_SINE * dot3(normal, normal) * dot3(last, last)
    return 4 if solid else 1


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
def _tetrahedron(S, names, P, P_names, planes, faces):
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
    planes[f, OPEN] = planes[f, 3]


@inline
def _nearest_face(planes, count):
    best = 0
    for f in range(1, count):
        if planes[f, OPEN] < planes[best, OPEN]:
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
        if open_edges > MAX_EDGES - 3:
            return -1
        for e in range(3):
            open_edges = _toggled(edges, open_edges, faces[f, e], faces[f, (e + 1) % 3])
        count -= 1  # the last face takes its place
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
    """Add an edge, or remove it if its neighbour has added it the other way round."""
    for e in range(count):
        if edges[e, 0] == j and edges[e, 1] == i:
            edges[e, 0], edges[e, 1] = edges[count - 1, 0], edges[count - 1, 1]
            return count - 1
    edges[count, 0], edges[count, 1] = i, j
    return count + 1


@kernel
def _facing(P, P_names, planes, faces, count, level, deepest, S, names):
    """Return the corners of the face that is nearest to the deepest point of A - B.

    Only faces up to `level` away from the origin count. A side of A - B may be several faces, and
    another side may be as deep.
    """
    at, least = (0, 0, 0), np.inf
    for f in range(count):
        if planes[f, OPEN] <= level:
            corners = (faces[f, 0], faces[f, 1], faces[f, 2])
            _, x = _on_face(P, P_names, corners, deepest, S, names)
            square = dot3(x, x)
            if square < least:
                at, least = corners, square
    return at


@kernel
def _on_face(P, P_names, corners, origin, S, names):
    """Make a simplex of a face; return its size and its point nearest to an origin, from there."""
    for n in range(3):
        corner = corners[0] if n == 0 else (corners[1] if n == 1 else corners[2])
        for k in range(9):
            S[n, k] = P[corner, k]
        store3(S, n, sub3(load3(P, corner), origin))
        names[n, 0], names[n, 1] = P_names[corner, 0], P_names[corner, 1]
    return nearest(S, names, 3)
