# SPDX-License-Identifier: Apache-2.0
"""The kinds of single values and lists in YAML files; tables.py has the tables.

A kind reads a node or refuses it with its line, describes in words what it allows, and has a JSON
schema.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.description.parts.bounds import BOUNDS, audit_range
from rbdyn_ros.description.yaml_files.text import Items, Node, Scalar, YamlTable
from rbdyn_ros.errors import counted, exactly, quote

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
    """Return the number in a node, or None; only with `infinite` may the number be infinite."""
    if not isinstance(node, Scalar) or node.quoted:
        return None
    if infinite and node.text.lower() in _INFINITE:
        return _INFINITE[node.text.lower()]
    value = float(node.text) if _NUMBER.fullmatch(node.text) else math.inf
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """The place of a value.

    Attributes:
        audit: receives the errors.
        owner: the element that has the value; empty: the document.
        what: name of the value; empty: it is the element itself.
    """

    audit: Audit
    owner: str = ""
    what: str = ""

    def named(self, what: str) -> "ValuePlace":
        """Return the place of a value with another name."""
        return replace(self, what=what)

    def inside(self, name: str) -> "ValuePlace":
        """Return the place of a key of the table at this place."""
        table = self.what.removeprefix("value of ").partition(" of ")[0]
        return self.named(f"{name} of {table}" if table else name)

    def subject(self, node: Node) -> Subject:
        """Return the element for findings at the line of a node."""
        return Subject(self.audit, self.owner, node.line)

    def error(
        self, code: str, line: int, message: str, *, found: str = "", allowed: str = ""
    ) -> None:
        """Add an error with its code and its line."""
        self.audit.error(code, self.owner, line, message, found=found, allowed=allowed)

    def refuse(self, node: Node, allowed: str, *, verb: str = "is") -> None:
        """Add the error that a node has a value that is not allowed.

        The message is "WHAT VERB VALUE, not ALLOWED".
        """
        element = self.owner.removeprefix("the ").partition(" '")[0].removesuffix(" of")
        element = element.rpartition(": ")[2]
        shown = "a table" if isinstance(node, YamlTable) else "a list"
        if isinstance(node, Scalar):
            shown = quote(node.text) if node.text else "empty"
        advice = _advice(node) if "number" in allowed and "whole" not in allowed else ""
        message = f"{self.what or f'the {element}'} {verb} {shown}, not {allowed}{advice}"
        self.error("bad-value", node.line, message, found=shown, allowed=allowed)

    def refuse_several(self, node: Node, allowed: str) -> None:
        """Add the error that a node is not a list or a table of names."""
        is_plural = self.what.partition(" of ")[0].endswith("s")
        self.refuse(node, allowed, verb="are" if is_plural else "is")


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
    return "; write decimals such as 0.5"


def is_sound(value: Any) -> bool:
    """Return whether a value was read without an error."""
    return value is not None and getattr(value, "sound", True)


class Kind:
    """Base class of the kinds of values: each reads a value and describes the allowed values."""

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        raise NotImplementedError

    def read(self, node: Node, at: ValuePlace) -> Any:
        """Return the value of a node, or None after an error."""
        value = self.value(node)
        if value is None:
            at.refuse(node, self.allowed)
        return value

    def value(self, node: Node) -> Any:
        """Return the value of a node, or None if the value is not allowed."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """Return the JSON schema of the value."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Kind):
    """A number.

    Attributes:
        low, high: the smallest and the largest number; infinite: no bound.
        above, below: bounds that the number must not reach; infinite: no bound.
        infinite: whether infinity is allowed.
        nonzero: whether 0 is refused.
        quantity: quantity of parts.bounds, whose range it has too; empty: no quantity.
        unit: unit for the reference; empty: no unit.
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
    def allowed(self) -> str:
        if self.infinite:
            return "a number or .inf"
        if self.nonzero:
            return "a number other than 0"
        text = "a finite number"
        if self.above > -math.inf:
            text = f"a number above {exactly(self.above)}"
            text += f" and at most {exactly(self.high)}" if self.high < math.inf else ""
        elif self.low > -math.inf:
            last = f" to {exactly(self.high)}" if self.high < math.inf else " or more"
            text = f"a number {'from' if last != ' or more' else 'of'} {exactly(self.low)}{last}"
        return f"{text} and below {exactly(self.below)}" if self.below < math.inf else text

    def read(self, node: Node, at: ValuePlace) -> float | None:
        value: float | None = super().read(node, at)
        if value is None or not self.quantity or math.isinf(value):
            return value
        fits = audit_range(at.what or "value", (value,), self.quantity, at.subject(node))
        return value if fits else None

    def value(self, node: Node) -> float | None:
        value = number_in(node, infinite=self.infinite)
        if value is None or math.isinf(value):
            return value
        inside = self.low <= value <= self.high and self.above < value < self.below
        return value if inside and not (self.nonzero and value == 0.0) else None

    def schema(self) -> Schema:
        low, high = self.low, self.high
        found: Schema = {"type": "number"}
        if self.quantity:
            bound = BOUNDS[self.quantity]
            low, high = max(low, -bound.high), min(high, bound.high)
            if bound.low:
                sizes: list[Schema] = [{"maximum": -bound.low}, {"minimum": bound.low}]
                found["anyOf"] = [{"const": 0}, *sizes]
        found["minimum"], found["maximum"] = low, high
        found["exclusiveMinimum"], found["exclusiveMaximum"] = self.above, self.below
        found = {name: end for name, end in found.items() if end not in (-math.inf, math.inf)}
        if self.nonzero:
            found["not"] = {"const": 0}
        infinite = {"type": "string", "pattern": r"^[+-]?\.(inf|Inf|INF)$"}
        return {"anyOf": [found, infinite]} if self.infinite else found


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number from low to high."""

    low: int = 0
    high: int = _MOST

    @property
    def allowed(self) -> str:
        if self == Whole():
            return "one of 0, 1, 2, ..."
        return f"a whole number from {self.low} to {self.high}"

    def value(self, node: Node) -> int | None:
        fits = isinstance(node, Scalar) and not node.quoted and _WHOLE.fullmatch(node.text)
        value = int(node.text) if fits and isinstance(node, Scalar) else -1
        return value if self.low <= value <= self.high else None

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


