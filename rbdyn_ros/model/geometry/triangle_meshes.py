# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes of the world as arrays: their edges, their corners and a tree of boxes.

The triangles of a mesh are sorted along a space-filling curve, so neighbours in the list are near
each other in space. Boxes of LEAF triangles each are the leaves of a complete binary tree, in
which node k has the children 2 k + 1 and 2 k + 2.

Source: Lauterbach et al., Fast BVH construction on GPUs, 2009 (order by Morton numbers).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array, Arrays, Ints, NamedArrays
from rbdyn_ros.description.parts.geometries import Obstacle, TriangleMesh
from rbdyn_ros.description.parts.triangles import cleaned
from rbdyn_ros.model.geometry.geoms import GeomType

#: Number of triangles in a leaf of the tree.
LEAF = 4

#: Flags of trimesh_flag, times 1, 2 and 4 for the corners 0, 1 and 2, or for the edges that begin
#: there. EDGE: this triangle lists the edge, which is convex. PEAK: this triangle lists the
#: corner, which is an end of a convex edge. BORDER: the corner is at the border of the mesh.
#: CONCAVE: the edge is concave.
EDGE, PEAK, BORDER, CONCAVE = 1, 8, 64, 512

#: Two triangles count as in one plane if the sine of the angle between them is at most this.
BENT = 1e-6

_BITS = 20  # bits of a coordinate in a Morton number


def triangle_meshes(obstacles: tuple[Obstacle, ...]) -> Arrays:
    """Return the primary fields trimesh_vertnum, trimesh_facenum, trimesh_vert, trimesh_face."""
    meshes = [
        _sorted(*cleaned(one.shape.vertices, one.shape.faces))
        for one in obstacles
        if isinstance(one.shape, TriangleMesh)
    ]
    return {
        "trimesh_vertnum": np.array([len(vertices) for vertices, _ in meshes], np.int64),
        "trimesh_facenum": np.array([len(faces) for _, faces in meshes], np.int64),
        "trimesh_vert": np.concatenate([np.zeros((0, 3)), *(mesh[0] for mesh in meshes)]),
        "trimesh_face": np.concatenate(
            [np.zeros((0, 3), np.int64), *(mesh[1] for mesh in meshes)]
        ),
    }


def _sorted(vertices: Array, faces: Ints) -> tuple[Array, Ints]:
    """Return a mesh with its triangles in the order of their Morton numbers."""
    middles = vertices[faces].mean(axis=1)
    low = middles.min(axis=0, initial=np.inf)
    span = max(float((middles - low).max(initial=0.0)), np.finfo(float).tiny)
    cells = ((middles - low) / span * ((1 << _BITS) - 1)).astype(np.int64)
    numbers = np.zeros(len(faces), np.int64)
    for bit in range(_BITS):
        for axis in range(3):
            numbers |= (cells[:, axis] >> bit & 1) << (3 * bit + axis)
    return vertices, faces[np.argsort(numbers, kind="stable")]


def triangle_indices(fields: NamedArrays) -> Arrays:
    """Return the derived fields of triangle meshes.

    Args:
        fields: the primary fields of a Model.
    """
    is_mesh = fields["geom_type"] == GeomType.TRIMESH
    vertices, faces = fields["trimesh_vertnum"], fields["trimesh_facenum"]
    first_vertex, first_face = np.cumsum(vertices) - vertices, np.cumsum(faces) - faces
    found: dict[str, list[Array]] = {name: [] for name in _EMPTY}
    nodes = stars = 0
    for v, nv, f, nf in zip(first_vertex, vertices, first_face, faces, strict=True):
        mesh = fields["trimesh_vert"][v : v + nv], fields["trimesh_face"][f : f + nf]
        one = _of_mesh(*mesh)
        one["trimesh_nodeadr"] = np.array([nodes])
        one["trimesh_staradr"] += stars
        nodes, stars = nodes + len(one["trimesh_box"]), stars + len(one["trimesh_star"])
        for name, array in one.items():
            found[name].append(array)
    return {
        "geom_trimeshid": np.where(is_mesh, np.cumsum(is_mesh) - 1, -1),
        "trimesh_vertadr": first_vertex,
        "trimesh_faceadr": first_face,
        **{name: np.concatenate([_EMPTY[name], *found[name]]) for name in _EMPTY},
    }


