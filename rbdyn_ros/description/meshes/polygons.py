# SPDX-License-Identifier: Apache-2.0
"""Divide the polygons of an OBJ into triangles as MuJoCo does, by the rules of tinyobjloader.

The corners of a polygon may leave its plane, so the choice of its triangles changes the volume.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from rbdyn_ros.arrays import Array

_POLYGON = re.compile(rb"^f(?:[ \t]+[^\s#\\]+){4,}[ \t\r]*$", re.MULTILINE)
_VERTEX = re.compile(rb"^v[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)", re.MULTILINE)
#: The time to clip ears grows with the cube of the number of corners. Beyond this sum of cubes,
#: which takes two seconds, the reader of meshes divides the polygons into fans instead.
_MOST_WORK = 100_000_000


def triangulated(data: bytes) -> bytes:
    """Return an OBJ whose faces of four and more corners are triangles.

    Relative numbers of vertices count the vertices above the face. A document that is not a sound
    OBJ is returned unchanged, for its reader to refuse.
    """
    if _POLYGON.search(data) is None:
        return data
    try:
        found = list(_VERTEX.finditer(data))
        points = np.array([[float(x) for x in row.groups()] for row in found])
        starts = np.array([row.start() for row in found])
        return _Triangles(points, starts).of_faces(data)
    except (ValueError, IndexError):
        return data


class _Triangles:
    """Divides faces into triangles; `starts` are the byte offsets of the vertices."""

    def __init__(self, points: Array, starts: Array) -> None:
        self._points, self._starts, self._work = points, starts, 0

    def of_faces(self, data: bytes) -> bytes:
        """Return the document with triangles."""
        return _POLYGON.sub(self._of_face, data)

    def _of_face(self, face: re.Match[bytes]) -> bytes:
        words = face[0].split()[1:]
        self._work += len(words) ** 3 if len(words) > 4 else 0
        if self._work > _MOST_WORK:
            return face[0]
        above = int(np.searchsorted(self._starts, face.start()))
        numbers = [int(word.split(b"/")[0]) for word in words]
        corners = self._points[[n - 1 if n > 0 else above + n for n in numbers]]
        found = _of_quad(corners) if len(words) == 4 else _ears(corners)
        return b"\n".join(b"f " + b" ".join(words[k] for k in three) for three in found)


def _of_quad(corners: Array) -> Sequence[Sequence[int]]:
    """Return two triangles at the shorter diagonal."""
    first, second = corners[2] - corners[0], corners[3] - corners[1]
    return ((0, 1, 2), (0, 2, 3)) if first @ first < second @ second else ((0, 1, 3), (1, 2, 3))


def _ears(corners: Array) -> Iterator[Sequence[int]]:
    """Yield the triangles of a polygon: clip its ears in a coordinate plane, see _axes."""
    flat = corners[:, _axes(corners)]
    left, guess, tries = list(range(len(corners))), 0, len(corners)
    while len(left) > 3 and tries > 0:
        guess %= len(left)
        ear = [left[(guess + k) % len(left)] for k in range(3)]
        others = [left[(guess + k) % len(left)] for k in range(3, len(left))]
        tries -= 1
        if _is_ear(flat[ear], flat[others]):
            yield ear
            del left[(guess + 1) % len(left)]
            tries = len(left)
        else:
            guess += 1
    if len(left) == 3:
        yield left


def _axes(corners: Array) -> list[int]:
    """Return the axes of the plane for clipping, chosen at the first corner with an angle."""
    sides = np.roll(corners, -1, axis=0) - corners
    for normal in np.abs(np.cross(sides, np.roll(sides, -1, axis=0))):
        if (normal > np.finfo(np.float32).eps).any():
            x, y, z = normal
            return [1, 2] if x > y and x > z else [0, 1 if z > x and z > y else 2]
    return [1, 2]


def _is_ear(ear: Array, others: Array) -> bool:
    """Return whether a triangle passes tinyobjloader's winding test and contains no corner."""
    (ax, ay), (bx, by), (cx, cy) = ear
    turn = (bx - ax) * (cy - by) - (by - ay) * (cx - bx)
    if turn * (ax * by - ay * bx) < 0.0:
        return False
    return not any(_is_inside(ear, x, y) for x, y in others)


def _is_inside(triangle: Array, x: float, y: float) -> bool:
    """Return whether a ray from a point crosses the sides of a triangle an odd number of times."""
    inside = False
    for k in range(3):
        (ax, ay), (bx, by) = triangle[k], triangle[k - 1]
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            inside = not inside
    return inside
