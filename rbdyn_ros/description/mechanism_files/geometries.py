"""Read the geometries, obstacles and floor of a mechanism file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rbdyn_ros.description.mechanism_files.forms import AT, Form
from rbdyn_ros.description.mechanism_files.height_fields import read_height_field
from rbdyn_ros.description.mechanism_files.yaml_text import Node, YamlTable
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
from rbdyn_ros.description.parts.poses import Pose, Vec3
from rbdyn_ros.errors import quote

#: The key of a surface that is true or false; the others are numbers.
LIMIT_SURFACE = "limit_surface"
SURFACE = (
    *("friction", "time_constant", "damping_ratio", "stiffness", "damping", "viscosity"),
    *("restitution", "torsional", "rolling", LIMIT_SURFACE),
)
#: The keys of shapes.
SHAPES = ("box", "sphere", "cylinder", "capsule", "points", "mesh")
WORLD_SHAPES = ("plane", "sphere", "box", "height_field")
#: The other keys of an obstacle.
OBSTACLE = ("friction", "filter", "velocity")
#: The keys of each shape.
SIZES = {
    "plane": (),
    "box": ("size",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
}


def read_geometries(section: YamlTable, meshes: Meshes, form: Form) -> list[Geometry]:
    """Return the geometries of the section."""
    geometries = []
    for name, node in section.nodes.items():
        owner = f"geometry {quote(name)}"
        allowed = ("link", *SHAPES, *AT, *SURFACE, "filter")
        table = form.table(node, "geometry", owner, allowed, ("link",))
        if table is None:
            form.audit.partial = True
            continue
        link = form.name(table.nodes["link"], "link", owner)
        shape, origin = read_shape(table, owner, meshes, form), form.pose(table, owner, Pose())
        surface, masks = read_surface(table, owner, form), read_filter(table, owner, form)
        if link is None or shape is None or origin is None or surface is None or masks is None:
            continue
        line = section.lines[name]
        geometries.append(Geometry(name, link, shape, origin, surface, line, masks))
    return geometries


def read_obstacles(section: YamlTable, folder: Path | None, form: Form) -> list[Obstacle]:
    """Return the obstacles of the section; files are found from a folder."""
    obstacles = []
    for name, node in section.nodes.items():
        owner = f"obstacle {quote(name)}"
        table = form.table(node, "obstacle", owner, (*WORLD_SHAPES, *AT, *OBSTACLE))
        if table is None:
            continue
        shape, origin = _world_shape(table, owner, folder, form), form.pose(table, owner, Pose())
        friction, masks = _friction(table, owner, form), read_filter(table, owner, form)
        moves: Vec3 | None = (0.0, 0.0, 0.0)
        if "velocity" in table.nodes:
            moves = form.vector(table.nodes["velocity"], "velocity", owner)
        if shape is None or origin is None or friction is None or masks is None or moves is None:
            continue
        line = section.lines[name]
        obstacles.append(Obstacle(name, shape, origin, friction, line, masks, moves))
    return obstacles


def read_floor(node: Node, form: Form) -> list[Obstacle]:
    """Return the floor of the section."""
    owner = "the floor"
    table = form.table(node, "floor", owner, ("height", "friction"))
    if table is None:
        return []
    height: float | None = 0.0
    if "height" in table.nodes:
        height = form.number(table.nodes["height"], "height", owner)
    friction = _friction(table, owner, form)
    if height is None or friction is None:
        return []
    return [Obstacle(FLOOR.name, Plane(), Pose((0.0, 0.0, height)), friction, table.line)]


def _friction(table: YamlTable, owner: str, form: Form) -> float | None:
    if "friction" not in table.nodes:
        return math.inf
    return form.number(table.nodes["friction"], "friction", owner, infinite=True)


def read_surface(table: YamlTable, owner: str, form: Form) -> Surface | None:
    """Return the surface of the keys SURFACE in a table; None after an error."""
    given: dict[str, Any] = {
        key: (form.flag if key == LIMIT_SURFACE else form.number)(
            table.nodes[key], key.replace("_", " "), owner
        )
        for key in SURFACE
        if key in table.nodes
    }
    known = {key: value for key, value in given.items() if value is not None}
    return Surface(**known) if len(known) == len(given) else None


def read_filter(table: YamlTable, owner: str, form: Form) -> Filter | None:
    """Return the filter of the key `filter` in a table, by default all; None after an error."""
    if "filter" not in table.nodes:
        return Filter()
    return filter_of(table.nodes["filter"], owner, form)


def filter_of(node: Node, owner: str, form: Form) -> Filter | None:
    """Return the filter that a table of contype and conaffinity describes; None after an error."""
    table = form.table(node, "filter", owner, ("contype", "conaffinity"))
    if table is None:
        return None
    given = {key: form.whole(below, key, owner) for key, below in table.nodes.items()}
    known = {key: value for key, value in given.items() if value is not None}
    return Filter(**known) if len(known) == len(given) else None


def _one_of(kinds: tuple[str, ...], table: YamlTable, owner: str, form: Form) -> str | None:
    """Return the key of the only shape in a table."""
    given = [key for key in table.nodes if key in kinds]
    if len(given) == 1:
        return given[0]
    allowed = ", ".join(kinds)
    found = " and ".join(given) or "none"
    message = f"has {found} of the shapes {allowed}; it must have exactly one"
    form.audit.error("bad-shape", owner, table.line, message, found=found, allowed=allowed)
    return None


def read_shape(table: YamlTable, owner: str, meshes: Meshes, form: Form) -> Shape | None:
    """Return the one shape in a table, a key of SHAPES; None after an error."""
    kind = _one_of(SHAPES, table, owner, form)
    if kind is None:
        return None
    node = table.nodes[kind]
    if kind == "points":
        points = form.items(node, "points", "point", owner, form.vector)
        return None if points is None else Points(points)
    if kind == "mesh":
        return _mesh(node, owner, meshes, form)
    sizes = _sizes(kind, node, owner, form)
    if sizes is None:
        return None
    maker = {"box": Box, "sphere": Sphere, "cylinder": Cylinder, "capsule": Capsule}[kind]
    shape: Shape = maker(**sizes)
    return shape


def _world_shape(
    table: YamlTable, owner: str, folder: Path | None, form: Form
) -> WorldShape | None:
    kind = _one_of(WORLD_SHAPES, table, owner, form)
    if kind is None:
        return None
    if kind == "height_field":
        return read_height_field(table.nodes[kind], owner, folder, form)
    sizes = _sizes(kind, table.nodes[kind], owner, form)
    if sizes is None:
        return None
    maker = {"plane": Plane, "sphere": Sphere, "box": Box}[kind]
    shape: WorldShape = maker(**sizes)
    return shape


def _sizes(kind: str, node: Node, owner: str, form: Form) -> dict[str, object] | None:
    table = form.table(node, kind, owner, SIZES[kind], SIZES[kind])
    if table is None:
        return None
    sizes: dict[str, object] = {
        key: form.vector(below, key, owner)
        if key == "size"
        else form.number(below, f"{key} of the {kind}", owner)
        for key, below in table.nodes.items()
    }
    return None if None in sizes.values() else sizes


def read_convex_mesh(
    node: Node, owner: str, meshes: Meshes, form: Form
) -> tuple[Points, ...] | None:
    """Return the convex parts of a mesh; None after an error."""
    file = _mesh_file(node, owner, form)
    return None if file is None else meshes.read_convex(*file, owner, node.line, form.audit)


def _mesh(node: Node, owner: str, meshes: Meshes, form: Form) -> Points | None:
    file = _mesh_file(node, owner, form)
    return None if file is None else meshes.read(*file, owner, node.line, form.audit)


def _mesh_file(node: Node, owner: str, form: Form) -> tuple[str, Vec3] | None:
    """Return the file of a mesh and its scale; None after an error."""
    table = form.table(node, "mesh", owner, ("file", "scale"), ("file",))
    if table is None:
        return None
    name = form.name(table.nodes["file"], "file", owner)
    scale: Vec3 | None = (1.0, 1.0, 1.0)
    if "scale" in table.nodes:
        scale = form.vector(table.nodes["scale"], "scale", owner)
    if name is None or scale is None:
        return None
    return name, scale
