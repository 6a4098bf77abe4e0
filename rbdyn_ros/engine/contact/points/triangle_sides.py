# SPDX-License-Identifier: Apache-2.0
"""The triangles of a mesh that support a point.

A triangle can support a point if the foot of the point on its plane is on the triangle. The
nearest such triangle decides whether the point is inside. Another triangle, with the point behind
it, counts only if it and the nearest triangle meet like the sides of a valley.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import add3, cross3, dot3, load3, scaled3, sub3
from rbdyn_ros.engine.collision.triangle_tree import (
    WALK,
    begin_triangles,
    corners_of,
    mesh_of,
    next_triangle,
    plane_of_triangle,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_ints
from rbdyn_ros.engine.contact.points.contact_list import flush_depth
from rbdyn_ros.model.geometry.triangle_meshes import BENT, CONCAVE

#: A point can be this multiple of FLUSH beyond a concave edge and still be supported by both
#: sides.
BEYOND = 4.0

#: Two distances count as equal if their relative difference is less than this.
AS_NEAR = 1e-9

#: Two triangles face each other if the cosine of the angle between their normals is below this.
OPPOSITE_SIDES = -0.5


@kernel
def is_over(m, o, triangle, x, dist):
    """Return whether the foot of a point on the plane of a triangle is on the triangle.

    The foot may be outside the triangle by about FLUSH, and farther at a concave edge, so that
    there is no gap between adjacent triangles.
    """
    _vert, face, _number, _node = mesh_of(m, o)
    normal, corners = load3(m.trimesh_normal, face + triangle), corners_of(m, o, triangle)
    flush, flags = flush_depth(m), m.trimesh_flag[face + triangle]
    for k in range(3):
        p = corners[0] if k == 0 else (corners[1] if k == 1 else corners[2])
        q = corners[1] if k == 0 else (corners[2] if k == 1 else corners[0])
        line = sub3(q, p)
        inward = dot3(cross3(normal, line), sub3(x, p)) / np.sqrt(dot3(line, line))
        slack = flush + BENT * abs(dist)
        if flags & (CONCAVE << k):
            slack = BEYOND * flush + 2.0 * max(-dist, 0.0)
        if inward < -slack:
            return False
    return True


@kernel
def nearest_over(m, o, x, way, reach):
    """Return the nearest mesh triangle over or under a point, its distance and its normal.

    The number is -1 if all triangles are farther away than `reach`. Of two triangles at the same
    distance, a triangle with the point in front of it is returned. If the point is within
    BEYOND times FLUSH of several triangles, the triangle whose normal is closest to `way` is
    returned. `way` leads from a corner to the middle of its geometry: a body at the edge of a
    table is on the table, not next to it.
    """
    walk, half = stack_ints(WALK, 1), (reach, reach, reach)
    best, least, towards = -1, reach, (0.0, 0.0, 1.0)
    dist_best, flush, most = np.inf, BEYOND * flush_depth(m), -np.inf
    begin_triangles(m, o, walk)
    while True:
        k = next_triangle(m, o, x, half, walk)
        if k < 0:
            return best, dist_best, towards
        dist, normal = plane_of_triangle(m, o, k, x)
        size = dist if dist >= 0.0 else -dist * (1.0 + AS_NEAR)
        nearer, along = size < least, dot3(normal, way)
        if size < flush and least < flush and along != most:
            nearer = along > most
        if nearer and size < reach and is_over(m, o, k, x, dist):
            best, least, dist_best, towards, most = k, size, dist, normal, along


@inline
def is_side(m, o, nearest, gap, triangle, dist):
    """Return whether a triangle supports a point in addition to the nearest triangle.

    `gap` and `dist` are the distances to the nearest triangle and to `triangle`. If the point is
    behind `triangle` or within BEYOND times FLUSH of both, `triangle` supports it if the two are
    sides of a valley. Otherwise `triangle` supports it unless the point is behind the nearest
    triangle and the two face each other.
    """
    if nearest < 0 or nearest == triangle:
        return True
    a, b, c = corners_of(m, o, nearest)
    middle = scaled3(add3(a, add3(b, c)), 1.0 / 3.0)
    height, normal = plane_of_triangle(m, o, triangle, middle)
    if dist < 0.0 or abs(gap) + abs(dist) < BEYOND * flush_depth(m):
        return height > flush_depth(m)
    _vert, face, _number, _node = mesh_of(m, o)
    cosine = dot3(normal, load3(m.trimesh_normal, face + nearest))
    return gap >= 0.0 or cosine > OPPOSITE_SIDES
