"""Geometries of moving bodies and of the world as arrays: frames, sizes, corners."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Arrays
from rbdyn_ros.description.geometries import (
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
    WorldShape,
)
from rbdyn_ros.description.poses import rotate
from rbdyn_ros.description.types import Description
from rbdyn_ros.model.lumping import Placement
from rbdyn_ros.model.rotation import quat_to_mat

Frames = Mapping[str, Placement]

RIM = 12  # corners of each end of a cylinder (contact with a plane is exact)
OF_BOX = 8  # most corners that an obstacle adds to a geometry's corners
OF_FIELD = 32  # most contacts of a geometry and a height field that count
OF_PAIR = 8  # most contacts of two geometries that push each other
MOST_LISTED = 1000  # contacts of a few geometries
OF_GEOM = 16  # contacts of each of many geometries

_ENDS = (-1.0, 1.0)


class GeomType(IntEnum):
    """Type of a geometry, with MuJoCo's numbers."""

    PLANE = 0
    HFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    CYLINDER = 5
    BOX = 6
    MESH = 7


#: Largest matrix, in entries of its triangle, of a Model whose moving bodies push each other.
MAX_SKYLINE = 8_000_000

#: The type of each shape.
GEOM_TYPES = {
    Plane: GeomType.PLANE,
    HeightField: GeomType.HFIELD,
    Sphere: GeomType.SPHERE,
    Capsule: GeomType.CAPSULE,
    Cylinder: GeomType.CYLINDER,
    Box: GeomType.BOX,
    Points: GeomType.MESH,
}


def geoms(description: Description, frames: Frames, pushing: bool = False) -> Arrays:
    """Return the arrays geom_*, vert_* and obstacle_*; loading/ computes geom_mass0.

    Args:
        description: a description that has passed description/checks.
        frames: body and placement of every link.
        pushing: whether bodies push each other: then links of the world count, too.
    """
    moving = _in_contact(description, frames, pushing)
    places = [frames[geom.link].then(geom.origin) for geom in moving]
    return {
        "geom_bodyid": np.array([place.body for place in places], np.int64),
        "geom_type": np.array([GEOM_TYPES[type(geom.shape)] for geom in moving], np.int64),
        "geom_mat": rows([place.mat.ravel() for place in places], 9),
        "geom_size": rows([size_of(geom.shape) for geom in moving], 3),
        **_corners_in_bodies(moving, places),
        **_surfaces([geom.surface for geom in moving]),
        "geom_mass0": np.zeros(len(moving)),
        **_obstacles(description.obstacles),
    }


def _corners_in_bodies(moving: list[Geometry], places: list[Placement]) -> Arrays:
    """Return centres, bounds and corners."""
    corners = [
        place.pos + _corners(geom.shape) @ place.mat.T
        for geom, place in zip(moving, places, strict=True)
    ]
    centres = [
        0.5 * (points.min(axis=0) + points.max(axis=0))
        if isinstance(geom.shape, Points)
        else place.pos
        for geom, place, points in zip(moving, places, corners, strict=True)
    ]
    radius = np.array([_radius(geom.shape) for geom in moving])
    reach = [
        np.linalg.norm(points - centre, axis=1).max()
        for points, centre in zip(corners, centres, strict=True)
    ]
    number = np.array([len(points) for points in corners], np.int64)
    return {
        "geom_pos": rows(centres, 3),
        "geom_radius": radius,
        "geom_rbound": np.array(reach) + radius,
        "geom_vertnum": number,
        "vert_pos": np.concatenate([np.zeros((0, 3)), *corners]),
    }


def _surfaces(surfaces: list[Surface]) -> Arrays:
    return {
        "geom_friction": np.array([surface.friction for surface in surfaces]),
        "geom_restitution": np.array([surface.restitution for surface in surfaces]),
        "geom_torsional": np.array([surface.torsional for surface in surfaces]),
        "geom_rolling": np.array([surface.rolling for surface in surfaces]),
        "geom_viscosity": np.array([_given(surface.viscosity) for surface in surfaces]),
        "geom_solref": rows([(s.time_constant, s.damping_ratio) for s in surfaces], 2),
        "geom_stiffness": np.array([surface.stiffness or 0.0 for surface in surfaces]),
        "geom_damping": np.array([_given(surface.damping) for surface in surfaces]),
    }


