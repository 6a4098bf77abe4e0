# SPDX-License-Identifier: Apache-2.0
"""Merge and split the corners of a surface, so that curved parts look smooth and edges sharp.

A renderer averages the normals of the triangles that share a corner. Mesh files do not prepare
this: in some files triangles share every corner, in others no corner.
"""

import importlib
import math

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Ints

Faces = NDArray[np.int32]

CREASE = math.radians(30.0)  # larger bends are edges
SAME_PLACE = 1e-6  # corners closer than this share of the surface's length coincide
#: Largest number of triangles to compare at an edge; more than 2, for surfaces back to back.
_AT_AN_EDGE = 4


def creased(vertices: Array, faces: Faces) -> tuple[Array, Faces, NDArray[np.bool_]]:
    """Return the triangles so that they share corners where the surface bends less than CREASE.

    If the bend at a common edge of two triangles is smaller, both share the ends of this edge. A
    chain of such triangles around a corner shares the corner. Triangles without area are left out.

    Args:
        vertices: (n, 3) finite coordinates.
        faces: (k, 3) vertex numbers, k > 0.

    Returns:
        The new vertices, the new faces, and a mask (k,) of the given faces that were kept.
    """
    kept, place = _places(vertices)
    faces = place[faces].astype(np.int32)
    faces, normals, solid = _with_normals(vertices[kept], faces)
    one, other = _shared_corners(faces, normals)
    sparse = importlib.import_module("scipy.sparse")
    csgraph = importlib.import_module("scipy.sparse.csgraph")
    size = faces.size
    graph = sparse.coo_matrix((np.ones(len(one), np.int8), (one, other)), (size, size))
    count, corner = csgraph.connected_components(graph, directed=False)
    placed = np.zeros(count, np.int64)
    placed[corner] = faces.ravel()
    shared: Faces = corner.astype(np.int32).reshape(-1, 3)
    return vertices[kept[placed]], shared, solid


def _places(vertices: Array) -> tuple[Ints, Ints]:
    """Return one vertex for each position, and for each vertex the index of its position."""
    low = vertices.min(axis=0)
    cell = SAME_PLACE * float(np.ptp(vertices, axis=0).max()) or 1.0
    x, y, z = np.rint((vertices - low) / cell).astype(np.int64).T  # all below 2^21
    _, kept, place = np.unique((x << 42) | (y << 21) | z, return_index=True, return_inverse=True)
    return kept, place.ravel()


def _with_normals(vertices: Array, faces: Faces) -> tuple[Faces, Array, NDArray[np.bool_]]:
    """Return the triangles with an area, their unit normals, and a mask of these triangles."""
    size = float(np.ptp(vertices, axis=0).max()) or 1.0
    a, b, c = (vertices[faces[:, k]] / size for k in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)
    solid = lengths > 0.0
    return faces[solid], normals[solid] / lengths[solid, None], solid


def _shared_corners(faces: Faces, normals: Array) -> tuple[Ints, Ints]:
    """Return pairs of corners to merge; the number of corner k of triangle f is 3 f + k."""
    begin = np.arange(faces.size)
    # for each corner, the end of the edge that begins there
    end = begin.reshape(-1, 3)[:, [1, 2, 0]].ravel()
    at = faces.ravel()
    swap = at[begin] > at[end]
    low, high = np.where(swap, end, begin), np.where(swap, begin, end)
    key = at[low].astype(np.int64) * (int(at.max(initial=0)) + 1) + at[high]
    order = np.argsort(key, kind="stable")
    pairs = []
    for step in range(1, _AT_AN_EDGE):
        first, second = order[:-step], order[step:]
        smooth = key[first] == key[second]
        first, second = first[smooth], second[smooth]
        cosine = np.einsum("ij,ij->i", normals[first // 3], normals[second // 3])
        smooth = cosine > math.cos(CREASE)
        pairs += [(end_of[first[smooth]], end_of[second[smooth]]) for end_of in (low, high)]
    one, other = zip(*pairs, strict=True)
    return np.concatenate(one), np.concatenate(other)
