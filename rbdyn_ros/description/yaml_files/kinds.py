"""The kinds of values in YAML files.

A kind reads a node, or refuses it with its line, and it prints itself as a JSON schema. `read`
returns None after an error. Its arguments are the node, the name of the value in messages, the
element that has it, and the audit that receives the errors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.parts.bounds import BOUNDS, audit_range
from rbdyn_ros.description.yaml_files.text import Items, Node, Scalar, YamlTable
from rbdyn_ros.errors import exactly, listing, quote

# The digits are written out: [0-9] is ASCII only. No leading zeros: in YAML 1.1 010 is eight.
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf}
_NOT_FINITE = re.compile(r"[+-]?\.?(nan|inf|infinity)", re.IGNORECASE)
_WHOLE = re.compile(r"0|[1-9][0-9]{0,15}")
_MOST = 9_999_999_999
_NOTHING = ("", "~", "null")
_FLAGS = {"true": True, "false": False}

Schema = dict[str, Any]


def is_nothing(node: Node | None) -> bool:
    """Return whether a key is missing or empty."""
    return node is None or (isinstance(node, Scalar) and not node.quoted and node.text in _NOTHING)


def number_in(node: Node, *, infinite: bool = False) -> float | None:
    """Return the number in a node, or None."""
    if not isinstance(node, Scalar) or node.quoted:
        return None
    if infinite and node.text.lower() in _INFINITE:
        return _INFINITE[node.text.lower()]
    if not _NUMBER.fullmatch(node.text):
        return None
    value = float(node.text)
    return value if math.isfinite(value) else None


def refuse_value(
    node: Node, what: str, owner: str, audit: Audit, allowed: str, *, verb: str = "is"
) -> None:
    """Add the error that a node has a value that is not allowed."""
    what = what or owner.removeprefix("the ").partition(" '")[0].removesuffix(" of")
    shown = "a table" if isinstance(node, YamlTable) else "a list"
    if isinstance(node, Scalar):
        shown = quote(node.text) if node.text else "empty"
    advice = _advice(node) if "number" in allowed and "whole" not in allowed else ""
    message = f"the {what} {verb} {shown}, not {allowed}{advice}"
    audit.error("bad-value", owner, node.line, message, found=shown, allowed=allowed)


def _verb(what: str) -> str:
    """Return the verb after the name of a list or a table of names."""
    return "are" if what.partition(" of ")[0].endswith("s") else "is"


def _advice(node: Node) -> str:
    if not isinstance(node, Scalar) or not node.text or number_in(node) is not None:
        return ""
    text = node.text
    if node.quoted:
        return "; write it without quotes"
    if _NOT_FINITE.fullmatch(text):
        return ""
    if "," in text:
        return "; write a decimal point"
    if "_" in text:
        return "; digits cannot be grouped by '_'"
    if re.fullmatch(r"[+-]?0[0-9]+(\.[0-9]*)?", text):
        return "; write it without leading zeros"
    return "; write decimals such as -0.5"


class Given(dict[str, Any]):
    """The values of a table by field; wrong ones are left out.

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
        """Line of each key, also of a wrong one."""
        return self.node.lines

    def add(self, field_: str, value: Any) -> None:
        """Add the value of a key; None: it is wrong."""
        if value is None or (isinstance(value, Given) and not value.sound):
            self.sound = False
        if value is not None:
            self[field_] = value

    def error(
        self, code: str, key: str, message: str, *, found: str = "", allowed: str = ""
    ) -> None:
        """Add an error at the line of a key, or of the table if it lacks the key."""
        self.sound = False
        line = self.lines.get(key, self.line)
        self.audit.error(code, self.owner, line, message, found=found, allowed=allowed)

    def wrong(self, key: str, allowed: str, what: str = "") -> None:
        """Add the error that the value of a key is not allowed."""
        self.sound = False
        refuse_value(self.node.nodes[key], what or key, self.owner, self.audit, allowed)


