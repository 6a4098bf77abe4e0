"""Read the links of a mechanism file: inertials by shape, or by numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.mechanism_files.forms import AT, Form, is_nothing
from rbdyn_ros.description.mechanism_files.yaml_text import Items, Node, YamlTable
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Inertial, Link
from rbdyn_ros.errors import ParameterError, quote

#: The function for each shape, and its required keys.
SHAPES: dict[str, tuple[Callable[..., Inertial], tuple[str, ...]]] = {
    "box": (shapes.box, ("size",)),
    "cylinder": (shapes.cylinder, ("radius", "length")),
    "sphere": (shapes.sphere, ("radius",)),
    "capsule": (shapes.capsule, ("radius", "length")),
    "top": (shapes.top, ("radius", "thickness", "height")),
}
BY_NUMBER = ("mass", "com", "inertia", *AT)


def read_links(section: YamlTable, known: Sequence[Link], form: Form) -> list[Link]:
    """Return the known links, some with a new inertial, then the links of the section."""
    links = {link.name: link for link in known}
    for name, node in section.nodes.items():
        owner, line = f"link {quote(name)}", section.lines[name]
        inertial = None if is_nothing(node) else _inertial(node, owner, form)
        if inertial is None and name in links:
            inertial = links[name].inertial
        links[name] = Link(name, inertial, line)
    return list(links.values())


def _inertial(node: Node, owner: str, form: Form) -> Inertial | None:
    if isinstance(node, Items):
        parts = [_inertial(item, owner, form) for item in node.nodes]
        known = [part for part in parts if part is not None]
        return shapes.combine(*known) if known else None
    table = form.table(node, "link", owner, (*SHAPES, *BY_NUMBER))
    if table is None or not table.nodes:
        return None
    if any(key in table.nodes for key in BY_NUMBER):
        return _by_number(table, owner, form)
    parts = [_shape(kind, below, owner, form) for kind, below in table.nodes.items()]
    known = [part for part in parts if part is not None]
    return shapes.combine(*known) if known else None


def _by_number(table: YamlTable, owner: str, form: Form) -> Inertial | None:
    if form.table(table, "link without a shape", owner, BY_NUMBER, needed=("mass",)) is None:
        return None
    nodes = table.nodes
    mass = form.number(nodes["mass"], "mass", owner)
    at = form.pose(table, owner, Pose())
    if "com" in nodes:  # the old key
        if "xyz" in nodes:
            message = "has both 'com' and 'xyz', which are the same; delete one"
            form.audit.error("duplicate-key", owner, table.lines["com"], message, found="com")
            return None
        com = form.vector(nodes["com"], "com", owner)
        at = None if at is None or com is None else replace(at, pos=com)
    inertia: tuple[float, ...] | None = (0.0,) * 6
    if "inertia" in nodes:
        inertia = form.numbers(nodes["inertia"], "inertia", owner, 6)
    if mass is None or at is None or inertia is None:
        return None
    xx, yy, zz, xy, xz, yz = inertia
    return Inertial(mass, at, (xx, yy, zz, xy, xz, yz))


def _shape(kind: str, node: Node, owner: str, form: Form) -> Inertial | None:
    maker, needed = SHAPES[kind]
    allowed = (*needed, "density", "mass", "xyz", "rpy")
    table = form.table(node, kind, owner, allowed, needed)
    if table is None:
        return None
    at = form.pose(table, owner, Pose())
    sizes: dict[str, object] = {}
    for key, below in table.nodes.items():
        if key == "size":
            sizes[key] = form.vector(below, key, owner)
        elif key not in ("xyz", "rpy"):
            sizes[key] = form.number(below, f"{key} of the {kind}", owner)
    if at is None or None in sizes.values():
        return None
    try:
        return maker(**sizes, at=at)
    except ParameterError as error:
        form.audit.error(error.code, owner, table.line, error.findings[0].message)
        return None
