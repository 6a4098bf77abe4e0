# SPDX-License-Identifier: Apache-2.0
"""Read the shapes of an SDF: of collisions and of visuals."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from rbdyn_ros.description.mechanism_files import height_fields
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.hulls import ellipsoid
from rbdyn_ros.description.meshes.looks import MeshName
from rbdyn_ros.description.meshes.meshes import LEFT_OUT
from rbdyn_ros.description.parts.geometries import (
    Box,
    Capsule,
    Cylinder,
    HeightField,
    Plane,
    Points,
    Sphere,
    TriangleMesh,
)
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, Vec3, turn_of_z
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement
from rbdyn_ros.errors import listing, quote

#: Corners around the axis of a round shape that is replaced by its hull.
_AROUND = 12
#: The code of the note about a shape that its hull replaces.
REPLACED = "shape-replaced"


Solid = Box | Sphere | Cylinder | Capsule | Points | Plane | HeightField | TriangleMesh
Placed = tuple[Solid | MeshName, Pose]


def read_shape(part: SdfElement, fields: MeshFiles) -> Placed | None:
    """Return the shape of a <collision> or a <visual> in its frame; None if empty or wrong.

    Args:
        part: the element.
        fields: finds the files of height fields.
    """
    geometry = part.child("geometry")
    found = [] if geometry is None else list(geometry.children(*KNOWN, "empty"))
    if len(found) > 1 and any(shape.tag != "polyline" for shape in found):
        tags = f"<{found[0].tag}> and <{found[1].tag}>"
        text = f"it has more than one shape, {tags}; give each a <{part.tag}>"
        found[1].error("duplicate-element", text, found=tags)
        return None
    if found:
        tag = found[0].tag
        if tag == "polyline":
            return _polylines(found)
        if tag == "heightmap":
            return _heightmap(found[0], fields)
        return None if tag == "empty" else _SHAPES[tag](found[0])
    known = listing(KNOWN)
    unknown = "" if geometry is None else next((x.tag for x in geometry.element), "")
    if unknown:
        text = f"the shape <{quote(unknown)[1:-1]}> is not simulated; known are {known}"
        part.repair("unknown-shape", text, LEFT_OUT, found=unknown, allowed=known)
    else:
        part.error("missing-element", f"it has no shape; known are {known}", allowed=known)
    return None


def _box(part: SdfElement) -> Placed:
    return Box(part.vector("size", default=(1.0, 1.0, 1.0))), IN_PLACE


def _sphere(part: SdfElement) -> Placed:
    return Sphere(part.number("radius", default=1.0)), IN_PLACE


def _cylinder(part: SdfElement) -> Placed:
    radius, length = part.number("radius", default=1.0), part.number("length", default=1.0)
    return Cylinder(radius, length), IN_PLACE


def _capsule(part: SdfElement) -> Placed:
    radius, length = part.number("radius", default=0.5), part.number("length", default=1.0)
    return Capsule(radius, length), IN_PLACE


def _plane(part: SdfElement) -> Placed:
    """Return an infinite plane; the size in the file is only for display."""
    part.child("size")
    normal = part.vector("normal", default=(0.0, 0.0, 1.0))
    if math.hypot(*normal) == 0.0:
        part.error("zero-axis", "the normal of its plane is zero", allowed="a direction")
        return Plane(), IN_PLACE
    return Plane(), Pose(quat=turn_of_z(normal))


def _ellipsoid(part: SdfElement) -> Placed:
    shape = ellipsoid(radii_of(part))
    _approximated(part, len(shape.points))
    return shape, IN_PLACE


def _cone(part: SdfElement) -> Placed:
    """Return a cone whose tip points along z and whose middle is the origin."""
    radius, length = cone_of(part)
    base = [(radius * math.cos(a), radius * math.sin(a), -length / 2) for a in _angles(60)]
    _approximated(part, len(base) + 1)
    return Points((*base, (0.0, 0.0, length / 2))), IN_PLACE


def radii_of(part: SdfElement) -> Vec3:
    """Return the radii of an <ellipsoid>."""
    return part.vector("radii", default=(1.0, 1.0, 1.0))


def cone_of(part: SdfElement) -> tuple[float, float]:
    """Return the radius and the length of a <cone>."""
    return part.number("radius", default=0.5), part.number("length", default=1.0)


def outline_of(part: SdfElement) -> tuple[list[list[float]], float]:
    """Return the points of a <polyline>, and its height."""
    rows = [point.numbers(2) for point in part.children("point")]
    return [row for row in rows if row is not None], part.number("height", default=1.0)


def _angles(count: int = _AROUND) -> list[float]:
    return [math.tau * k / count for k in range(count)]


def _approximated(part: SdfElement, corners: int) -> None:
    text = f"its {part.tag} is replaced by the hull of {corners} corners on it"
    part.note(REPLACED, text, found=part.tag)


def _polylines(parts: Sequence[SdfElement]) -> Placed | None:
    """Return the convex hull of the prisms over the outlines, or None after an error."""
    corners: list[Vec3] = []
    for part in parts:
        rows, height = outline_of(part)
        corners += [(x, y, z) for x, y in rows for z in (0.0, height)]
    if len(corners) < 6:
        text = "its polyline has fewer than three points"
        parts[0].error("missing-element", text, allowed="<point>")
        return None
    parts[0].note(REPLACED, "its polyline is replaced by its convex hull", found="polyline")
    return Points(tuple(corners)), IN_PLACE


def _mesh(part: SdfElement) -> Placed | None:
    uri = part.word("uri")
    if not uri:
        part.error("missing-element", "its mesh has no <uri>", allowed="<uri>")
        return None
    scale = part.vector("scale", default=(1.0, 1.0, 1.0))
    centred = part.flag("submesh", "center")
    return MeshName(uri, scale, part.word("submesh", "name"), centred), IN_PLACE


def _heightmap(part: SdfElement, fields: MeshFiles) -> Placed | None:
    """Return terrain, or None after an error; white pixels have the height that <size> gives."""
    uri = part.word("uri")
    size = part.vector("size", default=(1.0, 1.0, 1.0))
    at = part.vector("pos", default=(0.0, 0.0, 0.0))
    # these change only the appearance
    for tag in ("texture", "blend", "use_terrain_paging", "sampling"):
        list(part.children(tag))
    try:
        path: Path = fields.of(height_fields.PICTURES).find(uri)
        heights = height_fields.heights_in(path.parent, path.name, size[2])
    except (height_fields.UnusableFieldError, UnusableMeshError) as error:
        text = f"the height field {quote(uri, 200)} {error}"
        part.repair("bad-height-field", text, LEFT_OUT, found=uri)
        return None
    return HeightField(heights, (size[0], size[1])), Pose(at)


_SHAPES: dict[str, Callable[[SdfElement], Placed | None]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "ellipsoid": _ellipsoid,
    "cone": _cone,
    "plane": _plane,
    "mesh": _mesh,
}
KNOWN = (*_SHAPES, "polyline", "heightmap")
