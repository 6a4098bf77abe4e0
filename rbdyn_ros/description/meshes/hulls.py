# SPDX-License-Identifier: Apache-2.0
"""Convex hulls of meshes, reduced to few corners for simulation."""

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.description.parts.geometries import Points

#: Maximum number of corners of a hull.
MOST_CORNERS = 100
#: Number of directions for the first corners.
FIRST = 26
#: Relative thickness below which points are in a plane, or on a line.
FLAT = 1e-9
#: Largest depth of a triangle below the hull of its mesh, as a part of the size of the mesh.
SUNK = 1e-5
#: Cosine of the angle below which two triangles of a hull are one face: meshes are rounded.
ONE_FACE = 1.0 - 1e-6


#: Corners of an ellipsoid: number of rings from pole to pole, and number of corners of a ring.
RINGS, ON_RING = 7, 12

_NEAR = 8  # number of hull triangles to test first, as most points are above one of them
_AT_ONCE = 2_000_000  # number of distances from planes in memory at once


class NoHullError(Exception):
    """Qhull fails, or points whose hull needs a volume are in a plane."""


def hull_corners(points: Array) -> Array:
    """Return the corners of the convex hull of points (n, 3), in their order.

    Points in a plane give the corners of a polygon, points on a line give its two ends, and a
    single point gives itself.

    Raises:
        NoHullError: the numbers are too extreme.
    """
    seen = _in_own_axes(points)
    if seen.shape[1] > 1:
        corners: Array = points[np.sort(_hull(seen).vertices)]
        return corners
    ends = {int(seen[:, 0].argmin()), int(seen[:, 0].argmax())}
    return points[sorted(ends)]


def hull_with_edges(points: Array) -> tuple[Array, list[list[int]]]:
    """Return the corners of the convex hull of points, and the neighbours of each corner.

    Two corners are neighbours if an edge of a triangle of the hull joins them. Points in a
    plane, or too extreme for Qhull, are all returned, without neighbours.
    """
    seen = _in_own_axes(points)
    try:
        found = _hull(seen) if seen.shape[1] == 3 else None
    except NoHullError:
        found = None
    if found is None:
        return points, [[] for _ in points]
    kept = np.sort(found.vertices)
    number = {int(corner): n for n, corner in enumerate(kept)}
    beside: list[set[int]] = [set() for _ in kept]
    for triangle in found.simplices.tolist():
        a, b, c = (number[corner] for corner in triangle)
        beside[a] |= {b, c}
        beside[b] |= {c, a}
        beside[c] |= {a, b}
    return points[kept], [sorted(neighbours) for neighbours in beside]


def hull_moments(points: Array) -> tuple[float, Array, Array]:
    """Return volume, centroid (3,) and second moments about the centroid (3, 3) of a hull.

    Raises:
        NoHullError: the points are in a plane, or too extreme.
    """
    if _in_own_axes(points).shape[1] < 3:
        raise NoHullError
    found = _hull(points)
    middle = points[found.vertices].mean(axis=0)
    corners = points[found.simplices] - middle  # tetrahedra with the middle as a corner, (n, 3, 3)
    volumes = np.abs(np.linalg.det(corners)) / 6.0
    sums = corners.sum(axis=1)
    volume = float(volumes.sum())
    centre = volumes @ sums / (4.0 * volume)
    # int x x^T over a tetrahedron with a corner at 0: V / 20 (sum a a^T + s s^T), s = sum a
    moments = np.einsum("n,nki,nkj->ij", volumes, corners, corners)
    moments += np.einsum("n,ni,nj->ij", volumes, sums, sums)
    second: Array = moments / 20.0 - volume * np.outer(centre, centre)
    return volume, middle + centre, second


