"""Read the free objects of a scene file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbdyn_ros.description.mechanism_files.forms import AT, Form
from rbdyn_ros.description.mechanism_files.geometries import (
    SHAPES,
    read_convex_mesh,
    read_filter,
    read_shape,
)
from rbdyn_ros.description.mechanism_files.yaml_text import Node, YamlTable
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.parts.geometries import Shape
from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.scene_files.surfaces import Surfaces
from rbdyn_ros.errors import quote

PLACE = (*AT, "quat")
KEYS = (
    *(*SHAPES, "parts", "file", "mass", "density", *PLACE),
    *("surface", "filter", "decompose"),
)


class ObjectReader:
    """Reads the free objects of one document.

    Args:
        folder: from which their files are found.
        package_dirs: folders to search for packages.
        surfaces: of the scene.
        form: reads the nodes and receives the errors.
    """

    def __init__(
        self, folder: Path, package_dirs: Sequence[str | Path], surfaces: Surfaces, form: Form
    ) -> None:
        files = MeshFiles(folder, package_dirs)
        self._folder, self._surfaces, self._form = folder, surfaces, form
        self._meshes, self._convex = Meshes(files), Meshes(files, decompose=True)

    def objects(self, section: YamlTable) -> list[Object]:
        """Return the objects of the section `objects`; those with errors are left out."""
        found = []
        for name, node in section.nodes.items():
            item = self._object(name, node, section.lines[name])
            if item is not None:
                found.append(item)
        return found

    def _object(self, name: str, node: Node, line: int) -> Object | None:
        owner, form = f"object {quote(name)}", self._form
        table = form.table(node, "object", owner, KEYS)
        if table is None:
            return None
        before = len(form.audit.errors)
        shape, at = self._shape(table, owner), form.placement(table, owner)
        numbers: dict[str, Any] = {
            what: form.number(table.nodes[what], what, owner)
            for what in ("mass", "density")
            if what in table.nodes
        }
        surface = self._surfaces.of(table, owner)
        masks = read_filter(table, owner, form) if "filter" in table.nodes else None
        divides = isinstance(shape, Path) and form.flag_of(table, "decompose", owner)
        if len(form.audit.errors) > before or shape is None or at is None:
            return None
        more: dict[str, Any] = {"line": line, "filter": masks, "decompose": divides}
        return Object(name, shape, **numbers, pose=at, surface=surface, **more)

    def _shape(
        self, table: YamlTable, owner: str
    ) -> Shape | list[tuple[Shape, Pose]] | Path | None:
        form, nodes, kinds = self._form, table.nodes, (*SHAPES, "parts", "file")
        given = [key for key in nodes if key in kinds]
        if len(given) != 1:
            found, allowed = " and ".join(given) or "none", ", ".join(kinds)
            message = f"has {found} of {allowed}; it must have exactly one"
            form.audit.error("bad-shape", owner, table.line, message, found=found, allowed=allowed)
            return None
        if given[0] == "file":
            file = form.name(nodes["file"], "file", owner)
            return None if file is None else self._folder / file
        if form.flag_of(table, "decompose", owner):
            return self._convex_parts(table, given[0], owner)
        if given[0] == "parts":
            listed = form.items(nodes["parts"], "parts", "part", owner, self._part)
            return None if listed is None else list(listed)
        return read_shape(table, owner, self._meshes, form)

    def _convex_parts(
        self, table: YamlTable, kind: str, owner: str
    ) -> list[tuple[Shape, Pose]] | None:
        if kind != "mesh":
            message = f"decompose divides a mesh or the meshes of a file; this is {kind}"
            line = table.lines["decompose"]
            self._form.audit.error("bad-value", owner, line, message, found=kind)
            return None
        convex = read_convex_mesh(table.nodes["mesh"], owner, self._convex, self._form)
        return None if convex is None else [(part, Pose()) for part in convex]

    def _part(self, node: Node, what: str, owner: str) -> tuple[Shape, Pose] | None:
        table = self._form.table(node, what, owner, (*SHAPES, *PLACE))
        if table is None:
            return None
        shape = read_shape(table, owner, self._meshes, self._form)
        at = self._form.placement(table, owner)
        return None if shape is None or at is None else (shape, at)
