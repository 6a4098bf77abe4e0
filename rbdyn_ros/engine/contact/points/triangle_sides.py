# SPDX-License-Identifier: Apache-2.0
"""The triangles of a mesh that hold a point.

A point is held by the triangles whose feet of it are on them. The nearest of these says whether
the point is inside: a triangle behind which the point is counts only if it is the nearest one, or
if the two meet as the sides of a valley do.
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

#: Depths FLUSH by which a point may be beyond a concave edge, where both sides hold it.
BEYOND = 4.0

#: Part of a distance that makes no difference.
AS_NEAR = 1e-9

#: Cosine of the angle of two triangles from which on they face each other.
OPPOSITE_SIDES = -0.5


@kernel
def is_over(m, o, triangle, x, dist):
    """Return whether the foot of a point, at a distance of the plane of a triangle, is on it.

    It may be FLUSH beside it, so that two triangles have no gap between them.
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
    """Return the nearest triangle of a mesh that is over or under a point, distance and normal.

    The number is -1 if none is up to `reach` away. Of two as near, the point is in front of one.
    Of two that are FLUSH it is the one that looks along `way`, which leads from a corner to the
    middle of its geometry: a body at the edge of a table is on it, not beside it.
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
    """Return whether a triangle counts beside the nearest one of a point; both have a distance.

    One behind which the point is, or with which it is FLUSH, counts if the two are sides of a
    valley. Another one does not if the point is behind the nearest one and the two face each
    other.
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