def geom_names(
    description: Description, frames: Frames, pushing: bool = False
) -> dict[str, list[str]]:
    """Return geom_names and obstacle_names; arguments as for geoms."""
    return {
        "geom_names": [geom.name for geom in _in_contact(description, frames, pushing)],
        "obstacle_names": [obstacle.name for obstacle in description.obstacles],
    }


def contact_capacity(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return the number of contacts that a Data can list."""
    pushing = len(arrays["push_geom"])
    obstacles, fields = len(arrays["obstacle_type"]), len(arrays["field_nrow"])
    corners, moving = arrays["geom_vertnum"], np.count_nonzero(arrays["geom_bodyid"])
    touching = (corners + OF_BOX).sum() * obstacles + OF_FIELD * moving * fields
    most = max(MOST_LISTED, OF_GEOM * len(arrays["geom_type"])) if pushing else MOST_LISTED
    return int(min(touching + OF_PAIR * pushing, most))


def moving_pairs(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return the number of pairs of geometries on two moving bodies that push each other."""
    return int((arrays["geom_bodyid_all"][arrays["push_geom"]] > 0).all(axis=1).sum())


def skyline_entries(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return the entries of the lower triangle that contact between moving bodies needs, or 0.

    It is 0 also where that would be too large, or M is: too_large_matrix refuses the Model.
    """
    nv = len(arrays["dof_bodyid"])
    entries = nv * (nv + 1) // 2
    fits = len(arrays["M_colind"]) > 0 and entries <= MAX_SKYLINE
    return entries if fits and moving_pairs(arrays) > 0 else 0


def _in_contact(description: Description, frames: Frames, pushing: bool) -> list[Geometry]:
    """Return the geometries in contact, those of moving bodies first."""
    moving = [geom for geom in description.geometries if frames[geom.link].body > 0]
    if pushing:
        return moving + [geom for geom in description.geometries if frames[geom.link].body == 0]
    return moving if description.obstacles else []


def _obstacles(obstacles: tuple[Obstacle, ...]) -> Arrays:
    mats = [quat_to_mat(obstacle.origin.quat).ravel() for obstacle in obstacles]
    return {
        "obstacle_type": np.array([GEOM_TYPES[type(one.shape)] for one in obstacles], np.int64),
        "obstacle_pos": rows([obstacle.origin.pos for obstacle in obstacles], 3),
        "obstacle_mat": rows(mats, 9),
        "obstacle_size": rows([size_of(obstacle.shape) for obstacle in obstacles], 3),
        "obstacle_friction": np.array([obstacle.friction for obstacle in obstacles]),
        "obstacle_velocity": rows([rotate(one.origin.quat, one.velocity) for one in obstacles], 3),
    }


def _given(number: float | None) -> float:
    return -1.0 if number is None else number


def rows(values: list[Any], width: int) -> Array:
    """Return rows of numbers as an array, also if there are none."""
    return np.array(values, np.float64).reshape(-1, width)


def size_of(shape: Shape | WorldShape) -> tuple[float, float, float]:
    """Return MuJoCo's geom_size."""
    if isinstance(shape, Box):
        x, y, z = shape.size
        return x / 2, y / 2, z / 2
    if isinstance(shape, HeightField):
        return shape.size[0] / 2, shape.size[1] / 2, 0.0
    if isinstance(shape, Cylinder | Capsule):
        return shape.radius, shape.length / 2, 0.0
    return (shape.radius, 0.0, 0.0) if isinstance(shape, Sphere) else (0.0, 0.0, 0.0)


def _radius(shape: Shape) -> float:
    return shape.radius if isinstance(shape, Sphere | Capsule) else 0.0


def _corners(shape: Shape) -> Array:
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
        angle = np.arange(RIM) * (2.0 * math.pi / RIM)
        x, y = shape.radius * np.cos(angle), shape.radius * np.sin(angle)
        return np.concatenate(
            [np.column_stack([x, y, np.full(RIM, end * 0.5 * shape.length)]) for end in _ENDS]
        )
    return np.array(shape.points, np.float64).reshape(-1, 3)
