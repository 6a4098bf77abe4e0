# SPDX-License-Identifier: Apache-2.0
"""The contact points of two convex geometries, given the direction of their contact.

Faces are preferred: if the normal of a face separates the two nearly as far as any direction does,
the contact is along this normal. Its points are the corners of the part of the other geometry
above the face (clipping.py). Capsules and cylinders that lie side by side touch at both ends of
their overlap. All other geometries touch at the nearest point.

The number of a point in its pair stays the same from call to call as long as the same faces, edges
or corners touch.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    cross3,
    dot3,
    load3,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.clipping import POINTS, part_above, write_point
from rbdyn_ros.engine.collision.faces import face
from rbdyn_ros.engine.collision.support import farthest, radius_of
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints
from rbdyn_ros.model.geometry.pushing import FACE_CORNERS

#: The normal of two edges is used only if it separates the geometries farther than every face
#: normal does, by more than this part of the size.
FACES_FIRST = 1e-4

#: FACES_FIRST if a geometry of the pair has a radius. It is smaller because corners of the core
#: are not on the surface.
ROUND_FIRST = 1e-7

#: Axes count as parallel if the sine of the angle between them is smaller.
PARALLEL_AXES = 1e-2

#: Least overlap of two parallel axes, as a part of half the length of the first axis.
MIN_COMMON = 1e-2

#: SECOND is a bit in the numbers of points above a face of B. NEAREST is the number of the nearest
#: point.
SECOND, NEAREST = 1 << 23, (1 << 23) - 1


@kernel
def manifold(m, a, b, R, t, nearest, reach, points, names):
    """Write the contact points of two geometries, half way between their surfaces.

    Args:
        m: the Model.
        a: a geometry.
        b: another geometry; a and b must be in the order of pair.in_order.
        R: the rotation matrix of B in the frame of A.
        t: the position of B in the frame of A.
        nearest: distance, unit normal from A to B, and nearest points of A and B, in the frame of
            A.
        reach: largest distance between the surfaces at a point.
        points: (POINTS, 4), receives points in the frame of A, and the distances there.
        names: (POINTS, 1), receives the numbers of the points.

    Returns:
        The number of points, and their common normal, from A to B.
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
        number = part_above(A, names_A, n_a, of_a, B, names_B, n_b, r_a, r_b, reach, points, names)
    elif apart_b >= least:
        normal = scaled3(of_b, -1.0)
        number = part_above(B, names_B, n_b, of_b, A, names_A, n_a, r_b, r_a, reach, points, names)
        for n in range(number):
            names[n, 0] += SECOND
    elif n_a == 2 and n_b == 2:
        number, normal = _beside(m, a, b, R, t, normal, reach, points, names)
    return _with_nearest(points, names, number, normal, nearest, bias)


@kernel
def _with_nearest(points, names, number, normal, nearest, bias):
    """Add the nearest point unless a listed point is as deep; return the point count and normal.

    Depths that differ by at most `bias` count as equal. If the list is full, the nearest point
    replaces the point with the largest distance. Round faces are represented by few corners, so
    the nearest point can be the deepest.
    """
    dist, along, x, y = nearest
    deepest, highest = np.inf, 0
    for n in range(number):
        deepest = min(deepest, points[n, 3])
        if points[n, 3] > points[highest, 3]:
            highest = n
    if deepest <= dist + bias:
        return number, normal
    place = number if number < POINTS else highest
    write_point(points, names, place, scaled3(add3(x, y), 0.5), dist, NEAREST)
    return min(number + 1, POINTS), normal if number > 0 else along


@inline
def _move(corners, number, R, t):
    for n in range(number):
        x = add3(t, mat_vec(R, load3(corners, n)))
        corners[n, 0], corners[n, 1], corners[n, 2] = x


@inline
def _apart(m, a, b, R, t, v):
    """Return the distance between the cores of A and B along v."""
    w, _x, _y, _i, _j = farthest(m, a, b, R, t, v, 0, 0)
    return -dot3(w, v)


@kernel
def _beside(m, a, b, R, t, normal, reach, points, names):
    """Write the ends of the overlap of two parallel capsules or cylinders side by side.

    Return the number of ends and the normal from axis to axis, which is exact for cylinders.
    """
    h_a, h_b = m.geom_size[a, 1], m.geom_size[b, 1]
    u, v = (0.0, 0.0, h_a), mat_vec(R, (0.0, 0.0, h_b))
    n = cross3(u, v)
    if dot3(n, n) > (PARALLEL_AXES * h_a * h_b) ** 2:
        return 0, normal
    # positions along u, in units of |u|, from the centre of A
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
            write_point(points, names, kept, scaled3(add3(x, y), 0.5), dist, end)
            kept += 1
    return kept, normal


@inline
def _side_by_side(u, t, v, place):
    """Return the points of two axes at the same position along u."""
    x = scaled3(u, place)
    return x, add3(t, scaled3(v, (x[2] - t[2]) / v[2]))
