# SPDX-License-Identifier: Apache-2.0
"""All geometries of a robot and its world as arrays.

The geometries of moving bodies come first, then the geometries of links fixed to the world, then
the obstacles, which belong to no link. So each of these groups is a range of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array, Arrays, Ints
from rbdyn_ros.description.meshes.hulls import hull_with_edges
from rbdyn_ros.description.parts.geometries import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    HeightField,
    Obstacle,
    Plane,
    Points,
    Shape,
    Sphere,
    Surface,
    TriangleMesh,
    WorldShape,
)
from rbdyn_ros.description.parts.poses import rotate
from rbdyn_ros.description.parts.spanning import span
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.model.tree.lumping import Placement
from rbdyn_ros.model.tree.rotation import quat_to_mat

Frames = Mapping[str, Placement]
Part = Geometry | Obstacle

# corners at each end of a cylinder; contact with a plane does not use them
END_CORNERS = 12

#: For a hull with more corners, the farthest corner is searched along a graph of its edges.
MANY_CORNERS = 40

#: geom_frameid of an obstacle.
NO_LINK = -1

#: geom_robotid of obstacles, of free objects, and of a robot that is not a part of a scene.
NO_ROBOT = -1

_ENDS = (-1.0, 1.0)


class GeomType(IntEnum):
    """Type of a geometry, with MuJoCo's numbers; a TRIMESH need not be convex."""

    PLANE = 0
    HFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    CYLINDER = 5
    BOX = 6
    MESH = 7
    TRIMESH = 8


#: Types of terrain: obstacles of many triangles.
TERRAIN = (GeomType.HFIELD, GeomType.TRIMESH)


#: The GeomType of each class of shapes.
GEOM_TYPES = {
    Plane: GeomType.PLANE,
    HeightField: GeomType.HFIELD,
    Sphere: GeomType.SPHERE,
    Capsule: GeomType.CAPSULE,
    Cylinder: GeomType.CYLINDER,
    Box: GeomType.BOX,
    Points: GeomType.MESH,
    TriangleMesh: GeomType.TRIMESH,
}


@dataclass(frozen=True, slots=True)
class _Placed:
    """A geometry in its body: its link and robot, its frame, and its corners in this frame."""

    part: Part
    link: int
    robot: int
    place: Placement
    corners: Array
    neighbours: list[list[int]]

    @property
    def reach(self) -> float:
        """Radius of the bounding sphere about the centre, or 0 for a plane."""
        shape = self.part.shape
        if isinstance(shape, TriangleMesh):
            return float(np.linalg.norm(shape.vertices, axis=1).max())
        x, y, z = size_of(shape)
        kind = GEOM_TYPES[type(self.part.shape)]
        if kind == GeomType.MESH:
            return float(np.linalg.norm(self.corners, axis=1).max())
        if kind == GeomType.CAPSULE:
            return x + y
        return float(np.linalg.norm((x, y, z)))


def geoms(description: Description, frames: Frames) -> Arrays:
    """Return the primary fields geom_*, vert_*, edge_vert and exclude_geom.

    geom_mass0 is computed in loading/.

    Args:
        description: a description that has passed description/checks.
        frames: body and placement of every link.
    """
    numbers = {link: n for n, link in enumerate(frames)}
    robots = _robots(description)
    placed = [_placed(part, frames, numbers, robots) for part in _parts(description, frames)]
    filters = [one.part.filter for one in placed]
    neighbours = [beside for one in placed for beside in one.neighbours]
    return {
        "geom_bodyid": np.array([one.place.body for one in placed], np.int64),
        "geom_frameid": np.array([one.link for one in placed], np.int64),
        "geom_robotid": np.array([one.robot for one in placed], np.int64),
        "geom_type": np.array([GEOM_TYPES[type(one.part.shape)] for one in placed], np.int64),
        "geom_contype": np.array([masks.contype for masks in filters], np.int64),
        "geom_conaffinity": np.array([masks.conaffinity for masks in filters], np.int64),
        "geom_pos": rows([one.place.pos for one in placed], 3),
        "geom_mat": rows([one.place.mat.ravel() for one in placed], 9),
        "geom_size": rows([size_of(one.part.shape) for one in placed], 3),
        "geom_rbound": np.array([one.reach for one in placed]),
        "geom_vertnum": np.array([len(one.corners) for one in placed], np.int64),
        "vert_pos": np.concatenate([np.zeros((0, 3)), *(one.corners for one in placed)]),
        "vert_edgenum": np.array([len(beside) for beside in neighbours], np.int64),
        "edge_vert": np.array([corner for beside in neighbours for corner in beside], np.int64),
        **_surfaces([_surface(one.part) for one in placed]),
        "geom_velocity": rows([_velocity(one.part) for one in placed], 3),
        "geom_mass0": np.zeros(len(placed)),
        "exclude_geom": _excluded(description, [one.part for one in placed]),
    }


def geom_names(description: Description, frames: Frames) -> list[str]:
    """Return geom_names; a name that is already used gets a number."""
    names = dict[str, None]()
    for part in _parts(description, frames):
        name, count = part.name, 0
        while name in names:
            count += 1
            name = f"{part.name}_{count}"
        names[name] = None
    return list(names)


def _parts(description: Description, frames: Frames) -> list[Part]:
    moving = [part for part in description.geometries if frames[part.link].body > 0]
    fixed = [part for part in description.geometries if frames[part.link].body == 0]
    return [*moving, *fixed, *description.obstacles]


