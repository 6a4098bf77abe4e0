# SPDX-License-Identifier: Apache-2.0
"""Support functions: the point of a convex geometry that is farthest along a direction.

A geometry consists of all points within its radius around its core. The core of a sphere is its
centre, and the core of a capsule is its axis. The core of any other geometry is the geometry
itself, with the radius 0.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    dot3,
    load3,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.kinds import BOX, CAPSULE, CYLINDER, MESH, SPHERE
from rbdyn_ros.engine.compiler.jit import inline, kernel

#: A cylinder has no corners: these numbers stand for any point on its lower and its upper rim.
LOW_RIM, HIGH_RIM = -1, -2


@inline
def kind_of(m, g):
    """Return the type of a geometry; numbers from ngeom on are single triangles of meshes."""
    return m.geom_type[g] if g < m.ngeom else MESH


@inline
def bound_of(m, g):
    """Return the radius of a ball around the origin of a geometry that encloses it."""
    if g < m.ngeom:
        return m.geom_rbound[g]
    most = 0.0
    for k in range(3):
        x = _corner_of_triangle(m, g, k)
        most = max(most, dot3(x, x))
    return np.sqrt(most)


@inline
def _corner_of_triangle(m, g, k):
    triangle = g - m.ngeom
    mesh = 0
    while mesh + 1 < m.ntrimesh and m.trimesh_faceadr[mesh + 1] <= triangle:
        mesh += 1
    return load3(m.trimesh_vert, m.trimesh_vertadr[mesh] + m.trimesh_face[triangle, k])


@inline
def radius_of(m, g):
    """Return the radius of a geometry around its core."""
    kind = kind_of(m, g)
    return m.geom_size[g, 0] if kind == SPHERE or kind == CAPSULE else 0.0


@kernel
def support(m, g, v, start):
    """Return the point of a geometry's core farthest along v, in the geometry's frame.

    The number of the point is returned too; points with equal numbers are equal, except on a rim.
    For a mesh the search starts from the corner with the number `start`, or if it is 0, from the
    best of eight corners.
    """
    if g >= m.ngeom:
        return _of_triangle(m, g, v)
    kind = m.geom_type[g]
    if kind == SPHERE:
        return ZERO3, 0
    size = load3(m.geom_size, g)
    if kind == CAPSULE:
        up = v[2] >= 0.0
        return (0.0, 0.0, size[1] if up else -size[1]), 1 if up else 0
    if kind == BOX:
        x, y, z = v[0] >= 0.0, v[1] >= 0.0, v[2] >= 0.0
        corner = (
            size[0] if x else -size[0],
            size[1] if y else -size[1],
            size[2] if z else -size[2],
        )
        return corner, (1 if x else 0) + (2 if y else 0) + (4 if z else 0)
    if kind == CYLINDER:
        across = np.sqrt(v[0] * v[0] + v[1] * v[1])
        up = v[2] >= 0.0
        z, rim = size[1] if up else -size[1], HIGH_RIM if up else LOW_RIM
        if across == 0.0:
            return (size[0], 0.0, z), rim
        return (size[0] * v[0] / across, size[0] * v[1] / across, z), rim
    first = m.geom_vertadr[g]
    if m.vert_edgenum[first] == 0:
        corner = _search(m, g, first, v)
    else:
        corner = _climb(m, first, v, start if start > 0 else _far_corner(m, g, v))
    return load3(m.vert_pos, first + corner), corner


@kernel
def _of_triangle(m, g, v):
    """Return the corner of a triangle that is farthest along v, and its number."""
    best, most, place = 0, -np.inf, ZERO3
    for k in range(3):
        x = _corner_of_triangle(m, g, k)
        if dot3(v, x) > most:
            best, most, place = k, dot3(v, x), x
    return place, best


@inline
def _far_corner(m, g, v):
    octant = (1 if v[0] >= 0.0 else 0) + (2 if v[1] >= 0.0 else 0) + (4 if v[2] >= 0.0 else 0)
    return m.geom_vertfar[g, octant]


@kernel
def _search(m, g, first, v):
    """Return the number of the corner farthest along v; try every corner."""
    best, most = 0, -np.inf
    for n in range(m.geom_vertnum[g]):
        height = dot3(v, load3(m.vert_pos, first + n))
        if height > most:
            best, most = n, height
    return best


@kernel
def _climb(m, first, v, corner):
    """Return the number of the corner farthest along v; climb to it along edges of the hull."""
    most = dot3(v, load3(m.vert_pos, first + corner))
    best = corner
    while True:
        at = first + corner
        for e in range(m.vert_edgeadr[at], m.vert_edgeadr[at] + m.vert_edgenum[at]):
            neighbour = m.edge_vert[e]
            height = dot3(v, load3(m.vert_pos, first + neighbour))
            if height > most:
                best, most = neighbour, height
        if best == corner:
            return corner
        corner = best


@inline
def farthest(m, a, b, R, t, v, near_a, near_b):
    """Return the point of A - B farthest along v, and the points of A and B, in A's frame.

    The numbers of the points of A and B are returned too. The pose of B in A is R, t. The searches
    in meshes start from the corners near_a and near_b.
    """
    x, i = support(m, a, v, near_a)
    y, j = support(m, b, scaled3(mat_vec(transposed(R), v), -1.0), near_b)
    y = add3(t, mat_vec(R, y))
    return sub3(x, y), x, y, i, j