class Flag(Kind):
    """True or false."""

    allowed = "true or false"

    def value(self, node: Node) -> bool | None:
        return _FLAGS.get(node.text) if isinstance(node, Scalar) and not node.quoted else None

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Name(Kind):
    """A name: the characters as written, even if YAML would read another type.

    Attributes:
        allowed: allowed names, in words.
    """

    allowed: str = "a name"

    def value(self, node: Node) -> str | None:
        named = isinstance(node, Scalar) and not is_nothing(node) and node.text.strip()
        return node.text if named and isinstance(node, Scalar) else None

    def schema(self) -> Schema:
        return {"type": ["string", "number", "boolean"], "pattern": r"\S"}


@dataclass(frozen=True)
class Form(Name):
    """A name of a certain form.

    Attributes:
        pattern: regular expression of the whole name.
    """

    pattern: str = ".*"

    def value(self, node: Node) -> str | None:
        name = Name.value(self, node)
        return name if name is not None and re.fullmatch(self.pattern, name) else None

    def schema(self) -> Schema:
        return {"type": "string", "pattern": f"^({self.pattern})$"}


@dataclass(frozen=True)
class OneOf(Kind):
    """One of some words.

    Attributes:
        words: the allowed words.
        code: code of the error about another word.
    """

    words: Sequence[str]
    code: str = "bad-value"

    @property
    def allowed(self) -> str:
        return f"one of {', '.join(self.words)}"

    def read(self, node: Node, at: ValuePlace) -> str | None:
        word: str | None = Name(self.allowed).read(node, at)
        if word is None or word in self.words:
            return word
        hint = at.audit.hint(word, self.words)
        message = f"{at.what} is {quote(word)}{hint}; allowed is {self.allowed}"
        at.error(self.code, node.line, message, found=word, allowed=self.allowed)
        return None

    def schema(self) -> Schema:
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class NumberList(Kind):
    """A list of numbers.

    Attributes:
        count: how many numbers; None: any number.
        each: the allowed numbers, or a Number for each position in the list.
    """

    count: int | None = None
    each: Number | tuple[Number, ...] = Number()

    @property
    def allowed(self) -> str:
        return "a list of numbers" if self.count is None else f"a list of {self.count} numbers"

    def read(self, node: Node, at: ValuePlace) -> tuple[float, ...] | None:
        if not isinstance(node, Items):
            at.refuse(node, self.allowed)
            return None
        if self.count is not None and len(node.nodes) != self.count:
            message = f"{at.what} has {counted(len(node.nodes), 'number')}, not {self.count}"
            at.error("bad-value", node.line, message, allowed=f"{self.count} numbers")
            return None
        known: list[float] = []
        for place, item in enumerate(node.nodes):
            kind = self.each[place] if isinstance(self.each, tuple) else self.each
            if number_in(item) is None:
                at.refuse(item, "finite numbers", verb="holds")
                return None
            value = kind.read(item, at)
            if value is None:
                return None
            known.append(value)
        return tuple(known)

    def schema(self) -> Schema:
        several = isinstance(self.each, tuple)
        kinds = self.each if isinstance(self.each, tuple) else (self.each,)
        schemas = [kind.schema() for kind in kinds]
        found: Schema = {"type": "array", "items": schemas if several else schemas[0]}
        return found | _sizes(self.count or 0, self.count)


