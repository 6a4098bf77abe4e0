# SPDX-License-Identifier: Apache-2.0
"""The geometries, obstacles and floor of a mechanism file."""

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from rbdyn_ros.description.mechanism_files.height_fields import HEIGHT_FIELD, read_height_field
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.parts.geometries import (
    FLOOR,
    Box,
    Capsule,
    Cylinder,
    Filter,
    Geometry,
    Obstacle,
    Plane,
    Points,
    Shape,
    Sphere,
    Surface,
    WorldShape,
)
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.yaml_files.kinds import VECTOR, Flag, List, Name, Number, Owned, Whole
from rbdyn_ros.description.yaml_files.poses import AT, pose_of
from rbdyn_ros.description.yaml_files.tables import ByName, Given, Key, table

SURFACE = (
    Key("friction", Number(), "Coulomb coefficient; default 0.8"),
    Key("time_constant", Number(unit="s"), "decay time of a penetration; default: near-rigid"),
    Key("damping_ratio", Number(), "damping ratio of the contact spring; default 1"),
    Key("stiffness", Number(unit="N/m"), "contact stiffness, instead of `time_constant`"),
    Key("damping", Number(unit="N s/m"), "contact damping, instead of `time_constant`"),
    Key("viscosity", Number(unit="N s/m"), "viscous friction, instead of Coulomb friction"),
    Key("restitution", Number(), "speed after an impact / closing speed before it; default 0"),
    Key("torsional", Number(unit="m"), "largest torque about normal per normal force; default 0"),
    Key("rolling", Number(unit="m"), "largest torque across normal per normal force; default 0"),
    Key("limit_surface", Flag(), "an ellipsoid limits both sliding and spin; default false"),
)
FILTER = Key(
    "filter",
    table(
        "filter",
        Key("contype", Whole(), "bits of the groups to which the shape belongs; default 1"),
        Key("conaffinity", Whole(), "bits of the groups that the shape touches; default 1"),
        make=Filter,
    ),
    "which geometries the shape touches; default: all",
)


def _length(name: str) -> Key:
    return Key(name, Number(unit="m"), name, needed=True)


BOX = table("box", Key("size", VECTOR, "edges [m]", needed=True), make=Box)
SPHERE = table("sphere", _length("radius"), make=Sphere)
CYLINDER = table("cylinder", _length("radius"), _length("length"), make=Cylinder)
CAPSULE = table("capsule", _length("radius"), _length("length"), make=Capsule)
MESH = table(
    "mesh",
    Key("file", Name("a file"), "a mesh, of which the convex hull is used", needed=True),
    Key("scale", VECTOR, "factors along the axes", default=(1.0, 1.0, 1.0)),
)
SHAPES = (
    Key("box", BOX, "a box around the origin"),
    Key("sphere", SPHERE, "a sphere around the origin"),
    Key("cylinder", CYLINDER, "a cylinder along z, around the origin"),
    Key("capsule", CAPSULE, "a cylinder with half spheres at its ends"),
    Key("points", List(VECTOR, "point"), "corners of a convex shape [m]"),
    Key("mesh", MESH, "a .stl, .obj or .dae file"),
)
TRIANGLE_MESH = table(
    "triangle_mesh",
    Key("file", Name("a file"), "a mesh, of which all triangles are used", needed=True),
    Key("scale", VECTOR, "factors along the axes", default=(1.0, 1.0, 1.0)),
)
WORLD_SHAPES = (
    Key("plane", table("plane", make=Plane), "the plane z = 0; the side below it is solid"),
    *SHAPES,
    Key("height_field", HEIGHT_FIELD, "terrain: heights over a level rectangle"),
    Key("triangle_mesh", TRIANGLE_MESH, "a .stl, .obj or .dae file; it need not be convex"),
)
FRICTION = Key(
    "friction", Number(infinite=True), "friction; the smaller of two sides acts", default=math.inf
)


def names(keys: tuple[Key, ...]) -> tuple[str, ...]:
    """Return the names of keys."""
    return tuple(key.name for key in keys)


GEOMETRY = table(
    "geometry",
    Key("link", Name("the name of a link"), "the link that has the shape", needed=True),
    *SHAPES,
    *AT,
    *SURFACE,
    FILTER,
    one=names(SHAPES),
    code="bad-shape",
)
OBSTACLE = table(
    "obstacle",
    *WORLD_SHAPES,
    *AT,
    FRICTION,
    FILTER,
    Key("velocity", VECTOR, "velocity of a conveyor's surface [m/s]", default=(0.0, 0.0, 0.0)),
    one=names(WORLD_SHAPES),
    code="bad-shape",
)
GEOMETRIES = ByName(GEOMETRY, "geometry", "geometry", empty=True)
OBSTACLES = ByName(OBSTACLE, "obstacle", "obstacle", empty=True)
_HEIGHT = Key("height", Number(unit="m"), "height of the level plane", default=0.0)
FLOOR_TABLE = Owned(table("floor", _HEIGHT, FRICTION), "the floor")


def read_geometries(section: Given, meshes: Meshes) -> list[Geometry]:
    """Return the geometries of the section that have no errors."""
    geometries = []
    for name, line in section.lines.items():
        given = section.get(name)
        section.audit.partial |= given is None
        shape = shape_of(given, meshes) if given is not None and given.sound else None
        if given is not None and shape is not None:
            surface, masks = surface_of(given), given.get("filter", Filter())
            geometries.append(
                Geometry(name, given["link"], shape, pose_of(given), surface, line, masks)
            )
    return geometries


def read_obstacles(section: Given, folder: Path | None, meshes: Meshes) -> list[Obstacle]:
    """Return the obstacles of the section; height fields need the folder of the document."""
    obstacles = []
    for name, given in section.items():
        shape = _world_shape(given, folder, meshes) if given.sound else None
        if shape is not None:
            line, masks = section.lines[name], given.get("filter", Filter())
            at, friction, velocity = pose_of(given), given["friction"], given["velocity"]
            obstacles.append(Obstacle(name, shape, at, friction, line, masks, velocity))
    return obstacles


def read_floor(given: Given | None) -> list[Obstacle]:
    """Return the floor of a table in a list, which is empty without a floor or after an error."""
    if given is None or not given.sound:
        return []
    at = Pose((0.0, 0.0, given["height"]))
    return [Obstacle(FLOOR.name, Plane(), at, given["friction"], given.line)]


def surface_of(given: Mapping[str, Any]) -> Surface:
    """Return the surface of the keys SURFACE in a table."""
    return Surface(
        **{each.name: given[each.name] for each in fields(Surface) if each.name in given}
    )


def shape_of(given: Given, meshes: Meshes) -> Shape | None:
    """Return the one shape that a table gives, or None if the table has an error."""
    kind = next(name for name in names(SHAPES) if name in given)
    value: Any = given[kind]
    if kind == "points":
        return Points(value)
    if kind == "mesh":
        return meshes.read(value["file"], value["scale"], given.subject(value.line))
    shape: Shape = value
    return shape


def _world_shape(given: Given, folder: Path | None, meshes: Meshes) -> WorldShape | None:
    """Return the one shape that a table gives, or None if the table has an error."""
    if "plane" in given:
        return Plane()
    if "height_field" in given:
        return read_height_field(given["height_field"], folder)
    if "triangle_mesh" in given:
        value = given["triangle_mesh"]
        return meshes.read_concave(value["file"], value["scale"], given.subject(value.line))
    return shape_of(given, meshes)
