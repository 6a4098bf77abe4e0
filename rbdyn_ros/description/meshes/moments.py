# SPDX-License-Identifier: Apache-2.0
"""The volume that triangles enclose, its centre and its second moments."""

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.description.meshes.files import UnusableMeshError
from rbdyn_ros.description.meshes.hulls import hull_moments

#: Vertices nearer to each other than this part of the size of a mesh are merged.
_SAME = 1e-7
#: Volume [m^3], centre (3,) [m], and second moments (3, 3) about the centre [m^5].
Moments = tuple[float, Array, Array]


def moments(vertices: Array, faces: Ints, kind: str) -> Moments:
    """Return volume (or area), centre and second moments of the solid that triangles enclose.

    `kind` is `exact`, `legacy`, `convex` (the convex hull) or `shell` (the area), as in MuJoCo.

    Each triangle and a centre make a tetrahedron of volume V, whose second moment is V/20 (sum of
    v v^T + (sum of v)(sum of v)^T) about that centre (Tonon, 2004). `legacy` uses the absolute
    value of V, as MuJoCo does for meshes with faces that point inwards. Raise UnusableMeshError if
    there is no surface or no volume.
    """
    if kind == "convex" or not len(faces):
        return hull_moments(vertices)
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normal, axis=1) / 2
    total = float(area.sum())
    if not total > 0.0:
        raise UnusableMeshError("bad-mesh", "has no surface")
    middle = area @ corners.mean(axis=1) / total

    def volumes(centre: Array) -> Array:
        signed = np.einsum("ij,ij->i", corners.mean(axis=1) - centre, normal) / 6
        sizes: Array = np.abs(signed) if kind == "legacy" else signed
        return sizes

    if kind == "shell":
        com, sizes, divisor = middle, area, 12.0
    else:
        sizes = volumes(middle)
        if not float(sizes.sum()) > 0.0:
            raise UnusableMeshError("bad-mesh", "encloses no volume")
        com = sizes @ (0.75 * corners.mean(axis=1) + 0.25 * middle) / sizes.sum()
        sizes, divisor = volumes(com), 20.0
    arms = corners - com
    sums = arms.sum(axis=1)
    second = np.einsum("i,ikj,ikl->jl", sizes, arms, arms)
    second += np.einsum("i,ij,il->jl", sizes, sums, sums)
    return float(sizes.sum()), com, second / divisor


def closed_moments(vertices: Array, faces: Ints) -> Moments:
    """Return the moments of a closed surface, whose faces all point outwards or all inwards.

    Raises:
        UnusableMeshError: it is not closed, or encloses no volume.
    """
    if not is_closed(vertices, faces):
        raise UnusableMeshError("open-mesh", "is open, or some of its faces point inwards")
    signed = np.linalg.det(vertices[faces] - vertices.mean(axis=0)).sum()
    return moments(vertices, faces if signed > 0.0 else faces[:, ::-1], "exact")


def is_closed(vertices: Array, faces: Ints) -> bool:
    """Return whether each edge of a triangle is an edge of another triangle, in reverse."""
    size = float(np.ptp(vertices, axis=0).max())
    if not len(faces) or size == 0.0:
        return False
    cells = np.round((vertices - vertices.min(axis=0)) / (_SAME * size))
    unique, number = np.unique(cells, axis=0, return_inverse=True)
    start = number.reshape(-1)[faces]
    end = np.roll(start, -1, axis=1)
    there, back = (np.sort((a * len(unique) + b).ravel()) for a, b in ((start, end), (end, start)))
    return bool((there == back).all())
