# SPDX-License-Identifier: Apache-2.0
"""The robots and free objects of a scene file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Subject
from rbdyn_ros.description.checks.geometries import audit_surface
from rbdyn_ros.description.mechanism_files.geometries import shape_of, surface_of
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.parts.geometries import Contact, Shape, Surface
from rbdyn_ros.description.parts.objects import Object, Placed
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.scene_files.keys import OBJECT
from rbdyn_ros.description.yaml_files.poses import placement_of
from rbdyn_ros.description.yaml_files.robots import robot_file_of
from rbdyn_ros.description.yaml_files.tables import Given, section
from rbdyn_ros.errors import quote


class Surfaces:
    """The surfaces of a scene by their names; None for a surface with an error."""

    def __init__(self, given: Given) -> None:
        self._known: dict[str, Surface | None] = {}
        for name, line in given.lines.items():
            table = given.get(name)
            surface = surface_of(table) if table is not None and table.sound else None
            self._known[name] = surface
            if surface is not None:  # audit the surface even if no part has it
                audit_surface(surface, Subject(given.audit, f"surface {quote(name)}", line))

    def named(self, name: str, given: Given, key: str) -> Surface | None:
        """Return the surface `name` that a key gives, or None after an error."""
        if name not in self._known:
            hint = given.audit.hint(name, self._known)
            allowed = ", ".join(self._known) or "none: the scene has no surfaces"
            message = f"the surface {quote(name)} is unknown{hint}; known are {allowed}"
            given.error("unknown-surface", key, message, found=name, allowed=allowed)
            return None
        return self._known[name]

    def of(self, given: Given) -> Surface | None:
        """Return the surface that an element names, or None without a name or after an error."""
        return self.named(given["surface"], given, "surface") if "surface" in given else None


def read_robots(top: Given, folder: Path, surfaces: Surfaces) -> dict[str, Placed]:
    """Return the robots of `robot` and `robots`, without robots that have errors."""
    given = section(top, "robots")
    found: dict[str, Placed | None] = {}
    if "robot" in top.lines:
        if "robots" in top.lines:
            message = "the scene has both 'robot' and 'robots'; list all of them in 'robots'"
            top.error("duplicate-key", "robots", message, found="robots")
        line = top.node.nodes["robot"].line
        found[""] = _robot(top.get("robot"), line, folder, surfaces)
    for name, line in given.lines.items():
        if not name.strip():
            owner = f"robot {quote(name)}"
            given.audit.error("missing-name", owner, line, "the name is empty", found=name)
        found[name] = _robot(given.get(name), given.node.nodes[name].line, folder, surfaces)
    top.audit.partial |= None in found.values()
    return {name: robot for name, robot in found.items() if robot is not None}


def _robot(
    given: Given | str | None, line: int, folder: Path, surfaces: Surfaces
) -> Placed | None:
    """Return a robot, or None after an error; a string is the file of the robot."""
    if given is None:
        return None
    if isinstance(given, str):
        return Placed(robot_file_of(given, folder), line=line)
    at, contact = placement_of(given), _contact(given, surfaces)
    if not given.sound:
        return None
    start: Mapping[str, float] = given.get("start", {})
    floats, box, base = given["floating_base"], given.get("box", ""), given.get("base", "")
    return Placed(robot_file_of(given, folder), at, floats, contact, start, line, box, base)


def _contact(given: Given, surfaces: Surfaces) -> Contact:
    """Return the Contact of a robot: surfaces, filters, pairs that may overlap, furniture."""
    surface = surfaces.of(given) or Surface()
    named = section(given, "surfaces")
    found = {part: surfaces.named(name, named, part) for part, name in named.items()}
    given.sound &= named.sound
    by_name = {part: surface for part, surface in found.items() if surface is not None}
    filters, pushes = section(given, "filters"), given.get("self_collision", True)
    divides = given.get("decompose", False)
    exclude, stands = (tuple(given.get(key, ())) for key in ("exclude", "furniture"))
    return Contact((), surface, by_name, exclude, pushes, {**filters}, divides, stands)


class ObjectReader:
    """Reads the free objects of one document.

    Args:
        folder: folder from which their files are found.
        package_dirs: folders to search for packages.
        surfaces: surfaces of the scene.
    """

    def __init__(
        self, folder: Path, package_dirs: Sequence[str | Path], surfaces: Surfaces
    ) -> None:
        files = MeshFiles(folder, package_dirs)
        self._folder, self._surfaces = folder, surfaces
        self._meshes, self._convex = Meshes(files), Meshes(files, decompose=True)

    def objects(self, section: Given) -> list[Object]:
        """Return the objects of the section `objects`, without objects that have errors."""
        found = (self._object(name, given, section) for name, given in section.items())
        return [item for item in found if item is not None]

    def _object(self, name: str, given: Given, section: Given) -> Object | None:
        surface, at = self._surfaces.of(given), placement_of(given)
        before = len(given.audit.errors)
        shape = self._shape(given) if given.sound else None
        if shape is None or len(given.audit.errors) > before:
            return None
        more: dict[str, Any] = {
            key: given[key] for key in ("mass", "density", "filter") if key in given
        }
        more["decompose"] = "file" in given and given["decompose"]
        return Object(name, shape, pose=at, surface=surface, line=section.lines[name], **more)

    def _shape(self, given: Given) -> Shape | list[tuple[Shape, Pose]] | Path | None:
        """Return the shape, the shapes or the file of an object, or None after an error."""
        if "file" in given:
            return self._folder / str(given["file"])
        if given["decompose"]:
            return self._convex_parts(given)
        if "parts" not in given:
            return shape_of(given, self._meshes)
        found = [(shape_of(part, self._meshes), placement_of(part)) for part in given["parts"]]
        known = [(shape, at) for shape, at in found if shape is not None]
        return known if len(known) == len(found) else None

    def _convex_parts(self, given: Given) -> list[tuple[Shape, Pose]] | None:
        mesh = given.get("mesh")
        if mesh is None:
            kind = next(key for key in given if key in OBJECT.one)
            message = (
                f"decompose is for a mesh or the meshes of a file; the object has the key {kind}"
            )
            given.error("bad-value", "decompose", message, found=kind)
            return None
        found = self._convex.read_convex(mesh["file"], mesh["scale"], given.subject(mesh.line))
        return None if found is None else [(part, Pose()) for part in found]
