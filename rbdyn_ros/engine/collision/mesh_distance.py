# SPDX-License-Identifier: Apache-2.0
"""The signed distance of a convex geometry and a triangle mesh, and their nearest points.

The pseudo-normal of a closed mesh at the nearest point of its surface shows whether a point is
inside.

Source: Baerentzen and Aanaes, Signed distance computation using the angle weighted pseudonormal,
2005.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add_scaled3,
    cross3,
    dot3,
    load3,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.pair import hull_distance
from rbdyn_ros.engine.collision.support import radius_of
from rbdyn_ros.engine.collision.triangle_tree import (
    WALK,
    begin_triangles,
    corners_of,
    mesh_meets,
    mesh_of,
    next_triangle,
    plane_of_triangle,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints
from rbdyn_ros.model.declared.data_fields import AXIS

#: A point counts as on an edge or a corner if it is nearer than ON [m], for rounding errors, plus
#: ON_PART times the measured distance. At an edge sharper than 0.005 rad this can be too far.
ON, ON_PART = 1e-11, 1e-5


@kernel
def mesh_distance(m, a, b, R, t, reach):
    """Return the distance, normal and nearest points of a geometry a and a mesh b, in a's frame.

    R, t is the pose of the mesh in that frame. The distance is to the nearest triangle. If A
    overlaps triangles, it is minus the largest depth of A in a triangle, to either side of this
    triangle. If A is inside a closed mesh and overlaps no triangle, it is minus the distance to
    the surface. Beyond `reach` it can be infinite.
    """
    walk, axis = stack_ints(WALK, 1), stack_floats(1, AXIS)
    _vert, face, _number, _node = mesh_of(m, b)
    back = transposed(R)
    centre, half = scaled3(mat_vec(back, t), -1.0), _half_in(m, a, R)
    closed = m.trimesh_closed[m.geom_trimeshid[b]] == 1
    best = np.inf if closed and mesh_meets(m, b, centre, ZERO3) else reach
    nearest, found = -1, (np.inf, ZERO3, ZERO3, ZERO3)
    begin_triangles(m, b, walk)
    while True:
        more = max(best, 0.0)
        k = next_triangle(m, b, centre, (half[0] + more, half[1] + more, half[2] + more), walk)
        if k < 0:
            break
        for n in range(AXIS):
            axis[0, n] = 0.0
        apart = more + radius_of(m, a)
        one = hull_distance(m, a, m.ngeom + face + k, R, t, apart, axis[0])
        if one[0] < best or (nearest < 0 and one[0] <= best):
            best, nearest, found = one[0], k, one
    if nearest < 0 or best <= 0.0 or not closed:
        return found
    y = mat_vec(back, sub3(found[3], t))
    normal = mat_vec(R, _pseudo_normal(m, b, y, ON + ON_PART * (best + radius_of(m, a))))
    # the nearest point is on the back side of the mesh: A is inside
    if dot3(normal, found[1]) > 0.0:
        return -found[0], scaled3(found[1], -1.0), found[2], found[3]
    return found


@kernel
def _pseudo_normal(m, o, y, on):
    """Return the pseudo-normal at y: the sum of normals times angles of triangles within `on`."""
    walk, total = stack_ints(WALK, 1), ZERO3
    begin_triangles(m, o, walk)
    while True:
        k = next_triangle(m, o, y, (on, on, on), walk)
        if k < 0:
            return total
        dist, normal = plane_of_triangle(m, o, k, y)
        if abs(dist) <= on:
            total = add_scaled3(total, normal, _angle_at(corners_of(m, o, k), normal, y, on))


@inline
def _angle_at(corners, normal, y, on):
    """Return the angle of a triangle at y in its plane; distances up to `on` count as zero.

    The angle is 2 pi inside the triangle, pi on an edge, the angle between the edges at a corner,
    and 0 outside.
    """
    angle = 2.0 * np.pi
    for k in range(3):
        p = corners[0] if k == 0 else (corners[1] if k == 1 else corners[2])
        q = corners[1] if k == 0 else (corners[2] if k == 1 else corners[0])
        r = corners[2] if k == 0 else (corners[0] if k == 1 else corners[1])
        line, other, arm = sub3(q, p), sub3(r, p), sub3(y, p)
        if dot3(arm, arm) <= on * on:
            return np.arctan2(dot3(normal, cross3(line, other)), dot3(line, other))
        inward = dot3(cross3(normal, line), arm) / np.sqrt(dot3(line, line))
        if inward < -on:
            return 0.0
        if inward <= on:
            angle = np.pi
    return angle


@inline
def _half_in(m, a, R):
    """Return the half edges of a geometry's bounding box, whose edges are along the axes of R."""
    half = load3(m.geom_half, a)
    return (
        abs(R[0]) * half[0] + abs(R[3]) * half[1] + abs(R[6]) * half[2],
        abs(R[1]) * half[0] + abs(R[4]) * half[1] + abs(R[7]) * half[2],
        abs(R[2]) * half[0] + abs(R[5]) * half[1] + abs(R[8]) * half[2],
    )