#: Three numbers.
VECTOR = NumberList(3)


def _sizes(least: int, most: int | None) -> Schema:
    return ({"minItems": least} if least else {}) | ({} if most is None else {"maxItems": most})


@dataclass(frozen=True)
class List(Kind):
    """A list of values of one kind.

    Attributes:
        item: kind of the values.
        each: name of a value, for messages.
        least, most: smallest and largest number of values; None: any number of values.
    """

    item: Kind
    each: str
    least: int = 0
    most: int | None = None

    @property
    def allowed(self) -> str:
        if self.most is not None:
            return f"a list of {self.least} to {self.most} {self.each}s"
        return f"a list of one {self.each} or more" if self.least else f"a list of {self.each}s"

    def read(self, node: Node, at: ValuePlace) -> tuple[Any, ...] | None:
        if not isinstance(node, Items):
            at.refuse_several(node, self.allowed)
            return None
        count = len(node.nodes)
        if count < self.least or (self.most is not None and count > self.most):
            message = (
                f"the list {quote(at.what)} has {count} {self.each}s; allowed is {self.allowed}"
            )
            at.error("bad-value", node.line, message, allowed=self.allowed)
            return None
        found = []
        for number, item in enumerate(node.nodes, 1):
            found.append(self.item.read(item, at.named(f"{self.each} {number}")))
            if found[-1] is None and isinstance(self.item, NumberList):
                break  # report only the first wrong value, as there may be thousands
        return tuple(found) if all(map(is_sound, found)) else None

    def schema(self) -> Schema:
        found: Schema = {"type": "array", "items": self.item.schema()}
        return found | _sizes(self.least, self.most)


@dataclass(frozen=True)
class Either(Kind):
    """A scalar, a list or a table, each with its kind; None: such a value is not allowed."""

    scalar: Kind | None = None
    items: Kind | None = None
    table: Kind | None = None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that are allowed."""
        return tuple(kind for kind in (self.scalar, self.items, self.table) if kind is not None)

    @property
    def allowed(self) -> str:
        return " or ".join(kind.allowed for kind in self.kinds)

    def read(self, node: Node, at: ValuePlace) -> Any:
        kind = {Scalar: self.scalar, Items: self.items, YamlTable: self.table}[type(node)]
        if kind is None:
            at.refuse(node, self.allowed)
            return None
        return kind.read(node, at)

    def schema(self) -> Schema:
        return {"anyOf": [kind.schema() for kind in self.kinds]}


@dataclass(frozen=True)
class OrNothing(Kind):
    """A value that may be empty, which is read as `nothing`."""

    kind: Kind
    nothing: Any

    @property
    def allowed(self) -> str:
        return f"{self.kind.allowed}, or nothing"

    def read(self, node: Node, at: ValuePlace) -> Any:
        return self.nothing if is_nothing(node) else self.kind.read(node, at)

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "null"}, self.kind.schema()]}


@dataclass(frozen=True)
class Owned(Kind):
    """A value that is an element of the file; errors name the element."""

    kind: Kind
    owner: str

    @property
    def allowed(self) -> str:
        return self.kind.allowed

    def read(self, node: Node, at: ValuePlace) -> Any:
        return self.kind.read(node, ValuePlace(at.audit, self.owner))

    def schema(self) -> Schema:
        return self.kind.schema()
