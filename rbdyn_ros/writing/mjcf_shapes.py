# SPDX-License-Identifier: Apache-2.0
"""The geoms of MJCF: visible shapes, contact shapes, and the obstacles of the world."""

import math
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

import numpy as np

from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.appearance.shapes import AnyShape, LinkShape, MeshFile, Placeholder
from rbdyn_ros.description.meshes.hulls import NoHullError, hull_moments
from rbdyn_ros.description.parts.geometries import (
    Box,
    Capsule,
    Filter,
    HeightField,
    Obstacle,
    Plane,
    Points,
    Sphere,
    TriangleMesh,
)
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose
from rbdyn_ros.errors import quote
from rbdyn_ros.writing.left_out import NO_MESH, LeftOut
from rbdyn_ros.writing.meshes import MeshFolder
from rbdyn_ros.writing.robot import WrittenRobot
from rbdyn_ros.writing.xml import words

#: Groups of geoms, as in the models of MuJoCo Menagerie.
VISUAL, CONTACT = "2", "3"
#: Files that MuJoCo reads.
MESHES = (".obj", ".stl")
#: The reason that a hull is left out.
TOO_FEW = "MuJoCo accepts no hull without a volume"
#: Thickness of the solid below the lowest height of a field [m].
BELOW = 1.0


def place(element: ET.Element, pose: Pose) -> None:
    """Set the position and the rotation of an element, unless they are zero."""
    if any(pose.pos):
        element.set("pos", words(*pose.pos))
    if pose.quat != IN_PLACE.quat:
        element.set("quat", words(*pose.quat))


def add_visuals(
    body: ET.Element,
    assets: ET.Element,
    shapes: Iterable[LinkShape],
    left: LeftOut,
    meshes: MeshFolder,
) -> None:
    """Add visible shapes, which make no contact."""
    for shape in shapes:
        given, owner = shape.shape, f"link {quote(shape.link)}"
        geom = ET.Element("geom", group=VISUAL, contype="0", conaffinity="0")
        if isinstance(given, MeshFile):
            file = meshes.file_of("", given)
            geom.set("type", "mesh")
            geom.set("mesh", "" if file is None else _mesh_asset(assets, file, given))
        if isinstance(given, Placeholder) or geom.get("mesh") == "":
            left.add(owner, "a visible shape", NO_MESH)
            continue
        if not isinstance(given, MeshFile) and not _shape(
            geom, assets, f"{shape.link}_visual", given
        ):
            left.add(owner, "a visible shape", TOO_FEW)
            continue
        body.append(geom)
        left.texture(shape)
        place(geom, shape.origin)
        if shape.color is not None:
            geom.set("rgba", words(*shape.color))


def _mesh_asset(assets: ET.Element, file: str, mesh: MeshFile) -> str:
    """Return the asset of a mesh file; add it if it does not exist yet."""
    scale = words(*mesh.scale)
    for known in assets.iter("mesh"):
        if known.get("file") == file and known.get("scale") == scale:
            return known.attrib["name"]
    name = f"visual_{len(assets)}"
    # a visible mesh may have holes, so MuJoCo must not compute its volume
    ET.SubElement(assets, "mesh", name=name, file=file, scale=scale, inertia="shell")
    return name


def add_geometries(
    body: ET.Element, assets: ET.Element, robot: WrittenRobot, link: str, left: LeftOut
) -> None:
    """Add the contact shapes of a link."""
    touching = robot.description.self_collision
    for geometry in robot.geometries(link):
        surface = geometry.surface
        geom = ET.Element("geom", name=geometry.name, group=CONTACT)
        if not _shape(geom, assets, geometry.name, geometry.shape):
            left.add(f"geometry {quote(geometry.name)}", "it", TOO_FEW)
            continue
        body.append(geom)
        place(geom, geometry.origin)
        _masks(geom, geometry.filter, touching)
        left.surface(f"geometry {quote(geometry.name)}", surface, _SURFACE)
        slopes = (surface.friction, surface.torsional, surface.rolling)
        geom.set("friction", words(*slopes))
        geom.set("condim", "6" if surface.rolling else "4" if surface.torsional else "3")


_SURFACE = ("friction", "torsional", "rolling")


def _masks(geom: ET.Element, masks: Filter, touching: bool = True) -> None:
    """Set contype and conaffinity of a geom; without `touching` the conaffinity is 0."""
    affinity = masks.conaffinity if touching else 0
    for name, value in (("contype", masks.contype), ("conaffinity", affinity)):
        if value != 1:
            geom.set(name, str(value))