class Kind:
    """A kind of value; `allowed` says in words which values it takes."""

    allowed = "a value"

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> Any:
        """Return the value of a node; None after an error."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """Return the JSON schema of the value."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Kind):
    """A number.

    Attributes:
        low, high: the smallest and the largest one.
        above, below: it is not allowed to reach these.
        infinite: whether infinity is allowed.
        nonzero: whether 0 is refused.
        quantity: of checks.bounds, whose range it has too; empty: none.
        unit: for the reference.
    """

    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    infinite: bool = False
    nonzero: bool = False
    quantity: str = ""
    unit: str = ""

    @property
    def allowed(self) -> str:  # type: ignore[override]
        text = "a number" if self.infinite else "a finite number"
        if self.nonzero:
            text = "a number other than 0"
        elif self.above > -math.inf:
            text = f"a number above {exactly(self.above)}"
            text += f", at most {exactly(self.high)}" if self.high < math.inf else ""
        elif self.low > -math.inf and self.high < math.inf:
            text = f"a number from {exactly(self.low)} to {exactly(self.high)}"
        elif self.low > -math.inf:
            text = f"a number of {exactly(self.low)} or more"
        text += f", below {exactly(self.below)}" if self.below < math.inf else ""
        return f"{text} or .inf" if self.infinite else text

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> float | None:
        value = number_in(node, infinite=self.infinite)
        if value is None or not self._fits(value):
            refuse_value(node, what, owner, audit, self.allowed)
            return None
        if not self.quantity or math.isinf(value):
            return value
        fits = audit_range(what, (value,), self.quantity, owner, node.line, audit)
        return value if fits else None

    def _fits(self, value: float) -> bool:
        if math.isinf(value):
            return value <= self.high and value >= self.low
        inside = self.low <= value <= self.high and self.above < value < self.below
        return inside and not (self.nonzero and value == 0.0)

    def schema(self) -> Schema:
        ends = {
            "minimum": self.low,
            "maximum": self.high,
            "exclusiveMinimum": self.above,
            "exclusiveMaximum": self.below,
        }
        found: Schema = {"type": "number"}
        if self.quantity:
            bound = BOUNDS[self.quantity]
            ends["minimum"] = max(self.low, -bound.high)
            ends["maximum"] = min(self.high, bound.high)
            if bound.low:
                sizes: list[Schema] = [{"maximum": -bound.low}, {"minimum": bound.low}]
                found["anyOf"] = [{"const": 0}, *sizes]
        found |= {name: end for name, end in ends.items() if math.isfinite(end)}
        if self.nonzero:
            found["not"] = {"const": 0}
        if self.infinite:
            return {"anyOf": [found, {"pattern": r"^[+-]?\.(inf|Inf|INF)$", "type": "string"}]}
        return found


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number from low to high."""

    low: int = 0
    high: int = _MOST

    @property
    def allowed(self) -> str:  # type: ignore[override]
        if self.high < _MOST or self.low > 0:
            return f"a whole number from {self.low} to {self.high}"
        return "one of 0, 1, 2, ..."

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> int | None:
        if isinstance(node, Scalar) and not node.quoted and _WHOLE.fullmatch(node.text):
            value = int(node.text)
            if self.low <= value <= self.high:
                return value
        refuse_value(node, what, owner, audit, self.allowed)
        return None

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": min(self.high, _MOST)}


@dataclass(frozen=True)
class Flag(Kind):
    """True or false."""

    allowed = "true or false"

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> bool | None:
        if isinstance(node, Scalar) and not node.quoted and node.text in _FLAGS:
            return _FLAGS[node.text]
        refuse_value(node, what, owner, audit, self.allowed)
        return None

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Name(Kind):
    """A name: the characters as written, whatever type YAML would give them.

    Attributes:
        allowed: which names.
    """

    allowed: str = "a name"

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> str | None:
        if isinstance(node, Scalar) and not is_nothing(node) and node.text.strip():
            return node.text
        refuse_value(node, what, owner, audit, self.allowed)
        return None

    def schema(self) -> Schema:
        return {"type": ["string", "number", "boolean"], "pattern": r"\S"}


@dataclass(frozen=True)
class Choice(Kind):
    """One of some words.

    Attributes:
        words: the words.
        code: of the error about another word.
    """

    words: Sequence[str]
    code: str = "bad-value"

    @property
    def allowed(self) -> str:  # type: ignore[override]
        return f"one of {', '.join(self.words)}"

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> str | None:
        word = Name(self.allowed).read(node, what, owner, audit)
        if word is None or word in self.words:
            return word
        message = f"the {what} is {quote(word)}{audit.hint(word, self.words)}; allowed is"
        message = f"{message} {self.allowed}"
        audit.error(self.code, owner, node.line, message, found=word, allowed=self.allowed)
        return None

    def schema(self) -> Schema:
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class Row(Kind):
    """A list of numbers.

    Attributes:
        count: how many; None: any number of them.
        each: what each of them may be; several: one for each place.
    """

    count: int | None = None
    each: Number | tuple[Number, ...] = Number()

    @property
    def allowed(self) -> str:  # type: ignore[override]
        return "a list of numbers" if self.count is None else f"a list of {self.count} numbers"

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> tuple[float, ...] | None:
        if not isinstance(node, Items):
            refuse_value(node, what, owner, audit, self.allowed)
            return None
        if self.count is not None and len(node.nodes) != self.count:
            message = f"{len(node.nodes)} numbers are given for the {what}, not {self.count}"
            allowed = f"{self.count} numbers"
            audit.error("bad-value", owner, node.line, message, allowed=allowed)
            return None
        known: list[float] = []
        for place, item in enumerate(node.nodes):
            kind = self.each[place] if isinstance(self.each, tuple) else self.each
            value = number_in(item)
            if value is None:
                refuse_value(item, what, owner, audit, "finite numbers", verb="holds")
            else:
                value = kind.read(item, what, owner, audit)
            if value is None:
                return None
            known.append(value)
        return tuple(known)

    def schema(self) -> Schema:
        found: Schema = {"type": "array"}
        if isinstance(self.each, tuple):
            found["items"] = [kind.schema() for kind in self.each]
        else:
            found["items"] = self.each.schema()
        if self.count is not None:
            found |= {"minItems": self.count, "maxItems": self.count}
        return found


#: Three numbers.
VECTOR = Row(3)


@dataclass(frozen=True)
class List(Kind):
    """A list of values of one kind.

    Attributes:
        item: their kind.
        each: name of one of them, for messages.
        least, most: how many of them.
        code: of the error about another number of them.
    """

    item: Kind
    each: str
    least: int = 0
    most: int | None = None

    @property
    def allowed(self) -> str:  # type: ignore[override]
        if self.most is not None:
            return f"a list of {self.least} to {self.most} {self.each}s"
        return (
            f"a list of {self.least} {self.each}s or more"
            if self.least > 1
            else (f"a list of {self.each}s")
        )

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> tuple[Any, ...] | None:
        if not isinstance(node, Items):
            refuse_value(node, what, owner, audit, self.allowed, verb=_verb(what))
            return None
        count = len(node.nodes)
        if count < self.least or (self.most is not None and count > self.most):
            message = f"the {what} has {count} {self.each}s, not {self.allowed}"
            audit.error("bad-value", owner, node.line, message, allowed=self.allowed)
            return None
        found = []
        for number, item in enumerate(node.nodes, 1):
            found.append(self.item.read(item, f"{self.each} {number}", owner, audit))
            if found[-1] is None and isinstance(self.item, Row):
                break  # the others may be as wrong, and thousands
        wrong = any(each is None or (isinstance(each, Given) and not each.sound) for each in found)
        return None if wrong else tuple(found)

    def schema(self) -> Schema:
        found: Schema = {"type": "array", "items": self.item.schema()}
        found |= {"minItems": self.least} if self.least else {}
        return found | ({} if self.most is None else {"maxItems": self.most})


@dataclass(frozen=True)
class Either(Kind):
    """A scalar, a list or a table, each of its own kind; None: not allowed."""

    scalar: Kind | None = None
    items: Kind | None = None
    table: Kind | None = None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that are allowed."""
        return tuple(kind for kind in (self.scalar, self.items, self.table) if kind is not None)

    @property
    def allowed(self) -> str:  # type: ignore[override]
        return " or ".join(kind.allowed for kind in self.kinds)

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> Any:
        of_type = {Scalar: self.scalar, Items: self.items, YamlTable: self.table}
        kind = of_type[type(node)]
        if kind is None:
            refuse_value(node, what, owner, audit, self.allowed)
            return None
        return kind.read(node, what, owner, audit)

    def schema(self) -> Schema:
        return {"anyOf": [kind.schema() for kind in self.kinds]}


