"""Read the robots of a scene file: their files, places, starts and contact."""

from __future__ import annotations

from pathlib import Path

from rbdyn_ros.description.mechanism_files.forms import AT, Form, is_nothing
from rbdyn_ros.description.mechanism_files.geometries import filter_of
from rbdyn_ros.description.mechanism_files.yaml_text import Items, Node, YamlTable
from rbdyn_ros.description.parts.geometries import Contact, Filter, Surface
from rbdyn_ros.description.parts.objects import Placed
from rbdyn_ros.description.scene_files.surfaces import Surfaces
from rbdyn_ros.errors import quote

KEYS = (
    "file",
    *(*AT, "quat"),
    "floating_base",
    "start",
    "surface",
    "surfaces",
    "exclude",
    "self_collision",
    "filters",
    "decompose",
)


class RobotReader:
    """Reads the robots of one document.

    Args:
        folder: from which their files are found.
        surfaces: of the scene.
        form: reads the nodes and receives the errors.
    """

    def __init__(self, folder: Path, surfaces: Surfaces, form: Form) -> None:
        self._folder, self._surfaces, self._form = folder, surfaces, form

    def robots(self, section: YamlTable) -> dict[str, Placed | None]:
        """Return the robots of the section `robots`; None for one with an error."""
        found: dict[str, Placed | None] = {}
        for name, node in section.nodes.items():
            owner, line = f"robot {quote(name)}", section.lines[name]
            if not name.strip():
                message = "the name is empty"
                self._form.audit.error("missing-name", owner, line, message, found=name)
            found[name] = self.robot(node, owner)
        return found

    def robot(self, node: Node, owner: str) -> Placed | None:
        """Return a robot, of which a scalar is the file; None after an error."""
        form, line = self._form, node.line
        if not isinstance(node, YamlTable):
            file = form.name(node, "robot", owner)
            return None if file is None else Placed(self._folder / file, line=line)
        table = form.table(node, "robot", owner, KEYS, ("file",))
        if table is None:
            return None
        nodes = table.nodes
        file, at = form.name(nodes["file"], "file", owner), form.placement(table, owner)
        floats: bool | None = False
        if "floating_base" in nodes:
            floats = form.flag(nodes["floating_base"], "floating base", owner)
        start, contact = self._start(nodes.get("start"), owner), self._contact(table, owner)
        if file is None or at is None or floats is None or start is None or contact is None:
            return None
        return Placed(self._folder / file, at, floats, contact, start, line)

    def _start(self, node: Node | None, owner: str) -> dict[str, float] | None:
        """Return positions by joint; None after an error."""
        if node is None or is_nothing(node):
            return {}
        if not isinstance(node, YamlTable):
            self._form.wrong(node, "start", owner, "a table of joints and positions")
            return None
        given = {
            joint: self._form.number(below, f"start of {quote(joint)}", owner)
            for joint, below in node.nodes.items()
        }
        known = {joint: value for joint, value in given.items() if value is not None}
        return known if len(known) == len(given) else None

    def _contact(self, table: YamlTable, owner: str) -> Contact | None:
        """Return the surfaces of a robot, and its pairs that may overlap; None after an error."""
        before = len(self._form.audit.errors)
        surface = self._surfaces.of(table, owner) or Surface()
        by_name: dict[str, Surface] = {}
        named = table.nodes.get("surfaces")
        if isinstance(named, YamlTable):
            for part, node in named.nodes.items():
                found = self._surfaces.named(node, owner)
                if found is not None:
                    by_name[part] = found
        elif named is not None:
            self._form.wrong(named, "surfaces", owner, "a table of links and names of surfaces")
        exclude = read_pairs(table.nodes.get("exclude"), owner, self._form)
        filters = self._filters(table.nodes.get("filters"), owner)
        pushes = self._form.flag_of(table, "self_collision", owner, default=True)
        divides = self._form.flag_of(table, "decompose", owner)
        if len(self._form.audit.errors) > before:
            return None
        return Contact((), surface, by_name, exclude, pushes, filters, divides)

    def _filters(self, node: Node | None, owner: str) -> dict[str, Filter]:
        if node is None:
            return {}
        if not isinstance(node, YamlTable):
            self._form.wrong(node, "filters", owner, "a table of links and filters")
            return {}
        given = {name: filter_of(below, owner, self._form) for name, below in node.nodes.items()}
        return {name: masks for name, masks in given.items() if masks is not None}


def read_pairs(node: Node | None, owner: str, form: Form) -> tuple[tuple[str, str], ...]:
    """Return the pairs of names of a key `exclude`."""
    if node is None:
        return ()
    pairs = []
    for item in node.nodes if isinstance(node, Items) else [node]:
        names = item.nodes if isinstance(item, Items) else []
        if len(names) != 2:
            form.wrong(item, "exclude", owner, "a list of pairs of names", verb="holds")
            continue
        first, second = (form.name(one, "excluded name", owner) for one in names)
        if first is not None and second is not None:
            pairs.append((first, second))
    return tuple(pairs)
