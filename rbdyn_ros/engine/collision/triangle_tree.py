# SPDX-License-Identifier: Apache-2.0
"""The triangles of a mesh near a point, by a search in the tree of boxes of the mesh."""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import dot3, load3, sub3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.model.geometry.triangle_meshes import LEAF

#: Rows of a search's state: number of open nodes, next triangle, end of the triangles, the nodes.
OPEN, NEXT, END, NODES = 0, 1, 2, 3
#: Length of a search's state. A tree of a million triangles has 18 levels, and each level leaves
#: at most one node open.
WALK = 64


@inline
def mesh_of(m, o):
    """Return indices of a mesh: first corner, first triangle, number of triangles, first box."""
    k = m.geom_trimeshid[o]
    return m.trimesh_vertadr[k], m.trimesh_faceadr[k], m.trimesh_facenum[k], m.trimesh_nodeadr[k]


@inline
def begin_triangles(m, o, walk):
    """Begin a search through the triangles of a mesh; `walk` receives the state of the search."""
    walk[OPEN, 0] = 1
    walk[NEXT, 0] = walk[END, 0] = 0
    walk[NODES, 0] = 0


@kernel
def next_triangle(m, o, centre, half, walk):
    """Return the next triangle whose box meets the box with `centre` and half edges `half`, or -1.

    The number counts from the first triangle of the mesh.
    """
    _vert, _face, number, node = mesh_of(m, o)
    leaves = 1
    while leaves * LEAF < number:
        leaves *= 2
    while True:
        while walk[NEXT, 0] < walk[END, 0]:
            k = walk[NEXT, 0]
            walk[NEXT, 0] = k + 1
            if _meets(corners_of(m, o, k), centre, half):
                return k
        if walk[OPEN, 0] == 0:
            return -1
        walk[OPEN, 0] -= 1
        n = walk[NODES + walk[OPEN, 0], 0]
        if not _box_meets(m, node + n, centre, half):
            continue
        if n >= leaves - 1:
            first = (n - leaves + 1) * LEAF
            walk[NEXT, 0], walk[END, 0] = first, min(first + LEAF, number)
        else:
            top = NODES + walk[OPEN, 0]
            walk[top, 0], walk[top + 1, 0] = 2 * n + 2, 2 * n + 1
            walk[OPEN, 0] += 2


@inline
def mesh_meets(m, o, centre, half):
    """Return whether a mesh's box meets the box with `centre` and half edges `half`."""
    _vert, _face, _number, node = mesh_of(m, o)
    return _box_meets(m, node, centre, half)


@inline
def _box_meets(m, n, centre, half):
    for k in range(3):
        if m.trimesh_box[n, k] > centre[k] + half[k]:
            return False
        if m.trimesh_box[n, 3 + k] < centre[k] - half[k]:
            return False
    return True


@inline
def _meets(corners, centre, half):
    a, b, c = corners
    for k in range(3):
        if min(a[k], b[k], c[k]) > centre[k] + half[k]:
            return False
        if max(a[k], b[k], c[k]) < centre[k] - half[k]:
            return False
    return True


@inline
def corners_of(m, o, triangle):
    """Return the corners of a triangle of a mesh."""
    vert, face, _number, _node = mesh_of(m, o)
    a = load3(m.trimesh_vert, vert + m.trimesh_face[face + triangle, 0])
    b = load3(m.trimesh_vert, vert + m.trimesh_face[face + triangle, 1])
    c = load3(m.trimesh_vert, vert + m.trimesh_face[face + triangle, 2])
    return a, b, c


@inline
def plane_of_triangle(m, o, triangle, x):
    """Return the distance from x to the plane of a mesh triangle, and its normal."""
    _vert, face, _number, _node = mesh_of(m, o)
    normal = load3(m.trimesh_normal, face + triangle)
    a, _b, _c = corners_of(m, o, triangle)
    return dot3(normal, sub3(x, a)), normal