@dataclass(frozen=True)
class OrNothing(Kind):
    """A value that may be empty, which is read as `value`."""

    kind: Kind
    value: Any

    @property
    def allowed(self) -> str:  # type: ignore[override]
        return f"{self.kind.allowed}, or nothing"

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> Any:
        return self.value if is_nothing(node) else self.kind.read(node, what, owner, audit)

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "null"}, self.kind.schema()]}


@dataclass(frozen=True)
class Key:
    """One row: a key of a table.

    Attributes:
        name: the key.
        kind: of its value.
        doc: its meaning, a phrase of one line.
        needed: whether the table must have it.
        default: the value without it; None: the key is left out then.
        field: name of the value in Given; empty: the key.
    """

    name: str
    kind: Kind
    doc: str
    needed: bool = False
    default: Any = None
    field: str = ""


@dataclass(frozen=True)
class Table(Kind):
    """A table of known keys.

    Attributes:
        name: in messages; empty: as its value is called.
        keys: its rows.
        one: keys of which exactly one is needed.
        code: of the error about more or fewer of them.
        make: makes the value of all fields, which then have no error; None: they are the value.
        owner: element of its values, but not of its keys; empty: the same.
    """

    name: str
    keys: tuple[Key, ...]
    one: tuple[str, ...] = ()
    code: str = "bad-value"
    make: Callable[..., Any] | None = None
    owner: str = ""

    @property
    def allowed(self) -> str:  # type: ignore[override]
        alone = self.one and len(self.one) == len(self.keys)
        return f"a table of one of {', '.join(self.one)}" if alone else "a table of keys"

    @cached_property
    def rows(self) -> dict[str, Key]:
        """The rows by name."""
        return {key.name: key for key in self.keys}

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> Any:
        if not isinstance(node, YamlTable):
            refuse_value(node, what or self.name, owner, audit, self.allowed)
            return None
        given = Given(node, owner, audit)
        called = "" if self.owner else what.removeprefix("value of ").partition(" of ")[0]
        self._check_keys(given, self.name or what)
        given.owner = owner = self.owner or owner
        self._check_one(given, self.name or what)
        several = sum(name in node.nodes for name in self.one) > 1
        for name, below in node.nodes.items():
            if name in self.rows and not (several and name in self.one):
                row = self.rows[name]
                below_what = f"{name} of {called}" if called else name
                given.add(row.field or name, row.kind.read(below, below_what, owner, audit))
        if self.make is None:
            return given
        return self.make(**given) if given.sound else None

    def _check_keys(self, given: Given, called: str) -> None:
        """Check which keys are there, and add the defaults."""
        for name in given.lines:
            if name not in self.rows:
                hint = given.audit.hint(name, self.rows)
                known = listing(self.rows, most=len(self.rows))
                message = f"the key {quote(name)} of the {called} is unknown{hint}"
                message += "" if hint else f"; allowed are {known}"
                given.error("unknown-key", name, message, found=name, allowed=known)
        for key in self.keys:
            if key.needed and key.name not in given.lines:
                message = f"the {called} has no key {quote(key.name)}"
                given.error("missing-key", "", message, allowed=key.name)
            elif key.default is not None and key.name not in given.lines:
                given[key.field or key.name] = key.default

    def _check_one(self, given: Given, called: str) -> None:
        """Check that exactly one of some keys is there."""
        there = [name for name in given.lines if name in self.one]
        if self.one and (len(there) > 1 or (given.sound and not there)):
            found, allowed = " and ".join(there) or "none", ", ".join(self.one)
            message = f"the {called} has {found} of {allowed}; it must have exactly one"
            given.error(self.code, "", message, found=found, allowed=allowed)

    def schema(self) -> Schema:
        found: Schema = {
            "type": "object",
            "properties": {
                key.name: key.kind.schema() | {"description": key.doc} for key in self.keys
            },
            "additionalProperties": False,
        }
        needed = [key.name for key in self.keys if key.needed]
        found |= {"required": needed} if needed else {}
        return found | ({"oneOf": [{"required": [name]} for name in self.one]} if self.one else {})


