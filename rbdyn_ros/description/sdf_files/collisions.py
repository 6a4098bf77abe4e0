# SPDX-License-Identifier: Apache-2.0
"""Read the <collision> elements of an SDF: shapes with surfaces, and contact filters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.looks import MeshName
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.meshes.moments import Moments
from rbdyn_ros.description.parts import geometries
from rbdyn_ros.description.parts.poses import Pose, compose
from rbdyn_ros.description.sdf_files.frames import Frame, FramePlaces
from rbdyn_ros.description.sdf_files.shapes import read_shape
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement
from rbdyn_ros.description.xml_files.sdf_surfaces import FRICTION, bounded
from rbdyn_ros.errors import quote

_MASK, _ALL = 0x7FFFFFFF, 0xFFFF
MASKS = ("collide_bitmask", "category_bitmask")
#: Torque about the normal of a Hertz contact, per force, radius and friction.
_PATCH = 3.0 * math.pi / 16.0


@dataclass(frozen=True, slots=True)
class LinkSolid:
    """A shape of a link.

    Attributes:
        name: name of the geometry.
        part: element of the shape.
        origin: origin of the shape, in the frame of the link.
    """

    name: str
    link: Frame
    part: SdfElement
    shape: geometries.WorldShape
    origin: Pose
    surface: geometries.Surface
    filter: geometries.Filter

    @property
    def line(self) -> int:
        """The line of its element in the first file."""
        return self.part.line


class SolidReader:
    """Reads the collisions of links.

    Args:
        places: places of all frames.
        top: the frame of the world.
        package_dirs: folders that have packages and models.
        decompose: whether meshes become several convex parts.
        has_masks: whether some collisions have a mask; collisions without a mask then touch all
            collisions.
    """

    def __init__(
        self,
        places: FramePlaces,
        top: Frame,
        package_dirs: Any,
        decompose: bool,
        *,
        has_masks: bool,
    ) -> None:
        self._places, self._top = places, top
        self._usual = geometries.Filter(_ALL, _ALL) if has_masks else geometries.Filter()
        self._package_dirs, self._decompose = package_dirs, decompose
        self._meshes: dict[tuple[Path | None, bool], Meshes] = {}
        self._solids: dict[Frame, list[LinkSolid]] = {}

    def solids(self, link: Frame) -> list[LinkSolid]:
        """Return the shapes of the collisions of a link, which are read once."""
        if link not in self._solids:
            self._solids[link] = self._read(link)
        return self._solids[link]

    def _read(self, link: Frame) -> list[LinkSolid]:
        assert link.part is not None
        parts = list(link.part.children("collision"))
        found: list[LinkSolid] = []
        for part in parts:
            name = link.full if len(parts) == 1 else f"{link.full}/{part.name}"
            found += self._solid(link, part, name)
        return found

    def _solid(self, link: Frame, part: SdfElement, name: str) -> list[LinkSolid]:
        placed = read_shape(part, self._files(part))
        surface, masks = _surface(part), self._filter(part)
        at = self.pose(part, link)
        if placed is None:
            return []
        shape, inside = placed
        if isinstance(shape, MeshName):
            parts: Sequence[geometries.WorldShape] = self._of_mesh(
                shape, part, link.scope.is_static
            )
        else:
            parts = [shape]
        return [
            LinkSolid(
                name if not k else f"{name}_{k}",
                link,
                part,
                one,
                compose(at, inside),
                surface,
                masks,
            )
            for k, one in enumerate(parts)
        ]

    def pose(self, part: SdfElement, link: Frame) -> Pose:
        """Return the pose of a collision or a visual in the frame of its link."""
        relative = part.relative_to()
        base = link.scope.known(relative, part, "relative_to") if relative else None
        own = part.pose()
        if base is None:
            return own
        return compose(self._places.between(base, link, self._top), own)

    def _filter(self, part: SdfElement) -> geometries.Filter:
        """Return the contact filter of a collision: of its own bits, or else the usual filter.

        A collision touches collisions whose category is in its mask.
        """
        contact = part.child("surface", "contact")
        if contact is None or all(contact.child(tag) is None for tag in MASKS):
            return self._usual
        mask = _bits(contact, "collide_bitmask", _ALL)
        return geometries.Filter(_bits(contact, "category_bitmask", mask), mask)

    def mesh_moments(self, part: SdfElement) -> Moments | None:
        """Return the moments of the solid in the mesh of a collision, or None after a warning."""
        placed = read_shape(part, self._files(part))
        assert placed is not None
        mesh = placed[0]
        assert isinstance(mesh, MeshName)
        try:
            return self._meshes_of(part).moments(mesh.uri, mesh.scale, mesh.only)
        except UnusableMeshError as error:
            text = f"the mesh {quote(mesh.uri, 200)} {error}; it gets the inertia of its hull"
            part.note(error.code, text, "warning", found=mesh.uri)
            return None

    def _files(self, part: SdfElement) -> MeshFiles:
        return MeshFiles(part.document.folder, self._package_dirs)

    def _meshes_of(self, part: SdfElement) -> Meshes:
        """Return the mesh reader of a collision. It divides meshes if the file requests this."""
        divided = part.child("geometry", "mesh")
        wish = "" if divided is None else divided.attribute("optimization")
        if divided is not None:
            divided.child("convex_decomposition")
        decompose = self._decompose or wish == "convex_decomposition"
        key = part.document.folder, decompose
        if key not in self._meshes:
            self._meshes[key] = Meshes(self._files(part), decompose=decompose)
        return self._meshes[key]

    def _of_mesh(
        self, mesh: MeshName, part: SdfElement, is_static: bool
    ) -> list[geometries.Points | geometries.TriangleMesh]:
        """Return the hull or the convex parts of a mesh; of a static model its triangles.

        As in Gazebo the attribute `optimization` of a static mesh asks for its hull or its parts.
        """
        meshes = self._meshes_of(part)
        element = part.child("geometry", "mesh")
        wish = "" if element is None else element.attribute("optimization")
        if is_static and not wish and not self._decompose:
            whole = meshes.read_concave(mesh.uri, mesh.scale, part.subject, mesh.only)
            return [] if whole is None else [whole]
        if mesh.submesh:
            some = meshes.read(mesh.uri, mesh.scale, part.subject, mesh.only)
            return [] if some is None else [some]
        found = meshes.read_convex(mesh.uri, mesh.scale, part.subject)
        return [] if found is None else list(found)


def _surface(part: SdfElement) -> geometries.Surface:
    surface = part.child("surface")
    if surface is None:
        return geometries.Surface(friction=FRICTION)
    friction = surface.child("friction")
    mu = FRICTION
    if friction is not None:
        mu = friction.number("bullet", "friction", default=mu)
        mu = friction.number("ode", "mu", default=mu)
    values: dict[str, Any] = {"friction": bounded(mu, surface)}
    # mark <contact> and its engine as read, so that the notes on unread elements name their
    # children, such as kp and kd
    for engine in ("ode", "bullet"):
        surface.child("contact", engine)
    values["restitution"] = surface.number("bounce", "restitution_coefficient")
    if friction is not None:
        values["torsional"] = _torsional(friction)
    return geometries.Surface(**values)


def _torsional(friction: SdfElement) -> float:
    """Return the torque about the normal per force [m], of a patch of given radius."""
    torsional = friction.child("torsional")
    if torsional is None:
        return 0.0
    coefficient = torsional.number("coefficient", default=1.0)
    if not torsional.flag("use_patch_radius", default=True):
        text = "its torsional friction is not used: the radius of its patch depends on the depth"
        torsional.note("not-used", text, "warning", found="surface_radius")
        return 0.0
    return _PATCH * coefficient * torsional.number("patch_radius")


def _bits(contact: SdfElement, tag: str, default: int) -> int:
    given = contact.child(tag)
    if given is None:
        return default
    try:
        value = int(given.text, 0)
    except ValueError:
        given.error("bad-number", f"<{tag}> is not a whole number", found=given.text[:60])
        return default
    return value & _MASK
