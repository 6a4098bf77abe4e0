# SPDX-License-Identifier: Apache-2.0
"""The depth of two overlapping cores by the expanding polytope algorithm.

A polytope inside A - B is expanded at its face nearest to the origin, until this face lies on the
surface of A - B. The face's distance from the origin is the depth.

Source: van den Bergen, Proximity queries and penetration depth computation on 3D game objects,
2001.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import ZERO3, add3, dot3, load3, scaled3, sub3
from rbdyn_ros.engine.collision.polytope import (
    MAX_CORNERS,
    MAX_EDGES,
    MAX_FACES,
    OPEN,
    expanded,
    facing_corners,
    nearest_face,
    on_face,
    put_corner,
    start_polytope,
)
from rbdyn_ros.engine.collision.simplex import ROW, copy_rows, weighted
from rbdyn_ros.engine.collision.smooth import has_cylinder, is_least, refined
from rbdyn_ros.engine.collision.support import bound_of, farthest
from rbdyn_ros.engine.collision.tetrahedron import filled, points_around
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints

# largest gap between the upper and the lower bound of the depth, as a part of the size
DEPTH_TOLERANCE = 1e-11
FLAT_THICKNESS = 1e-12  # a tetrahedron is flat if it is thinner than this part of the size
ABOVE = 1e-13  # a point counts as above a face if it is higher by more than this part of the size

#: Newton's method starts from a face if its distance to the surface of A - B is below ROUGH times
#: the size. It starts again when the distance has shrunk by the factor NEARER.
ROUGH, NEARER = 1e-2, 0.1

#: A solution of Newton's method must be near the face: the cosine of the angle between their
#: normals is at least NEAR_COSINE, and its depth is less than the face's by at most SLACK times
#: the size.
NEAR_COSINE, SLACK = 0.87, 1e-3


@kernel
def epa(m, a, b, R, t, S, names, n, known, along):
    """Return the depth of two cores, the direction in which B leaves A, and points of A and B.

    S, names, n is the simplex of `gjk`, which contains the origin; the pose of B in A is R, t. If
    `known` is positive, it is a depth already found by `refined`, a local minimum, along the unit
    vector `along`; the simplex is then that of `refined`.

    Returns:
        Depth, unit normal from A to B, and the points of A and B whose difference is depth times
        normal; all in the frame of A.
    """
    size = bound_of(m, a) + bound_of(m, b)
    cylinder, limit = has_cylinder(m, a, b), ROUGH * size
    # F and pairs hold the best solution of Newton's method, in `rows` rows
    F, pairs, rows = stack_floats(3, ROW), stack_ints(3, 2), 0
    depth, best, level = np.inf, along, np.inf
    if known > 0.0:
        depth, rows = known, n
        copy_rows(S, names, n, F, pairs)
        n = points_around(m, a, b, R, t, along, S, names)
    n, normal = filled(m, a, b, R, t, S, names, n, FLAT_THICKNESS * size)
    if n < 4:  # A - B is flat
        x, y = weighted(S, n)
        middle = scaled3(add3(x, y), 0.5)
        return 0.0, normal, middle, middle
    P, P_names = stack_floats(MAX_CORNERS, 9), stack_ints(MAX_CORNERS, 2)
    planes, faces = stack_floats(MAX_FACES, 5), stack_ints(MAX_FACES, 3)
    edges = stack_ints(MAX_EDGES, 2)
    corners, count = start_polytope(S, names, P, P_names, planes, faces)
    if rows > 0:
        x, y = weighted(F, rows)
        put_corner(P, P_names, corners, sub3(x, y), x, y, pairs[0, 0], pairs[0, 1])
        added = expanded(P, planes, faces, edges, count, corners, ABOVE * size)
        if added > 0:
            count, corners = added, corners + 1
    i, j = 0, 0
    while True:
        f = nearest_face(planes, count)
        if rows > 0 and planes[f, OPEN] >= depth - DEPTH_TOLERANCE * size:
            break
        normal, here = load3(planes, f), (faces[f, 0], faces[f, 1], faces[f, 2])
        w, x, y, i, j = farthest(m, a, b, R, t, normal, max(i, 0), max(j, 0))
        bound = dot3(w, normal)
        if bound < depth - (DEPTH_TOLERANCE * size if rows > 0 else 0.0):
            # moving B by this distance separates A and B, so it is an upper bound of the depth
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
            n, _x = on_face(P, P_names, here, ZERO3, S, names)
            most = depth + (DEPTH_TOLERANCE * size if rows == 0 else -DEPTH_TOLERANCE * size)
            n, v, height = _refined_from_face(m, a, b, R, t, normal, S, names, n, most, F, pairs)
            if n > 0:
                depth, best, rows, limit = height, v, n, ROUGH * size
                if is_least(m, a, b, R, t, F, n, height):
                    break
                on, of_a, of_b, k, l = farthest(m, a, b, R, t, v, max(i, 0), max(j, 0))
                if dot3(on, normal) - planes[f, 3] > 0.5 * gap:
                    w, x, y, i, j = on, of_a, of_b, k, l
        put_corner(P, P_names, corners, w, x, y, i, j)
        added = expanded(P, planes, faces, edges, count, corners, ABOVE * size)
        if added < 0:
            break
        count, corners = added, corners + 1
    if rows > 0:
        x, y = weighted(F, rows)
    else:
        deepest = scaled3(best, depth)
        x, y = _points_at(P, P_names, planes, faces, count, level, deepest, S, names)
    middle, half = scaled3(add3(x, y), 0.5), scaled3(best, 0.5 * depth)
    return depth, best, add3(middle, half), sub3(middle, half)


@inline
def _points_at(P, P_names, planes, faces, count, level, deepest, S, names):
    """Return the points of A and B whose difference is `deepest`, a point on a face."""
    at = facing_corners(P, P_names, planes, faces, count, level, deepest, S, names)
    n, _x = on_face(P, P_names, at, deepest, S, names)
    return weighted(S, n)


@kernel
def _refined_from_face(m, a, b, R, t, v, S, names, n, most, F, pairs):
    """Solve by Newton's method from a face; write the solution if its depth is less than `most`.

    Returns:
        Number of rows of the solution (0: no solution), the normal and the depth.
    """
    G, found = stack_floats(3, ROW), stack_ints(3, 2)
    n, v, height = refined(m, a, b, R, t, v, S, names, n, G, found)
    if n == 0 or height <= 0.0 or height >= most:
        return 0, v, height
    copy_rows(G, found, n, F, pairs)
    return n, v, height


@kernel
def _is_solved(names, corners, i, j, pairs, count):
    """Return whether a solution uses corner i of A, corner j of B, and all features of a face."""
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
