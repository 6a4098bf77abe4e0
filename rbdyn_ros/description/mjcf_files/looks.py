# SPDX-License-Identifier: Apache-2.0
"""The visible geoms and the lights of an MJCF."""

import math
from collections.abc import Iterator
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.looks import Look, MeshName
from rbdyn_ros.description.mjcf_files.bodies import read_tree
from rbdyn_ros.description.mjcf_files.defaults import Classes
from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument, parsed
from rbdyn_ros.description.mjcf_files.geoms import Geom
from rbdyn_ros.description.mjcf_files.meshes import MeshShapes, read_meshes
from rbdyn_ros.description.mjcf_files.settings import read_settings
from rbdyn_ros.description.parts.geometries import HeightField, Plane, Shape, TriangleMesh
from rbdyn_ros.description.parts.lights import DIRECTIONAL, KINDS, SPOT, LinkLight, clipped, unit
from rbdyn_ros.description.parts.poses import Pose, compose, rotate
from rbdyn_ros.errors import quote

#: The viewer of MuJoCo shows the geoms of the groups below this group.
SHOWN = 3
Rgba = tuple[float, float, float, float]


def read_looks(
    data: bytes | str, source: str, folder: Path | None, files: MeshFiles, audit: Audit
) -> Iterator[Look | LinkLight]:
    """Yield visible geoms and lights; planes are obstacles, which are always shown.

    Args:
        data: the document.
        source: its name, for messages.
        folder: folder of the included files; None: the document is a text.
        files: finds the meshes.
        audit: receives findings.

    Raises:
        DescriptionError: the document is not MJCF.
    """
    document = parsed(data, source, folder, audit)
    classes, settings = Classes(document), read_settings(document)
    tree = read_tree(document, classes, settings, read_meshes(document, classes, settings))
    colors = dict(_materials(document, classes))
    meshes = MeshShapes(files, decompose=False)
    for body in tree.bodies.values():
        for item, frame in body.lights:
            light = read_light(item, body.name, frame)
            if light is not None:
                yield light
        for geom in body.geoms:
            shape, at = _shape(geom, meshes)
            if shape is not None:
                color = _color(geom.item) or colors.get(geom.item.text("material"))
                kinds = {"visual": geom.group < SHOWN, "collision": geom.touches}
                drawn = tuple(kind for kind, is_drawn in kinds.items() if is_drawn)
                yield Look(drawn, body.name, shape, at, files, geom.item.subject, color)


def _shape(geom: Geom, meshes: MeshShapes) -> tuple[Shape | MeshName | None, Pose]:
    """Return the shape or the mesh of a geom, and its pose; None if no shape is to be drawn."""
    if geom.mesh is not None and geom.kind in ("mesh", "sdf") and geom.mesh.file:
        return MeshName(geom.mesh.file, geom.mesh.scale), geom.placed()
    resolved = geom.resolved(meshes)
    shapes = () if resolved is None else resolved.shape(meshes)
    flat = Plane | HeightField | TriangleMesh  # these are obstacles, which are always shown
    shape = shapes[0] if shapes and not isinstance(shapes[0], flat) else None
    return shape, geom.placed() if resolved is None else resolved.placed()


def _materials(document: MjcfDocument, classes: Classes) -> Iterator[tuple[str, Rgba | None]]:
    for element in document.sections("asset"):
        if element.tag == "material":
            name = element.get("name", "")
            yield name, _color(classes.item(element, f"material {quote(name)}"))


def _color(item: Item) -> Rgba | None:
    found = [min(max(x, 0.0), 1.0) for x in item.numbers("rgba", 4)]
    return (found[0], found[1], found[2], found[3]) if found else None


_TRUE = "true"
SHORTEST = 1e-3  # shortest direction of a light [m]
#: The attributes that are read, or that change nothing here.
_READ = frozenset(
    (
        *("name", "class", "type", "directional", "active", "pos", "dir", "attenuation"),
        *("cutoff", "diffuse", "castshadow", "range", "mode"),
        *("ambient", "specular", "exponent", "bulbradius", "texture"),
    )
)


def read_light(item: Item, link: str, frame: Pose) -> LinkLight | None:
    """Return a light, or None if it is off, or of a type that is not drawn.

    Args:
        item: the element.
        link: name of its body.
        frame: frame of the element in the body.
    """
    usual = DIRECTIONAL if item.text("directional") == _TRUE else SPOT
    kind = item.text("type", usual)
    if kind not in KINDS:
        item.warn("light", f"a light of the type {kind!r} is not drawn", found=kind)
        return None
    if item.text("active", _TRUE) != _TRUE:
        return None
    _warn(item)
    x, y, z = item.filled("pos", (0.0, 0.0, 0.0))
    dx, dy, dz = item.filled("dir", (0.0, 0.0, -1.0))
    a, b, c = (max(number, 0.0) for number in item.filled("attenuation", (1.0, 0.0, 0.0)))
    is_far = kind == DIRECTIONAL
    reach = item.number("range", 10.0) if item.given("range") and not is_far else math.inf
    outer = math.radians(min(max(item.number("cutoff", 45.0), 1.0), 90.0))
    return LinkLight(
        kind,
        link,
        compose(frame, Pose((x, y, z))).pos,
        rotate(frame.quat, unit((dx, dy, dz))),
        clipped(tuple(item.filled("diffuse", (0.7, 0.7, 0.7)))),
        max(reach, SHORTEST),
        (1.0, 0.0, 0.0) if is_far else (a, b, c),
        (0.8 * outer, outer),
        item.text("castshadow", _TRUE) == _TRUE,
    )


def _warn(item: Item) -> None:
    """Warn of properties with which a light would shine differently in MuJoCo."""
    mode = item.text("mode", "fixed")
    if mode not in ("fixed", "track"):
        item.warn("light", f"the mode {mode!r} is not used: the light is fixed", found=mode)
    given = sorted({*item.element.attrib, *item.defaults} - _READ)
    if given:
        item.warn("light", f"{', '.join(given)[:200]}: not used", found=given[0][:100])