def add_obstacles(
    world: ET.Element, assets: ET.Element, obstacles: Sequence[Obstacle], left: LeftOut
) -> None:
    """Add the obstacles as geoms of the world."""
    for obstacle in obstacles:
        owner = f"obstacle {quote(obstacle.name)}"
        geom = ET.Element("geom", name=obstacle.name)
        at = obstacle.origin
        if isinstance(obstacle.shape, Plane):
            geom.set("type", "plane")
            geom.set("size", "0 0 1")
        elif isinstance(obstacle.shape, HeightField):
            at = _height_field(geom, assets, obstacle.name, obstacle.shape, at, left)
        elif isinstance(obstacle.shape, TriangleMesh):
            _triangles(geom, assets, obstacle.name, obstacle.shape)
        elif not _shape(geom, assets, obstacle.name, obstacle.shape):
            left.add(owner, "it", TOO_FEW)
            continue
        world.append(geom)
        place(geom, at)
        _masks(geom, obstacle.filter)
        if math.isfinite(obstacle.friction):
            geom.set("friction", words(obstacle.friction, 0.0, 0.0))
            geom.set("priority", "1")
            left.note(owner, "MuJoCo uses its friction, not the smaller one of both sides")
        else:  # MuJoCo uses the larger friction of the two geoms
            geom.set("friction", "0 0 0")
        if any(obstacle.velocity):
            left.add(owner, "the velocity of its surface")


def _height_field(
    geom: ET.Element, assets: ET.Element, name: str, shape: HeightField, at: Pose, left: LeftOut
) -> Pose:
    """Add the asset of a height field; return the pose of the plane at its lowest height."""
    heights = np.array(shape.heights)
    lowest, highest = float(heights.min()), float(heights.max())
    rows, columns = heights.shape
    asset = ET.SubElement(assets, "hfield", name=name, nrow=str(rows), ncol=str(columns))
    half = [0.5 * length for length in shape.size]
    asset.set("size", words(*half, max(highest - lowest, 1e-6), BELOW))
    # the first row of the file has the largest y
    asset.set("elevation", words(*heights[::-1].ravel().tolist()))
    geom.set("type", "hfield")
    geom.set("hfield", name)
    left.note(f"obstacle {quote(name)}", "MuJoCo keeps its heights as floats of 32 bits")
    up = Pose((0.0, 0.0, lowest))
    return compose(at, up)


def _triangles(geom: ET.Element, assets: ET.Element, name: str, shape: TriangleMesh) -> None:
    """Add the asset of a triangle mesh, which becomes a geom of type sdf in MuJoCo."""
    name = free_name(name, [mesh.get("name", "") for mesh in assets.iter("mesh")])
    asset = ET.SubElement(
        assets, "mesh", name=name, vertex=words(*shape.vertices.ravel().tolist())
    )
    asset.set("face", " ".join(map(str, shape.faces.ravel().tolist())))
    geom.set("type", "sdf")
    geom.set("mesh", name)


def _shape(geom: ET.Element, assets: ET.Element, name: str, shape: AnyShape) -> bool:
    """Set type and size of a geom; points become a mesh asset, and MuJoCo uses its hull.

    Return False for corners without a hull.
    """
    if isinstance(shape, Points):
        if not has_volume(shape):
            return False
        corners = [number for point in shape.points for number in point]
        name = free_name(name, [mesh.get("name", "") for mesh in assets.iter("mesh")])
        ET.SubElement(assets, "mesh", name=name, vertex=words(*corners))
        geom.set("type", "mesh")
        geom.set("mesh", name)
    elif isinstance(shape, Box):
        geom.set("type", "box")
        geom.set("size", words(*(0.5 * edge for edge in shape.size)))
    elif isinstance(shape, Sphere):
        geom.set("type", "sphere")
        geom.set("size", words(shape.radius))
    else:
        assert not isinstance(shape, MeshFile | Placeholder)
        geom.set("type", "capsule" if isinstance(shape, Capsule) else "cylinder")
        geom.set("size", words(shape.radius, 0.5 * shape.length))
    return True


def has_volume(shape: Points) -> bool:
    """Return whether the corners of a shape enclose a volume: they do not lie in a plane."""
    try:
        return hull_moments(np.array(shape.points))[0] > 0.0
    except NoHullError:
        return False
