"""Read the surfaces of a scene file, and the parts that name them."""

from __future__ import annotations

from rbdyn_ros.description.checks.geometries import audit_surface
from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.geometries import SURFACE, read_surface
from rbdyn_ros.description.mechanism_files.yaml_text import Node, YamlTable
from rbdyn_ros.description.parts.geometries import Surface
from rbdyn_ros.errors import quote


class Surfaces:
    """The surfaces of a scene by their names.

    Args:
        section: `surfaces` of the scene.
        form: reads the nodes and receives the errors.
    """

    def __init__(self, section: YamlTable, form: Form) -> None:
        self._form = form
        self._known: dict[str, Surface | None] = {}  # None: the surface has an error
        for name, node in section.nodes.items():
            owner = f"surface {quote(name)}"
            table = form.table(node, "surface", owner, SURFACE)
            surface = read_surface(table, owner, form) if table else None
            self._known[name] = surface
            if surface is not None:  # whether anything has it or not
                audit_surface(surface, owner, section.lines[name], form.audit)

    def of(self, table: YamlTable, owner: str) -> Surface | None:
        """Return the surface that a table names; None without one, or after an error."""
        node = table.nodes.get("surface")
        return None if node is None else self.named(node, owner)

    def named(self, node: Node, owner: str) -> Surface | None:
        """Return the surface of a name; None after an error."""
        name = self._form.name(node, "surface", owner)
        if name is None:
            return None
        if name not in self._known:
            hint = self._form.audit.hint(name, self._known)
            allowed = ", ".join(self._known) or "none: the scene has no surfaces"
            message = f"the surface {quote(name)} is unknown{hint}; known are {allowed}"
            self._form.audit.error(
                "unknown-surface", owner, node.line, message, found=name, allowed=allowed
            )
            return None
        return self._known[name]
