# SPDX-License-Identifier: Apache-2.0
"""The tables of YAML files: one row for each key."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.description.yaml_files import kinds
from rbdyn_ros.description.yaml_files.text import Node, YamlTable
from rbdyn_ros.errors import listing, quote


class Given(dict[str, Any]):
    """The values of a table by field; wrong values are left out.

    Attributes:
        node: the table.
        owner: the element, for messages.
        sound: whether the table has no error.
    """

    def __init__(self, node: YamlTable, owner: str, audit: Audit) -> None:
        super().__init__()
        self.node, self.owner, self.audit = node, owner, audit
        self.sound = True

    @property
    def line(self) -> int:
        """Line of the table."""
        return self.node.line

    @property
    def lines(self) -> Mapping[str, int]:
        """The line of each key, including keys with wrong values."""
        return self.node.lines

    def subject(self, line: int) -> Subject:
        """Return the element for findings at a line."""
        return Subject(self.audit, self.owner, line)

    def add(self, name: str, value: Any) -> None:
        """Add the value of a field; None marks a wrong value."""
        self.sound &= kinds.is_sound(value)
        if value is not None:
            self[name] = value

    def error(
        self, code: str, key: str, message: str, *, found: str = "", allowed: str = ""
    ) -> None:
        """Add an error at the line of a key, or of the table if it lacks the key."""
        self.sound = False
        line = self.lines.get(key, self.line)
        self.audit.error(code, self.owner, line, message, found=found, allowed=allowed)

    def wrong(self, key: str, allowed: str, what: str = "") -> None:
        """Add the error that the value of a key is not allowed; `what` replaces its name."""
        self.sound = False
        kinds.ValuePlace(self.audit, self.owner, what or key).refuse(self.node.nodes[key], allowed)


def section(top: Given, key: str) -> Given:
    """Return a table in a table, or an empty table if it is missing or wrong."""
    found: Given | None = top.get(key)
    return Given(YamlTable(top.line), top.owner, top.audit) if found is None else found


@dataclass(frozen=True)
class Key:
    """One row: a key of a table.

    Attributes:
        name: the key.
        kind: kind of its value.
        doc: its meaning, a phrase of one line.
        needed: whether a table must have the key.
        default: the value if the key is missing; None: the key is then left out.
        field: name of the value in Given; empty: the key.
    """

    name: str
    kind: kinds.Kind
    doc: str
    needed: bool = False
    default: Any = None
    field: str = ""


class _TableKind(kinds.Kind):
    """Base class of the kinds of values that are tables."""

    @property
    def allowed(self) -> str:
        return "a table of keys"

    def read(self, node: Node, at: kinds.ValuePlace) -> Any:
        if isinstance(node, YamlTable):
            return self.read_table(node, at)
        at.refuse(node, self.allowed)
        return None

    def read_table(self, node: YamlTable, at: kinds.ValuePlace) -> Any:
        """Return the value of a table, or None after an error."""
        raise NotImplementedError


@dataclass(frozen=True)
class Table(_TableKind):
    """A table of known keys.

    Attributes:
        name: its name in messages; empty: the name of its value.
        keys: its rows.
        one: keys of which exactly one is needed.
        code: code of the error that more or fewer of these keys are given.
        make: makes the value from all fields, if they have no error; None: the fields are the
            value.
        owner: element of its values, but not of its keys; empty: the same element.
    """

    name: str
    keys: tuple[Key, ...]
    one: tuple[str, ...] = ()
    code: str = "bad-value"
    make: Callable[..., Any] | None = None
    owner: str = ""

    @property
    def allowed(self) -> str:
        alone = self.one and len(self.one) == len(self.keys)
        return f"a table of one of {', '.join(self.one)}" if alone else "a table of keys"

    @cached_property
    def rows(self) -> dict[str, Key]:
        """The rows by name."""
        return {key.name: key for key in self.keys}

    def read_table(self, node: YamlTable, at: kinds.ValuePlace) -> Any:
        called, given = self.name or at.what, Given(node, at.owner, at.audit)
        self._check_keys(given, called)
        if self.owner:
            at = kinds.ValuePlace(at.audit, self.owner)
            given.owner = self.owner
        several = self._check_one(given, called) > 1
        for name, below in node.nodes.items():
            if name in self.rows and not (several and name in self.one):
                row = self.rows[name]
                given.add(row.field or name, row.kind.read(below, at.inside(name)))
        if self.make is None:
            return given
        return self.make(**given) if given.sound else None

    def _check_keys(self, given: Given, called: str) -> None:
        """Add an error for each missing or unknown key, and add the defaults.

        `called` is the name of the table in messages.
        """
        for name in given.lines:
            if name not in self.rows:
                hint = given.audit.hint(name, self.rows)
                known = listing(self.rows, most=len(self.rows))
                message = f"the key {quote(name)} of the {called} is unknown{hint}"
                if not hint:
                    message = (
                        f"the {called} cannot have the key {quote(name)}; allowed are {known}"
                    )
                given.error("unknown-key", name, message, found=name, allowed=known)
        for key in self.keys:
            if key.needed and key.name not in given.lines:
                message = f"the {called} has no key {quote(key.name)}"
                given.error("missing-key", "", message, allowed=key.name)
            elif key.default is not None and key.name not in given.lines:
                given[key.field or key.name] = key.default

    def _check_one(self, given: Given, called: str) -> int:
        """Add an error unless exactly one of self.one is given; return how many are given."""
        there = [name for name in given.lines if name in self.one]
        misspelled = not there and any(name not in self.rows for name in given.lines)
        if self.one and len(there) != 1 and not misspelled:
            found, allowed = " and ".join(there) or "none", ", ".join(self.one)
            message = f"the {called} must have exactly one of {allowed}; it has {found}"
            given.error(self.code, "", message, found=found, allowed=allowed)
        return len(there)

    def schema(self) -> kinds.Schema:
        rows = {key.name: key.kind.schema() | {"description": key.doc} for key in self.keys}
        found: kinds.Schema = {"type": "object", "properties": rows, "additionalProperties": False}
        needed = [key.name for key in self.keys if key.needed]
        found |= {"required": needed} if needed else {}
        return found | ({"oneOf": [{"required": [name]} for name in self.one]} if self.one else {})


def table(
    name: str,
    *keys: Key,
    one: tuple[str, ...] = (),
    code: str = "bad-value",
    make: Callable[..., Any] | None = None,
    owner: str = "",
) -> Table:
    """Return the Table of some rows; arguments as the attributes of Table."""
    return Table(name, keys, one, code, make, owner)


@dataclass(frozen=True)
class ByName(kinds.Kind):
    """A table whose keys are names: of elements, or of parts of an element.

    Attributes:
        kind: kind of each value.
        each: noun for a value, such as "joint".
        element: word for a value in messages, if the values are elements.
        empty: whether a missing value is read as an empty table.
        own: keys that are not names, and their kinds.
    """

    kind: kinds.Kind
    each: str
    element: str = ""
    empty: bool = False
    own: Mapping[str, kinds.Kind] = field(default_factory=dict)

    @property
    def allowed(self) -> str:
        each = f"{self.each[:-1]}ie" if self.each.endswith("y") else self.each
        return f"a table of {each}s by name"

    def read(self, node: Node, at: kinds.ValuePlace) -> Given | None:
        if self.empty and kinds.is_nothing(node):
            node = YamlTable(node.line)
        if not isinstance(node, YamlTable):
            at.refuse_several(node, self.allowed)
            return None
        found = Given(node, at.owner, at.audit)
        for name, below in node.nodes.items():
            owner = "" if name in self.own else self.owner_of(name)
            part = at.named(f"{at.what or 'value'} of {quote(name)}")
            place = kinds.ValuePlace(at.audit, owner) if owner else part
            found.add(name, self.own.get(name, self.kind).read(below, place))
        return found

    def owner_of(self, name: str) -> str:
        """Return the element of a name, or "" if the table has no element."""
        return f"{self.element} {quote(name)}" if self.element else ""

    def schema(self) -> kinds.Schema:
        own = {name: kind.schema() for name, kind in self.own.items()}
        found: kinds.Schema = {"type": ["object", "null"] if self.empty else "object"}
        found |= {"properties": own} if own else {}
        return found | {"additionalProperties": self.kind.schema()}


@dataclass(frozen=True)
class ByType(_TableKind):
    """A table whose rows depend on the word of a key.

    Attributes:
        key: name of the key that has the word.
        tables: the table for each word.
    """

    key: str
    tables: Mapping[str, Table]

    def read_table(self, node: YamlTable, at: kinds.ValuePlace) -> Any:
        choice, below = kinds.OneOf(tuple(self.tables)), node.nodes.get(self.key)
        if below is None:
            message = f"it has no key {quote(self.key)}; allowed is {choice.allowed}"
            at.error("missing-key", node.line, message, allowed=choice.allowed)
            return None
        word = choice.read(below, at.named(self.key))
        return None if word is None else self.tables[word].read(node, at)

    def schema(self) -> kinds.Schema:
        cases: list[kinds.Schema] = [
            {"if": {"properties": {self.key: {"const": word}}}, "then": table.schema()}
            for word, table in self.tables.items()
        ]
        words = {self.key: {"enum": list(self.tables)}}
        base: kinds.Schema = {"type": "object", "required": [self.key], "properties": words}
        return base | {"allOf": cases}


@dataclass(frozen=True)
class WithKey(kinds.Kind):
    """A table whose rows depend on whether some of these keys are in it.

    Attributes:
        keys: names of the keys.
        present: the table with one of these keys.
        absent: the table without these keys.
    """

    keys: tuple[str, ...]
    present: kinds.Kind
    absent: kinds.Kind

    allowed = "a table of keys"

    def read(self, node: Node, at: kinds.ValuePlace) -> Any:
        there = isinstance(node, YamlTable) and any(key in node.nodes for key in self.keys)
        return (self.present if there else self.absent).read(node, at)

    def schema(self) -> kinds.Schema:
        there = [{"required": [key]} for key in self.keys]
        found: kinds.Schema = {"type": "object", "if": {"anyOf": there}}
        return found | {"then": self.present.schema(), "else": self.absent.schema()}
