# SPDX-License-Identifier: Apache-2.0
"""Read the appearance of an SDF: its <visual> elements, its collisions, its lights."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit, Lenient
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.looks import Look
from rbdyn_ros.description.meshes.textures import IMAGES
from rbdyn_ros.description.parts.geometries import Box, HeightField, Plane, Sphere, TriangleMesh
from rbdyn_ros.description.parts.lights import (
    DIRECTIONAL,
    KINDS,
    POINT,
    SPOT,
    LinkLight,
    clipped,
    unit,
)
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose, rotate
from rbdyn_ros.description.parts.types import WORLD
from rbdyn_ros.description.sdf_files.document import name_of
from rbdyn_ros.description.sdf_files.frames import Frame
from rbdyn_ros.description.sdf_files.groups import Grouping, SdfGroup
from rbdyn_ros.description.sdf_files.models import SdfTree, read_tree
from rbdyn_ros.description.sdf_files.shapes import read_shape
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement


def read_looks(
    source: Path | str | bytes, package_dirs: Sequence[str | Path], audit: Audit
) -> Iterator[Look | LinkLight]:
    """Yield the shapes and lights of a model or world, but no obstacles: they are always shown.

    Args:
        source: the path of the file, or its text.
        package_dirs: folders to search for models and packages.
        audit: receives the errors about the shapes.

    Raises:
        DescriptionError: there is no such file, or it has another format.
    """
    others = Audit(strict=False)  # the reader of the robot reports these errors
    tree = read_tree(source, others, package_dirs)
    grouping = Grouping(tree, name_of(source), others, package_dirs, touches=False)
    groups = grouping.groups()
    for document in tree.files:
        document.audit = audit
    finders: dict[Path | None, MeshFiles] = {}
    if tree.is_world:
        yield from _lights(tree.world.origin, grouping, WORLD, IN_PLACE)
    for group in groups:
        for name, link in group.members.items():
            place, at = _place(tree, grouping, group, name, link)
            assert link.part is not None
            yield from _lights(link, grouping, place, at)
            for part in link.part.children("visual", "collision"):
                own, folder = grouping.reader.pose(part, link), part.document.folder
                files = finders.setdefault(folder, MeshFiles(folder, package_dirs))
                look = _look(part, own, place, at, files)
                if look is not None and not (group.is_static and _is_obstacle(look)):
                    yield look


def _lights(frame: Frame, grouping: Grouping, link: str, at: Pose) -> Iterator[LinkLight]:
    """Yield the lights of a frame, a link or the world; `at` is its pose in the drawn link."""
    own = frame.part.children("light") if frame.part is not None else ()
    included = frame.scope.lights if frame is frame.scope.origin else ()
    for part, placed in (*((part, part) for part in own), *included):
        pose = compose(at, grouping.reader.pose(placed, frame))
        light = read_light(part, link, pose)
        if light is not None:
            yield light


def _place(
    tree: SdfTree, grouping: Grouping, group: SdfGroup, name: str, link: Frame
) -> tuple[str, Pose]:
    """Return the link of the Model on which a link is drawn, and the pose in it.

    `name` is the name of the link in the description of its group.
    """
    if not tree.is_world:
        return name, IN_PLACE
    if group.is_static:
        return WORLD, grouping.places.pose(link, grouping.top)
    return group.in_scene(name), IN_PLACE


def _look(part: SdfElement, own: Pose, link: str, at: Pose, files: MeshFiles) -> Look | None:
    read = read_shape(part, files)
    if read is None:
        return None
    shape, inside = read
    if isinstance(shape, Plane | HeightField | TriangleMesh):
        return None  # obstacles are always shown
    origin = compose(at, compose(own, inside))
    texture = _texture(part, files.of(IMAGES))
    return Look((part.tag,), link, shape, origin, files, part.subject, _color(part), texture)


def _is_obstacle(look: Look) -> bool:
    """Return whether a shape of a static model is shown as an obstacle."""
    return isinstance(look.shape, Box | Sphere)


def _color(part: SdfElement) -> tuple[float, float, float, float] | None:
    """Return the colour of a material, diffuse, else ambient, or None without a colour."""
    material = part.child("material")
    for tag in ("diffuse", "ambient") if material is not None else ():
        given = None if material is None else material.child(tag)
        words = [] if given is None else given.text.split()
        if given is None or len(words) not in (3, 4):
            continue
        numbers = given.numbers(len(words))
        if numbers is not None:
            clipped = [min(max(number, 0.0), 1.0) for number in (*numbers, 1.0)]
            return clipped[0], clipped[1], clipped[2], clipped[3]
    return None


def _texture(part: SdfElement, images: MeshFiles) -> Path | None:
    material = part.child("material")
    name = "" if material is None else material.word("pbr", "metal", "albedo_map")
    try:
        return images.find(name) if name else None
    except UnusableMeshError:
        return None  # the shape is drawn in its colour instead


#: Default half angles of a spot light [rad].
_ANGLES = (0.5, 0.8)
SHORTEST = 1e-3  # shortest direction of a light [m]
_FADE = "attenuation"


def read_light(part: SdfElement, link: str, at: Pose) -> LinkLight | None:
    """Return a light, or None if it is off, or of a type that is not drawn.

    Args:
        part: the element <light>.
        link: name of its link.
        at: the pose of the light in the link.
    """
    audit = Lenient(part.audit, "its default counts")
    part = replace(part, document=replace(part.document, audit=audit))
    kind = part.attribute("type", POINT)
    if kind not in KINDS:
        part.note("light", f"a light of the type {kind!r} is not drawn", "warning", found=kind)
        return None
    if not part.flag("light_on", default=True):
        return None
    diffuse = part.child("diffuse")
    words = [] if diffuse is None else diffuse.text.split()
    color = diffuse.numbers(len(words)) if diffuse is not None and len(words) in (3, 4) else None
    spot, is_far = part.child("spot"), kind == DIRECTIONAL
    return LinkLight(
        kind,
        link,
        at.pos,
        rotate(at.quat, unit(part.vector("direction", default=(0.0, 0.0, -1.0)))),
        clipped(tuple(color or (1.0, 1.0, 1.0)), part.number("intensity", default=1.0)),
        math.inf if is_far else max(part.number(_FADE, "range", default=10.0), SHORTEST),
        (1.0, 0.0, 0.0) if is_far else _attenuation(part),
        _angles(spot) if kind == SPOT and spot is not None else _ANGLES,
        part.flag("cast_shadows", default=False),
    )


def _attenuation(part: SdfElement) -> tuple[float, float, float]:
    usual = {"constant": 1.0, "linear": 1.0, "quadratic": 0.0}
    a, b, c = (max(part.number(_FADE, key, default=usual[key]), 0.0) for key in usual)
    return a, b, c


def _angles(spot: SdfElement) -> tuple[float, float]:
    """Return the half angles of a spot; the file has full angles."""
    outer = 0.5 * spot.number("outer_angle", default=2.0 * _ANGLES[1])
    outer = min(max(outer, 0.01), 0.5 * math.pi)
    inner = 0.5 * spot.number("inner_angle", default=2.0 * _ANGLES[0])
    return min(max(inner, 0.0), outer), outer