@dataclass(frozen=True)
class ByName(Kind):
    """A table whose keys are names: of elements, or of parts of one.

    Attributes:
        kind: of each value.
        each: what is named, such as "joint".
        element: word for each of them in messages, if they are elements.
        empty: whether nothing is an empty table.
        own: keys that are not names, and their kinds.
    """

    kind: Kind
    each: str
    element: str = ""
    empty: bool = False
    own: Mapping[str, Kind] = field(default_factory=dict)

    @property
    def allowed(self) -> str:  # type: ignore[override]
        each = f"{self.each[:-1]}ie" if self.each.endswith("y") else self.each
        return f"a table of {each}s by name"

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> Given | None:
        if self.empty and is_nothing(node):
            node = YamlTable(node.line)
        if not isinstance(node, YamlTable):
            refuse_value(node, what, owner, audit, self.allowed, verb=_verb(what))
            return None
        found = Given(node, owner, audit)
        for name, below in node.nodes.items():
            called, own = "", self.owner_of(name)
            if not own or name in self.own:
                own, called = owner, f"{what or 'value'} of {quote(name)}"
            found.add(name, self.own.get(name, self.kind).read(below, called, own, audit))
        return found

    def owner_of(self, name: str) -> str:
        """Return the element of a name; empty: the element that has the table."""
        return f"{self.element} {quote(name)}" if self.element else ""

    def schema(self) -> Schema:
        type_ = ["object", "null"] if self.empty else "object"
        found: Schema = {"type": type_, "additionalProperties": self.kind.schema()}
        own = {name: kind.schema() for name, kind in self.own.items()}
        return found | ({"properties": own} if own else {})