def _robots(description: Description) -> dict[str, int]:
    """Return the number of each link's robot in `description.robots`, or NO_ROBOT."""
    numbers = {root: k for k, root in enumerate(description.robots)}
    spanning = span(description)
    found = {spanning.base: numbers.get(spanning.base, NO_ROBOT)}
    for link, above in spanning.parents().items():
        found[link] = numbers.get(link, found[above])
    return found


def _placed(
    part: Part, frames: Frames, numbers: Mapping[str, int], robots: Mapping[str, int]
) -> _Placed:
    if isinstance(part, Obstacle):
        link, robot, origin = NO_LINK, NO_ROBOT, part.origin
        place = Placement(0, np.array(origin.pos, np.float64), quat_to_mat(origin.quat))
    else:
        link, robot = numbers[part.link], robots[part.link]
        place = frames[part.link].then(part.origin)
    corners = _corners(part.shape)
    neighbours: list[list[int]] = [[] for _ in corners]
    if not isinstance(part.shape, Points):
        return _Placed(part, link, robot, place, corners, neighbours)
    if len(corners) > MANY_CORNERS:
        corners, neighbours = hull_with_edges(corners)
    centre = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    at = Placement(place.body, place.pos + place.mat @ centre, place.mat)
    return _Placed(part, link, robot, at, corners - centre, neighbours)


def _corners(shape: Shape | WorldShape) -> Array:
    """Return the contact points, or the centres of contact spheres, in the shape's frame."""
    if isinstance(shape, Sphere):
        return np.zeros((1, 3))
    if isinstance(shape, Capsule):
        return np.array([(0.0, 0.0, -0.5 * shape.length), (0.0, 0.0, 0.5 * shape.length)])
    if isinstance(shape, Box):
        signs: Array = np.array([(x, y, z) for x in _ENDS for y in _ENDS for z in _ENDS])
        signs *= 0.5 * np.array(shape.size)
        return signs
    if isinstance(shape, Cylinder):
        angle = np.arange(END_CORNERS) * (2.0 * math.pi / END_CORNERS)
        x, y = shape.radius * np.cos(angle), shape.radius * np.sin(angle)
        return np.concatenate(
            [
                np.column_stack([x, y, np.full(END_CORNERS, end * 0.5 * shape.length)])
                for end in _ENDS
            ]
        )
    points = shape.points if isinstance(shape, Points) else ()
    return np.array(points, np.float64).reshape(-1, 3)


def size_of(shape: Shape | WorldShape) -> tuple[float, float, float]:
    """Return the sizes of a shape as MuJoCo's geom_size does [m]; unused sizes are 0."""
    if isinstance(shape, Box):
        x, y, z = shape.size
        return x / 2, y / 2, z / 2
    if isinstance(shape, HeightField):
        return shape.size[0] / 2, shape.size[1] / 2, 0.0
    if isinstance(shape, Cylinder | Capsule):
        return shape.radius, shape.length / 2, 0.0
    return (shape.radius, 0.0, 0.0) if isinstance(shape, Sphere) else (0.0, 0.0, 0.0)


def _surface(part: Part) -> Surface:
    return Surface(friction=part.friction) if isinstance(part, Obstacle) else part.surface


def _surfaces(surfaces: list[Surface]) -> Arrays:
    return {
        "geom_friction": np.array([surface.friction for surface in surfaces]),
        "geom_restitution": np.array([surface.restitution for surface in surfaces]),
        "geom_torsional": np.array([surface.torsional for surface in surfaces]),
        "geom_limitsurface": np.array([int(s.limit_surface) for s in surfaces], np.int64),
        "geom_rolling": np.array([surface.rolling for surface in surfaces]),
        "geom_viscosity": np.array([_given(surface.viscosity) for surface in surfaces]),
        "geom_solref": rows([(s.time_constant, s.damping_ratio) for s in surfaces], 2),
        "geom_stiffness": np.array([surface.stiffness or 0.0 for surface in surfaces]),
        "geom_damping": np.array([_given(surface.damping) for surface in surfaces]),
    }


def _velocity(part: Part) -> tuple[float, float, float]:
    if isinstance(part, Obstacle):
        x, y, z = rotate(part.origin.quat, part.velocity)
        return x, y, z
    return 0.0, 0.0, 0.0


def _given(number: float | None) -> float:
    return -1.0 if number is None else number


def _excluded(description: Description, parts: list[Part]) -> Ints:
    """Return the pairs of geometries in `description.exclusions`, (n, 2)."""
    by_link: dict[str, set[int]] = {}
    by_name: dict[str, set[int]] = {}
    for g, part in enumerate(parts):
        by_name.setdefault(part.name, set()).add(g)
        if isinstance(part, Geometry):
            by_link.setdefault(part.link, set()).add(g)

    def numbers(name: str, links: bool) -> set[int]:
        own = by_link.get(name, set())
        return own if links else own | by_name.get(name, set())

    pairs = {
        (min(g, h), max(g, h))
        for one in description.exclusions
        for g in numbers(one.first, one.links)
        for h in numbers(one.second, one.links)
        if g != h
    }
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def rows(values: list[Any], width: int) -> Array:
    """Return rows of numbers as an array (n, width), even for n = 0."""
    return np.array(values, np.float64).reshape(-1, width)
