# SPDX-License-Identifier: Apache-2.0
"""Convert shapes to triangles for a renderer, in the axes of the shape.

The functions of creases.py merge corners, so that curved sides look smooth and edges sharp.
"""

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.colors import Color
from rbdyn_ros.description.appearance.shapes import AnyShape, MeshFile, Placeholder
from rbdyn_ros.description.meshes.files import UnusableMeshError
from rbdyn_ros.description.meshes.hulls import NoHullError, hull_corners
from rbdyn_ros.description.meshes.meshes import MeshPart, Only, parts_of, read_parts, scaled
from rbdyn_ros.description.meshes.textures import Materials
from rbdyn_ros.description.parts.geometries import Box, Cylinder, Points, Sphere
from rbdyn_ros.errors import Finding, quote
from rbdyn_ros.model.geometry.height_fields import field_triangles
from rbdyn_ros.view.scene.creases import Faces, creased

MOST_TRIANGLES = 2_000_000  # most triangles of a mesh
MOST_COLORS = 32  # most colours of a mesh; all further triangles have no colour
# a smaller opacity counts as 1, because some programs write the transparency instead
LEAST_OPACITY = 0.05

MARKER_COLOR = (1.0, 0.0, 1.0, 1.0)
MARKER_SIZE = 0.04  # size from corner to corner [m]
THIN = 1e-3  # thickness of shapes without volume [m]

ROUND = 48  # number of edges of a circle
_BALL = 3  # number of subdivisions of an icosahedron: 1280 triangles

#: Image coordinates (k, 3, 2) of the three corners of each face: rightwards and upwards, 0 to 1.
Places = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class TriangleSurface:
    """Triangles of one colour or with one texture.

    Attributes:
        vertices: (n, 3) float32, in the axes of the shape [m].
        faces: (k, 3) int32 vertex numbers, anticlockwise seen from outside.
        color: red, green, blue and opacity, 0 to 1; None: the shape has no colour.
        texture: name of an image in the mesh file; the image is not opened here. "": no texture.
        places: (k, 3, 2) image coordinates of the faces' corners, or None.
    """

    vertices: NDArray[np.float32]
    faces: Faces
    color: Color | None = None
    texture: str = ""
    places: Places | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FilePart:
    """The triangles of one colour or texture of a mesh file; see TriangleSurface."""

    vertices: Array
    faces: Faces
    color: Color | None
    texture: str
    places: Places | None


