"""Read the constraints and springs of a mechanism file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rbdyn_ros.description.build.constraints import centre_line
from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.yaml_text import Node, YamlTable
from rbdyn_ros.description.parts.poses import Vec3
from rbdyn_ros.description.parts.types import Constraint, Gear, GearTerm, Length, Roll, Spring
from rbdyn_ros.errors import ParameterError, listing, quote

ENDS = ("from", "to")
_NUMBERS = ("stiffness", "damping", "length")


def read_constraints(section: YamlTable, form: Form) -> list[Constraint]:
    """Return the constraints of the section."""
    constraints = (
        _ConstraintReader(name, section.lines[name], form).read(node)
        for name, node in section.nodes.items()
    )
    return [constraint for constraint in constraints if constraint is not None]


class _ConstraintReader:
    """Reads one constraint."""

    def __init__(self, name: str, line: int, form: Form) -> None:
        self.name = name
        self.line = line
        self.form = form
        self.owner = f"constraint {quote(name)}"

    def read(self, node: Node) -> Constraint | None:
        """Return the constraint; None after an error."""
        table = self.form.table(node, "constraint", self.owner, tuple(_READERS))
        if table is None:
            return None
        if len(table.nodes) != 1:
            kinds, has = listing(tuple(_READERS)), listing(tuple(table.nodes)) or "nothing"
            message = f"the constraint has {has}; it must have exactly one of {kinds}"
            self.form.audit.error(
                "bad-constraint", self.owner, node.line, message, found=has, allowed=kinds
            )
            return None
        kind, below = next(iter(table.nodes.items()))
        return _READERS[kind](self, below)

    def values(
        self, node: Node, kind: str, needed: dict[str, Any], others: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return the value of each key of a table; None after an error."""
        readers = needed | others
        table = self.form.table(node, kind, self.owner, tuple(readers), tuple(needed))
        if table is None:
            return None
        values = {key: readers[key](below, key, self.owner) for key, below in table.nodes.items()}
        return None if any(value is None for value in values.values()) else values

    def rod(self, node: Node) -> Length | None:
        form = self.form
        readers = {"from": form.point, "to": form.point, "length": form.number}
        values = self.values(node, "rod", readers, {})
        if values is None:
            return None
        return self.line_through((values["from"], values["to"]), values["length"], closed=False)

    def band(self, node: Node) -> Length | None:
        form = self.form
        others = {"closed": form.flag, "radius": form.number}
        needed = {"points": self.points, "length": form.number}
        values = self.values(node, "band", needed, others)
        if values is None:
            return None
        closed = values.get("closed", True)
        try:
            length = centre_line(values["length"], values.get("radius", 0.0), closed)
        except ParameterError as error:
            form.audit.error(error.code, self.owner, node.line, error.findings[0].message)
            return None
        return self.line_through(values["points"], length, closed)

    def gear(self, node: Node) -> Gear | None:
        values = self.values(node, "gear", {"terms": self.terms}, {"offset": self.form.number})
        return None if values is None else Gear(self.name, line=self.line, **values)

    def roll(self, node: Node) -> Roll | None:
        form = self.form
        old = isinstance(node, YamlTable) and "body" in node.nodes and "link" not in node.nodes
        link = "body" if old else "link"
        needed = {link: form.name, "on": form.name, "radius": form.number}
        others = dict.fromkeys(("centre", "axis", "point", "normal"), form.vector)
        values = self.values(node, "roll", needed, others)
        return (
            None if values is None else Roll(self.name, values.pop(link), line=self.line, **values)
        )

    def line_through(
        self, corners: tuple[tuple[str, Vec3], ...], length: float, closed: bool
    ) -> Length:
        links, points = tuple(c[0] for c in corners), tuple(c[1] for c in corners)
        return Length(self.name, links, points, length, closed, self.line)

    def points(self, node: Node, what: str, owner: str) -> tuple[tuple[str, Vec3], ...] | None:
        return self.form.items(node, what, "point", owner, self.form.point)

    def terms(self, node: Node, what: str, owner: str) -> tuple[GearTerm, ...] | None:
        return self.form.items(node, what, "term", owner, self.term)

    def term(self, node: Node, what: str, _owner: str) -> GearTerm | None:
        form = self.form
        needed = {"joint": form.name, "factor": form.number}
        values = self.values(node, what, needed, {"coordinate": form.whole})
        return None if values is None else GearTerm(**values)


#: The reader of each kind of constraint.
_READERS: dict[str, Callable[[_ConstraintReader, Node], Constraint | None]] = {
    "rod": _ConstraintReader.rod,
    "band": _ConstraintReader.band,
    "gear": _ConstraintReader.gear,
    "roll": _ConstraintReader.roll,
}


def read_springs(section: YamlTable, form: Form) -> list[Spring]:
    """Return the springs of the section."""
    springs = []
    for name, node in section.nodes.items():
        owner = f"spring {quote(name)}"
        table = form.table(node, "spring", owner, (*ENDS, *_NUMBERS), ENDS)
        if table is None:
            continue
        one, other = (form.point(table.nodes[key], f"end {quote(key)}", owner) for key in ENDS)
        values = {
            key: form.number(table.nodes[key], key, owner)
            for key in _NUMBERS
            if key in table.nodes
        }
        known = {key: value for key, value in values.items() if value is not None}
        if one is not None and other is not None:
            line = section.lines[name]
            springs.append(Spring(name, one[0], other[0], one[1], other[1], line=line, **known))
    return springs