@dataclass(frozen=True)
class ByType(Kind):
    """A table whose rows depend on the word of a key.

    Attributes:
        key: the key.
        tables: the table for each word.
    """

    key: str
    tables: Mapping[str, Table]

    allowed = "a table of keys"

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> Any:
        if not isinstance(node, YamlTable):
            refuse_value(node, what, owner, audit, self.allowed)
            return None
        choice = Choice(tuple(self.tables))
        below = node.nodes.get(self.key)
        if below is None:
            message = f"it has no key {quote(self.key)}; allowed is {choice.allowed}"
            audit.error("missing-key", owner, node.line, message, allowed=choice.allowed)
            return None
        word = choice.read(below, self.key, owner, audit)
        return None if word is None else self.tables[word].read(node, what, owner, audit)

    def schema(self) -> Schema:
        cases: list[Schema] = [
            {"if": {"properties": {self.key: {"const": word}}}, "then": table.schema()}
            for word, table in self.tables.items()
        ]
        words = {self.key: {"enum": list(self.tables)}}
        base: Schema = {"type": "object", "required": [self.key], "properties": words}
        return base | {"allOf": cases}


@dataclass(frozen=True)
class WithKey(Kind):
    """A table whose rows depend on whether it has one of some keys.

    Attributes:
        keys: the keys.
        present: the table with one of them.
        absent: the table without.
    """

    keys: tuple[str, ...]
    present: Kind
    absent: Kind

    allowed = "a table of keys"

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> Any:
        there = isinstance(node, YamlTable) and any(key in node.nodes for key in self.keys)
        return (self.present if there else self.absent).read(node, what, owner, audit)

    def schema(self) -> Schema:
        there = [{"required": [key]} for key in self.keys]
        found: Schema = {"type": "object", "if": {"anyOf": there}}
        return found | {"then": self.present.schema(), "else": self.absent.schema()}


@dataclass(frozen=True)
class Owned(Kind):
    """A value that is an element of its own, in whose name its errors are reported."""

    kind: Kind
    owner: str

    @property
    def allowed(self) -> str:  # type: ignore[override]
        return self.kind.allowed

    def read(self, node: Node, what: str, owner: str, audit: Audit) -> Any:  # noqa: ARG002
        return self.kind.read(node, "", self.owner, audit)

    def schema(self) -> Schema:
        return self.kind.schema()


def section(top: Given, key: str) -> Given:
    """Return a table of elements; empty if it is missing or wrong."""
    found: Given | None = top.get(key)
    return Given(YamlTable(top.line), top.owner, top.audit) if found is None else found