def surfaces_of(shape: AnyShape) -> tuple[TriangleSurface, ...]:
    """Return a shape as triangles.

    A mesh file is read with the unit of its document and the transforms of its scene; its up axis
    is ignored, as in RViz. Each colour or texture gets a TriangleSurface; images of textures are
    not opened. The file is read again only if it has changed. Faces are oriented outward even if
    the scale mirrors them.

    Raises:
        UnusableMeshError: the file is not a mesh, has no or more than MOST_TRIANGLES triangles, is
            too small or too large after scaling, or a package to read it is not installed.
    """
    if isinstance(shape, MeshFile):
        return _of_file(shape)
    if isinstance(shape, Placeholder):
        return (_marker(),)
    if isinstance(shape, Points):
        return (_hull(np.array(shape.points, float)),)
    creation = importlib.import_module("trimesh.creation")
    if isinstance(shape, Box):
        mesh = creation.box(shape.size)
    elif isinstance(shape, Sphere):
        mesh = creation.icosphere(_BALL, shape.radius)
    elif isinstance(shape, Cylinder):
        mesh = creation.cylinder(shape.radius, shape.length, sections=ROUND)
    else:
        mesh = creation.capsule(shape.length, shape.radius, count=[ROUND // 2, ROUND])
    centred = mesh.vertices - mesh.bounds.mean(axis=0)  # trimesh may not centre capsules
    return (_surface(centred, mesh.faces, None),)


def terrain_surface(heights: Array, half: Array) -> TriangleSurface:
    """Return the triangles of a height field; see field_triangles."""
    vertices, faces = field_triangles(heights, half)
    return _surface(vertices, faces.astype(np.int32), None)


def mesh_surface(vertices: Array, faces: NDArray[np.int64]) -> TriangleSurface:
    """Return the triangles of a triangle mesh."""
    return _surface(vertices, faces.astype(np.int32), None)


def surfaces_or_marker(shape: AnyShape) -> tuple[tuple[TriangleSurface, ...], Finding | None]:
    """Return the surfaces of a shape and None; for an unusable mesh, a marker and a warning."""
    try:
        return surfaces_of(shape), None
    except UnusableMeshError as error:
        name = str(shape.path) if isinstance(shape, MeshFile) else ""
        text = f"the mesh {quote(name, 200)} {error}; a marker is shown instead"
        found = Finding(error.code, text, "warning", "", None, name, error.allowed)
        return (_marker(),), found


def _marker() -> TriangleSurface:
    """Return an octahedron in a conspicuous colour, which replaces an unusable mesh."""
    corners = MARKER_SIZE / 2 * np.concatenate([np.eye(3), -np.eye(3)])
    return replace(_hull(corners), color=MARKER_COLOR)


def _hull(points: Array) -> TriangleSurface:
    """Return the convex hull of points (n, 3); a flat hull gets the thickness THIN."""
    spatial = importlib.import_module("scipy.spatial")
    try:
        corners = hull_corners(points)
        hull = spatial.ConvexHull(corners)
    except (NoHullError, spatial.QhullError, ValueError):
        cube = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        corners = (points[:, None] + THIN / 2 * cube).reshape(-1, 3)
        hull = spatial.ConvexHull(corners)
    a, b, c = (corners[hull.simplices[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces = np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)
    return _surface(corners, faces, None)


def _of_file(shape: MeshFile) -> tuple[TriangleSurface, ...]:
    try:
        status = shape.path.stat()
    except OSError as error:
        raise UnusableMeshError("bad-mesh", f"cannot be read: {error.strerror}") from error
    parts = _kept(shape.path, shape.only, status.st_mtime_ns, status.st_size)
    if isinstance(parts, UnusableMeshError):
        raise UnusableMeshError(parts.code, str(parts), parts.allowed)
    ends = (np.min, np.max)
    corners = [end(part.vertices, axis=0) for part in parts for end in ends]
    scaled(np.array(corners), shape.scale)
    return tuple(_scaled(part, shape) for part in parts)


def _scaled(part: FilePart, shape: MeshFile) -> TriangleSurface:
    order = slice(None, None, -1 if math.prod(shape.scale) < 0.0 else 1)
    return TriangleSurface(
        np.ascontiguousarray(part.vertices * shape.scale, np.float32),
        np.ascontiguousarray(part.faces[:, order], np.int32),
        part.color,
        part.texture,
        None if part.places is None else part.places[:, order],
    )


@lru_cache(maxsize=256)
def _kept(
    path: Path, only: Only, _changed: int, _size: int
) -> tuple[FilePart, ...] | UnusableMeshError:
    """Return the content of a mesh file, or the error of an unusable file.

    Both are cached, because reading may take long.
    """
    try:
        return _read(path, only)
    except UnusableMeshError as error:
        # return a new error without traceback, which would keep its frames alive
        return UnusableMeshError(error.code, str(error), error.allowed)


def _read(path: Path, only: Only) -> tuple[FilePart, ...]:
    groups: dict[tuple[Color | None, str], list[FilePart]] = {}
    for part in parts_of(read_parts(path, Materials(path), apart=bool(only[0])), only):
        faces, places = _faces(part)
        if len(faces):
            looks = _color(part.geometry), part.texture
            if looks not in groups and len(groups) >= MOST_COLORS:
                looks = None, ""
            groups.setdefault(looks, []).append(FilePart(part.vertices, faces, *looks, places))
    count = sum(len(piece.faces) for pieces in groups.values() for piece in pieces)
    if count > MOST_TRIANGLES:
        message = f"has {count} triangles; allowed are up to {MOST_TRIANGLES}: simplify it"
        raise UnusableMeshError("mesh-too-large", message, f"up to {MOST_TRIANGLES}")
    parts = [_joined(pieces) for pieces in groups.values()]
    parts = [part for part in parts if len(part.faces)]
    if not parts:
        raise UnusableMeshError("bad-mesh", "holds no triangles")
    return tuple(parts)


def _faces(part: MeshPart) -> tuple[Faces, Places | None]:
    """Return the faces of a part, oriented outward, and the image coordinates of their corners.

    Without a texture the coordinates are None. Points and lines have no faces. Raises
    UnusableMeshError if a face has an unknown corner.
    """
    faces = np.asarray(getattr(part.geometry, "faces", ()), np.int64).reshape(-1, 3)
    if len(faces) and (faces.min() < 0 or faces.max() >= len(part.vertices)):
        raise UnusableMeshError("bad-mesh", "has faces with unknown vertices")
    turned: Faces = (faces[:, ::-1] if part.mirrored else faces).astype(np.int32)
    places = getattr(getattr(part.geometry, "visual", None), "uv", None)
    if places is None or np.shape(places) != (len(part.vertices), 2):
        return turned, None
    return turned, np.nan_to_num(np.asarray(places, np.float32), posinf=0.0, neginf=0.0)[turned]


def _color(geometry: Any) -> Color | None:
    """Return the colour of a trimesh geometry, the mean of its colours, or None without any."""
    visual = geometry.visual
    if visual.kind == "texture":
        material = visual.material
        if hasattr(material, "diffuse") and "kd" not in material.kwargs:
            return None  # this grey is trimesh's own, for an OBJ without a colour
        rgba = getattr(material, "main_color", None)
    elif visual.kind in ("vertex", "face"):
        colors = visual.vertex_colors if visual.kind == "vertex" else visual.face_colors
        rgba = np.asarray(colors, float).mean(axis=0)
    else:
        return None
    numbers = np.asarray(rgba, float).ravel() / 255.0 if rgba is not None else np.zeros(0)
    if len(numbers) != 4 or not np.isfinite(numbers).all():
        return None
    red, green, blue, alpha = np.clip(numbers, 0.0, 1.0).round(4).tolist()
    return red, green, blue, alpha if alpha >= LEAST_OPACITY else 1.0


def _joined(pieces: Sequence[FilePart]) -> FilePart:
    """Return all pieces of one colour or texture as one surface with shared corners."""
    first = np.cumsum([0, *(len(piece.vertices) for piece in pieces[:-1])])
    faces = [piece.faces + start for piece, start in zip(pieces, first, strict=True)]
    vertices = np.concatenate([piece.vertices for piece in pieces])
    vertices, shared, solid = creased(vertices, np.concatenate(faces).astype(np.int32))
    placed = [piece.places for piece in pieces if piece.places is not None]
    places = np.concatenate(placed)[solid] if len(placed) == len(pieces) else None
    return replace(pieces[0], vertices=vertices, faces=shared, places=places)


def _surface(vertices: Array, faces: Faces, color: Color | None) -> TriangleSurface:
    corners, turned, _ = creased(np.asarray(vertices, float), np.asarray(faces, np.int32))
    return TriangleSurface(
        np.ascontiguousarray(corners, np.float32), np.ascontiguousarray(turned, np.int32), color
    )
