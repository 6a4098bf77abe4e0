# SPDX-License-Identifier: Apache-2.0
"""Shapes that rays can hit: the geometries of a Model, or any triangles on its bodies."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.description.meshes.hulls import hull_faces
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.engine.rays.casting import BOUNDS, MAT, POS, ROUNDING, SHAPE, SIZE
from rbdyn_ros.engine.rays.tree import COUNT, FIRST, NODE, grow
from rbdyn_ros.errors import Finding
from rbdyn_ros.model.geometry.geoms import TERRAIN, GeomType
from rbdyn_ros.model.geometry.height_fields import field_triangles
from rbdyn_ros.model.geometry.triangle_meshes import triangles_of
from rbdyn_ros.model.model import Model

_grow = Entry(grow)

#: Corners of triangles, (k, 3, 3).
Triangles = Array


@dataclass(frozen=True, slots=True, eq=False)
class RayShape:
    """A shape that is fixed to a body.

    Attributes:
        name: name shown to the user.
        body: number of the body, 0 for the world.
        pos: origin of the shape's frame in the body, (3,) [m].
        mat: orientation of the shape's frame in the body, (3, 3).
        kind: type of the shape; MESH for triangles.
        size: geom_size of a solid [m].
        triangles: corners in the shape's frame, (k, 3, 3) [m], anticlockwise seen from outside.
        link: name of the link of the shape; "" for an obstacle.
    """

    name: str
    body: int
    pos: Array
    mat: Array
    kind: GeomType = GeomType.MESH
    size: Array = field(default_factory=lambda: np.zeros(3))
    triangles: Triangles = field(default_factory=lambda: np.zeros((0, 3, 3)))
    link: str = ""


class RayShapes:
    """An immutable set of shapes on the bodies of a Model, prepared for ray casting.

    Attributes:
        names: names of the shapes.
        links: links of the shapes; "" for obstacles.
        body: (n), body of each shape.
        kind: (n), GeomType of each shape.
        bounded: numbers of the shapes that have a bounding box and a surface.
        planes: numbers of the planes.
        triangles: (n, 2), for each shape its first triangle and its last triangle + 1.
        findings: warnings about shapes that were left out.
        shape, root, mesh_node, triangle: see engine/rays/casting.py.
    """

    def __init__(self, shapes: Iterable[RayShape], findings: tuple[Finding, ...] = ()) -> None:
        listed = list(shapes)
        self.findings = findings
        self.names = tuple(one.name for one in listed)
        self.links = tuple(one.link for one in listed)
        self.body: Ints = np.array([one.body for one in listed], np.int64)
        self.kind: Ints = np.array([one.kind for one in listed], np.int64)
        self.shape: Array = np.array([_row(one) for one in listed]).reshape(-1, SHAPE)
        self.root: Ints = np.full(len(listed), -1, np.int64)
        trees = [(np.zeros((0, NODE)), np.zeros((0, 9)))]
        self.triangles: Ints = np.zeros((len(listed), 2), np.int64)
        nodes = triangles = 0
        for g, one in enumerate(listed):
            self.triangles[g] = triangles, triangles + len(one.triangles)
            if len(one.triangles):
                self.root[g] = nodes
                trees.append(_tree(one.triangles, nodes, triangles))
                nodes, triangles = nodes + len(trees[-1][0]), triangles + len(trees[-1][1])
        self.mesh_node, self.triangle = (np.concatenate(rows) for rows in zip(*trees, strict=True))
        solid = ~np.isin(self.kind, (GeomType.PLANE, GeomType.MESH, *TERRAIN))
        self.bounded: Ints = np.flatnonzero(solid | (self.root >= 0))
        self.planes: Ints = np.flatnonzero(self.kind == GeomType.PLANE)


def geometry_shapes(m: Model) -> RayShapes:
    """Return the shapes of all geometries of a Model, in the order of m.geom_names.

    The shapes are stored in the Model for later calls.
    """
    kept: RayShapes | None = m.kept.get("ray_shapes")
    if kept is None:
        kept = m.kept.setdefault("ray_shapes", RayShapes(_geometry(m, g) for g in range(m.ngeom)))
    return kept


def obstacle_shapes(m: Model) -> list[RayShape]:
    """Return the shapes of the obstacles of a Model."""
    return some_geometries(m, range(m.ngeomlink, m.ngeom))


def some_geometries(m: Model, numbers: Iterable[int]) -> list[RayShape]:
    """Return the shapes of some geometries of a Model, by their numbers."""
    return [_geometry(m, g) for g in numbers]


def _geometry(m: Model, g: int) -> RayShape:
    kind = GeomType(m.geom_type[g])
    triangles = np.zeros((0, 3, 3))
    if kind == GeomType.MESH:
        triangles = hull_triangles(_corners(m, g))
    elif kind == GeomType.HFIELD:
        triangles = _terrain(m, g)
    elif kind == GeomType.TRIMESH:
        vertices, faces = triangles_of(m, g)
        triangles = vertices[faces]
    body, mat = int(m.geom_bodyid[g]), m.geom_mat[g].reshape(3, 3)
    size, name = m.geom_size[g], m.geom_names[g]
    link = m.frame_names[m.geom_frameid[g]] if g < m.ngeomlink else ""
    return RayShape(name, body, m.geom_pos[g], mat, kind, size, triangles, link)


def _corners(m: Model, g: int) -> Array:
    first = int(m.geom_vertadr[g])
    corners: Array = m.vert_pos[first : first + int(m.geom_vertnum[g])]
    return corners


def hull_triangles(corners: Array) -> Triangles:
    """Return the triangles of the convex hull of some corners.

    There are none if all corners are on a line.
    """
    fans = [
        (ring[0], ring[k], ring[k + 1])
        for _, ring in hull_faces(corners)
        for k in range(1, len(ring) - 1)
    ]
    return corners[np.array(fans, np.int64).reshape(-1, 3)]


def _terrain(m: Model, g: int) -> Triangles:
    k = int(m.geom_fieldid[g])
    rows, columns = int(m.field_nrow[k]), int(m.field_ncol[k])
    heights = m.field_height[m.field_adr[k] :][: rows * columns].reshape(rows, columns)
    vertices, faces = field_triangles(heights, m.geom_size[g])
    return vertices[faces]


def _row(one: RayShape) -> Array:
    """Return the numbers of a shape, see engine/rays/casting.py."""
    row = np.zeros(SHAPE)
    row[POS : POS + 3], row[MAT : MAT + 9] = one.pos, one.mat.ravel()
    row[SIZE : SIZE + 3] = one.size
    if len(one.triangles):
        row[BOUNDS : BOUNDS + 3] = one.triangles.min(axis=(0, 1))
        row[BOUNDS + 3 :] = one.triangles.max(axis=(0, 1))
    else:
        row[BOUNDS + 3 :] = _half(one)
        row[BOUNDS : BOUNDS + 3] = -row[BOUNDS + 3 :]
    return row


def _half(one: RayShape) -> Array:
    """Return the half edges of a solid's bounding box (3,) [m]."""
    radius, length = float(one.size[0]), float(one.size[1])
    match one.kind:
        case GeomType.SPHERE:
            return np.full(3, radius)
        case GeomType.CYLINDER:
            return np.array([radius, radius, length])
        case GeomType.CAPSULE:
            return np.array([radius, radius, length + radius])
    return one.size


def _tree(triangles: Triangles, node: int, triangle: int) -> tuple[Array, Array]:
    """Return the nodes of the box tree of triangles, and the triangles in the order of its leaves.

    Args:
        triangles: (k, 3, 3) corners.
        node: number of the first node among all meshes.
        triangle: number of the first triangle among all meshes.
    """
    low, high = triangles.min(axis=1), triangles.max(axis=1)
    wider = ROUNDING * np.abs(triangles).max(initial=0.0)
    boxes = np.ascontiguousarray(np.concatenate([low - wider, high + wider], axis=1))
    nodes, order = tree_of(boxes, np.arange(len(boxes)))
    nodes[:, FIRST] += np.where(nodes[:, COUNT] > 0, triangle, node)
    return nodes, triangles[order].reshape(-1, 9)


def tree_of(boxes: Array, things: Ints) -> tuple[Array, Ints]:
    """Return the nodes of a tree of boxes (n, 6), and `things` in the order of its leaves."""
    order, nodes = np.array(things, np.int64), np.zeros((2 * len(things), NODE))
    number: int = _grow.call(boxes, order, nodes)
    return nodes[:number], order