def is_on_hull(vertices: Array, faces: Ints) -> bool:
    """Return whether the middles of all triangles are on the convex hull of the vertices (n, 3).

    Raises:
        NoHullError: the vertices are in a plane, or too extreme.
    """
    seen = _in_own_axes(vertices)
    if seen.shape[1] < 3:
        raise NoHullError
    hull, middles = _hull(seen), seen[faces].mean(axis=1)
    planes, least = hull.equations, -SUNK * float(np.ptp(vertices, axis=0).max())
    tree = importlib.import_module("scipy.spatial").cKDTree(seen[hull.simplices].mean(axis=1))
    _, near = tree.query(middles, min(_NEAR, len(planes)))
    height = np.einsum("nki,ni->nk", planes[near, :3], middles) + planes[near, 3]
    left = middles[height.max(axis=1) <= least]
    rows = max(1, _AT_ONCE // len(planes))
    parts = (left[k : k + rows] for k in range(0, len(left), rows))
    return all((part @ planes[:, :3].T + planes[:, 3]).max(axis=1).min() > least for part in parts)


def hull_faces(points: Array) -> list[tuple[Array, list[int]]]:
    """Return the faces of the convex hull of points (n, 3): outward normal and corners of each.

    The corners are indices of points, anticlockwise seen from outside. Points in a plane have two
    faces; points on a line, or points that are too extreme for Qhull, have no face.
    """
    seen = _in_own_axes(points)
    if seen.shape[1] < 2:
        return []
    try:
        found = _hull(seen)
    except NoHullError:
        return []
    if seen.shape[1] == 2:
        ring = [int(corner) for corner in found.vertices]
        normal = _normals(points[None, ring])[0]
        return [(normal, ring), (-normal, ring[::-1])]
    triangles = found.simplices.tolist()
    normals = _normals(points[found.simplices])
    inside = points[found.vertices].mean(axis=0)
    normals[_dots(normals, points[found.simplices[:, 0]] - inside) < 0.0] *= -1.0
    groups = _coplanar(found.neighbors.tolist(), normals)
    corners = [sorted({corner for n in group for corner in triangles[n]}) for group in groups]
    faces: dict[int, tuple[Array, list[int]]] = {}
    for count in {len(face) for face in corners}:  # faces with equally many corners at once
        equal = [n for n, face in enumerate(corners) if len(face) == count]
        first = normals[[groups[n][0] for n in equal]]
        rings = _around(points, np.array([corners[n] for n in equal]), first)
        faces.update(zip(equal, rings, strict=True))
    return [faces[n] for n in range(len(groups))]


def _normals(rings: Array) -> Array:
    """Return unit normals: of the largest triangle in the fan from each ring's first corner."""
    arms = rings[:, 1:] - rings[:, :1]
    across = np.cross(arms[:, :-1], arms[:, 1:])
    largest: Array = across[np.arange(len(rings)), np.linalg.norm(across, axis=2).argmax(axis=1)]
    largest /= np.maximum(np.sqrt(_dots(largest, largest)), 1e-300)[:, None]
    return largest


def _dots(a: Array, b: Array) -> Array:
    """Return the scalar products of the rows of two arrays (n, 3)."""
    products: Array = (a[:, None] @ b[:, :, None])[:, 0, 0]
    return products


def _coplanar(neighbours: list[list[int]], normals: Array) -> list[list[int]]:
    """Return groups of connected triangles with the normal of the first triangle in the group."""
    left, groups = set(range(len(normals))), []
    for first in range(len(normals)):
        if first not in left:
            continue
        left.remove(first)
        group = [first]
        for n in group:  # the loop appends to the list
            for other in neighbours[n]:
                if other in left and normals[other] @ normals[first] > ONE_FACE:
                    left.remove(other)
                    group.append(other)
        groups.append(group)
    return groups


def _around(points: Array, corners: Ints, normals: Array) -> list[tuple[Array, list[int]]]:
    """Return the normal of each face, and its corners anticlockwise about it.

    Args:
        points: (n, 3).
        corners: (faces, corners of a face) indices of points.
        normals: (faces, 3) normals of triangles of the faces.
    """
    arms = points[corners]
    arms -= arms.mean(axis=1, keepdims=True)
    first = arms[np.arange(len(arms)), np.linalg.norm(arms, axis=2).argmax(axis=1)]
    first -= _dots(first, normals)[:, None] * normals
    across = arms @ np.cross(normals, first)[:, :, None], arms @ first[:, :, None]
    order = np.argsort(np.arctan2(*across)[:, :, 0], axis=1, kind="stable")
    rings = np.take_along_axis(corners, order, axis=1)
    exact = _normals(points[rings])
    exact = np.where(_dots(exact, normals)[:, None] > 0.0, exact, normals)
    return list(zip(exact, rings.tolist(), strict=True))


def reduced(corners: Array) -> Array:
    """Return at most MOST_CORNERS corners of a convex body whose hull approximates the body.

    The first corners are the farthest along the axes and in evenly spread directions, which keeps
    the bounding box; then the corners farthest outside the current hull are added repeatedly. On
    the 273 collision meshes of example-robot-data with more than 100 corners the error is at most
    5.1 mm and 4 % of half the length of the mesh, and 1 mm on average. The error of a round body
    of 100 corners is at least 2 % of its radius.

    Args:
        corners: (n, 3), as `hull_corners` returns them.

    Raises:
        NoHullError: the numbers are too extreme.
    """
    if len(corners) <= MOST_CORNERS:
        return corners
    seen = _in_own_axes(corners)
    kept = set(np.argmax(corners @ _directions(FIRST).T, axis=0).tolist())
    while len(kept) < MOST_CORNERS:
        planes = _hull(seen[sorted(kept)]).equations
        outside = seen @ planes[:, :-1].T + planes[:, -1]
        worst = np.argsort(-outside.max(axis=0))
        farthest = dict.fromkeys(outside.argmax(axis=0)[worst].tolist())
        more = [corner for corner in farthest if corner not in kept]
        if not more:
            break
        # add few corners at a time, as a new corner may cover others
        kept.update(more[: max(1, (MOST_CORNERS - len(kept)) // 2)])
    return corners[sorted(kept)]


def _in_own_axes(points: Array) -> Array:
    """Return points relative to their mean in principal axes, without flat directions."""
    spread = points - points.mean(axis=0)
    _, lengths, axes = np.linalg.svd(spread, full_matrices=False)
    rank = max(1, int(np.count_nonzero(lengths > FLAT * lengths[0])))
    seen: Array = spread @ axes[:rank].T
    return seen


def _hull(points: Array) -> Any:
    spatial = importlib.import_module("scipy.spatial")
    try:
        return spatial.ConvexHull(points)
    except spatial.QhullError as error:
        raise NoHullError from error


def _directions(count: int) -> Array:
    """Return unit vectors, one per row: both ways along the axes, then a spiral over the sphere.

    The spiral advances by the golden angle at evenly spaced heights, so that each direction
    covers the same part of the sphere.
    """
    step = np.arange(count - 6)
    z = 1.0 - (2.0 * step + 1.0) / (count - 6)
    angle = math.pi * (3.0 - math.sqrt(5.0)) * step
    level = np.sqrt(1.0 - z * z)
    spiral = np.column_stack([level * np.cos(angle), level * np.sin(angle), z])
    return np.concatenate([np.eye(3), -np.eye(3), spiral])


def ellipsoid(radii: Sequence[float]) -> Points:
    """Return corners on the surface of an ellipsoid with these half axes [m]."""
    polar = np.linspace(0.0, math.pi, RINGS + 2)[1:-1, None]
    around = np.linspace(0.0, 2.0 * math.pi, ON_RING, endpoint=False)
    x, y = np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around)
    rings = np.stack([x, y, np.broadcast_to(np.cos(polar), x.shape)], axis=-1).reshape(-1, 3)
    points = np.concatenate([rings, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]]) * np.array(radii)
    return Points(tuple((x, y, z) for x, y, z in points.tolist()))
