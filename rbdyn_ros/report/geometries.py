# SPDX-License-Identifier: Apache-2.0
"""Tables of collision geometries and obstacles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rbdyn_ros.description.parts.geometries import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    HeightField,
    Obstacle,
    Points,
    Shape,
    Sphere,
    TriangleMesh,
    WorldShape,
)
from rbdyn_ros.errors import counted
from rbdyn_ros.model.geometry.geoms import GeomType
from rbdyn_ros.model.model import Model
from rbdyn_ros.report.words import Row, aligned, cut, direction, numbers


@dataclass(frozen=True, slots=True)
class GeometryRow:
    """One geometry as in the robot file.

    Attributes:
        shape: its kind: sphere, box, cylinder, capsule or points.
        size: radius, length, edges or number of corners, as text.
        viscosity: coefficient of viscous friction [N s/m]; None: Coulomb friction.
    """

    name: str
    link: str
    shape: str
    size: str
    friction: float
    viscosity: float | None


@dataclass(frozen=True, slots=True)
class ObstacleRow:
    """One obstacle; if its friction is None, a contact has the friction of the geometry."""

    name: str
    shape: str
    size: str
    pos: tuple[float, float, float]
    friction: float | None


def geometry_row(geometry: Geometry) -> GeometryRow:
    """Return the row of a geometry."""
    surface = geometry.surface
    return GeometryRow(
        name=geometry.name,
        link=geometry.link,
        shape=_kind(geometry.shape),
        size=_size(geometry.shape),
        friction=surface.friction,
        viscosity=surface.viscosity,
    )


def obstacle_row(obstacle: Obstacle) -> ObstacleRow:
    """Return the row of an obstacle."""
    friction = obstacle.friction if math.isfinite(obstacle.friction) else None
    shape = obstacle.shape
    return ObstacleRow(obstacle.name, _kind(shape), _size(shape), obstacle.origin.pos, friction)


def geometries_text(
    geometries: Sequence[GeometryRow], obstacles: Sequence[ObstacleRow]
) -> list[str]:
    """Return a table of geometries and a table of obstacles; a table without rows is left out."""
    lines: list[str] = []
    if geometries:
        frictions = [_friction(row.friction, row.viscosity) for row in geometries]
        rows = [
            (row.name, row.link, row.shape, row.size, friction)
            for row, friction in zip(geometries, frictions, strict=True)
        ]
        head = ("name", "link", "shape", "size", "friction")
        lines += ["collision geometries", *aligned([head, *rows]), ""]
    if obstacles:
        placed = [
            (row.name, row.shape, row.size, numbers(row.pos), _friction(row.friction, None))
            for row in obstacles
        ]
        head = ("name", "shape", "size", "at [m]", "friction")
        lines += ["obstacles", *aligned([head, *placed]), ""]
    return lines


def _kind(shape: Shape | WorldShape) -> str:
    return type(shape).__name__.lower()


def _size(shape: Shape | WorldShape) -> str:
    if isinstance(shape, Box):
        return f"edges {numbers(shape.size)} m"
    if isinstance(shape, Sphere):
        return f"radius {shape.radius:.4g} m"
    if isinstance(shape, Cylinder | Capsule):
        return f"radius {shape.radius:.4g} m, length {shape.length:.4g} m"
    if isinstance(shape, HeightField):
        return f"{shape.size[0]:.4g} x {shape.size[1]:.4g} m"
    if isinstance(shape, TriangleMesh):
        return counted(len(shape.faces), "triangle")
    return _corners(len(shape.points)) if isinstance(shape, Points) else ""


def _corners(number: int) -> str:
    return counted(number, "corner")


def _viscosity(m: Model, g: int) -> float | None:
    viscosity = float(m.geom_viscosity[g])
    return viscosity if viscosity >= 0.0 else None


def _friction(friction: float | None, viscosity: float | None) -> str:
    if viscosity is not None:
        return f"viscous {viscosity:.4g} N s/m"
    return "-" if friction is None or math.isinf(friction) else f"{friction:.4g}"


GEOM_HEAD = ("name", "body", "shape", "size", "at [m]", "friction", "effective mass [kg]")


def geom_rows(m: Model) -> list[Row]:
    """Return a row per geometry of a link."""
    return [
        (
            cut(m.geom_names[g]),
            str(m.geom_bodyid[g]),
            GeomType(m.geom_type[g]).name.lower(),
            _model_size(m.geom_type[g], m.geom_size[g], m.geom_vertnum[g]),
            numbers(m.geom_pos[g]),
            _friction(m.geom_friction[g], _viscosity(m, g)),
            f"{m.geom_mass0[g]:.4g}",
        )
        for g in range(m.ngeomlink)
    ]


OBSTACLE_HEAD = ("name", "shape", "size", "at [m]", "z axis", "friction")


def obstacle_rows(m: Model) -> list[Row]:
    """Return a row per obstacle."""
    return [
        (
            cut(m.geom_names[g]),
            GeomType(m.geom_type[g]).name.lower(),
            _model_size(m.geom_type[g], m.geom_size[g], 0),
            numbers(m.geom_pos[g]),
            direction(m.geom_mat[g].reshape(3, 3)[:, 2]),
            _friction(m.geom_friction[g], None),
        )
        for g in range(m.ngeomlink, m.ngeom)
    ]


def _model_size(kind: int, size: Sequence[float], corners: int) -> str:
    """Return the size of a geometry of a Model, which stores half lengths, as text.

    `corners` is the number of corners of a convex body.
    """
    if kind == GeomType.BOX:
        return _size(Box((2.0 * size[0], 2.0 * size[1], 2.0 * size[2])))
    if kind == GeomType.HFIELD:
        return f"{2.0 * size[0]:.4g} x {2.0 * size[1]:.4g} m"
    if kind == GeomType.SPHERE:
        return _size(Sphere(size[0]))
    if kind in (GeomType.CYLINDER, GeomType.CAPSULE):
        return _size(Cylinder(size[0], 2.0 * size[1]))
    return _corners(corners) if kind == GeomType.MESH else ""