_EMPTY = {
    "trimesh_nodeadr": np.zeros(0, np.int64),
    "trimesh_closed": np.zeros(0, np.int64),
    "trimesh_normal": np.zeros((0, 3)),
    "trimesh_wing": np.zeros((0, 3), np.int64),
    "trimesh_flag": np.zeros(0, np.int64),
    "trimesh_staradr": np.zeros(0, np.int64),
    "trimesh_starnum": np.zeros(0, np.int64),
    "trimesh_star": np.zeros(0, np.int64),
    "trimesh_box": np.zeros((0, 6)),
}


def _of_mesh(vertices: Array, faces: Ints) -> dict[str, Array]:
    """Return the derived fields of one mesh."""
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    # the two ends of each of the 3 k edges
    ends = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
    other = _opposite(ends, len(vertices))
    own, beside = np.repeat(normal, 3, axis=0), normal[other // 3]
    way = vertices[ends[:, 1]] - vertices[ends[:, 0]]
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    bend = (np.cross(own, beside) * way).sum(axis=1)
    folded = (own * beside).sum(axis=1) < 0.0
    border = other < 0
    convex = border | (bend > BENT) | ((np.abs(bend) <= BENT) & folded)
    concave = ~border & (bend < -BENT)
    wing = np.where(border, -1, faces[other // 3, (other % 3 + 2) % 3])
    listed = convex & (border | (np.arange(len(ends)) < other))
    peaks, first = np.unique(faces.reshape(-1), return_index=True)
    is_end, at_border = np.zeros((2, len(vertices)), bool)
    is_end[ends[convex]] = at_border[ends[border]] = True
    owns = np.zeros(len(ends), bool)
    owns[first] = is_end[peaks]
    flags = EDGE * listed + PEAK * owns + BORDER * at_border[ends[:, 0]] + CONCAVE * concave
    stars = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
    number = np.bincount(stars[:, 0], minlength=len(vertices))
    return {
        "trimesh_closed": np.array([int(not border.any())]),
        "trimesh_normal": normal,
        "trimesh_wing": wing.reshape(-1, 3),
        "trimesh_flag": flags.reshape(-1, 3) @ np.array([1, 2, 4]),
        "trimesh_staradr": np.cumsum(number) - number,
        "trimesh_starnum": number,
        "trimesh_star": stars[:, 1],
        "trimesh_box": _boxes(corners),
    }


def _opposite(ends: Ints, count: int) -> Ints:
    """Return, for each edge (n, 2) of a triangle, the same edge of the adjacent triangle, or -1.

    An edge of more than two triangles, or of two triangles with the same direction, is a border.
    """
    name = ends.min(axis=1) * count + ends.max(axis=1)
    order = np.argsort(name, kind="stable")
    ranked = name[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=-1))
    pairs = starts[np.diff(starts, append=len(ranked)) == 2]
    first, second = order[pairs], order[pairs + 1]
    right = ends[first, 0] == ends[second, 1]
    other = np.full(len(ends), -1, np.int64)
    other[first[right]], other[second[right]] = second[right], first[right]
    return other


def _boxes(corners: Array) -> Array:
    """Return the boxes of the tree of triangles (k, 3, 3): low and high corner, the root first."""
    leaves = 1
    while leaves * LEAF < len(corners):
        leaves *= 2
    low = np.full((leaves * LEAF, 3), np.inf)
    high = np.full((leaves * LEAF, 3), -np.inf)
    low[: len(corners)], high[: len(corners)] = corners.min(axis=1), corners.max(axis=1)
    low, high = low.reshape(leaves, LEAF, 3).min(axis=1), high.reshape(leaves, LEAF, 3).max(axis=1)
    levels = [np.hstack([low, high])]
    while len(low) > 1:
        low, high = np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])
        levels.append(np.hstack([low, high]))
    return np.concatenate(levels[::-1])


def triangles_of(m: Any, g: int) -> tuple[Array, Ints]:
    """Return the corners (n, 3) and the triangles (k, 3) of a triangle mesh of a Model."""
    k = int(m.geom_trimeshid[g])
    corners, faces = int(m.trimesh_vertadr[k]), int(m.trimesh_faceadr[k])
    return (
        m.trimesh_vert[corners : corners + int(m.trimesh_vertnum[k])],
        m.trimesh_face[faces : faces + int(m.trimesh_facenum[k])],
    )
