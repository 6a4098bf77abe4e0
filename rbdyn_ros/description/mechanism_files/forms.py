"""Read tables, numbers and names from YAML nodes; everything else is an error."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from typing import TypeVar

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.rotations import unit_quaternion
from rbdyn_ros.description.mechanism_files.yaml_text import Items, Node, Scalar, YamlTable
from rbdyn_ros.description.parts.bounds import audit_range
from rbdyn_ros.description.parts.poses import Pose, Vec3, quat_from_rpy
from rbdyn_ros.errors import listing, quote

# The digits are written out: [0-9] is ASCII only. No leading zeros: in YAML 1.1 010 is eight.
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf}
_NOT_FINITE = re.compile(r"[+-]?\.?(nan|inf|infinity)", re.IGNORECASE)
_WHOLE = re.compile(r"0|[1-9][0-9]{0,9}")
#: The keys of a pose in every element.
AT = ("xyz", "rpy")
_NOTHING = ("", "~", "null")
_FLAGS = {"true": True, "false": False}

T = TypeVar("T")


def is_nothing(node: Node | None) -> bool:
    """Return whether a key is missing or empty."""
    return node is None or (isinstance(node, Scalar) and not node.quoted and node.text in _NOTHING)


class Form:
    """Reads the nodes of a document; a method returns None after an error.

    Every method takes the node, its name in messages, and its element.
    """

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    def wrong(self, node: Node, what: str, owner: str, allowed: str, *, verb: str = "is") -> None:
        """Add the error that a node has a value that is not allowed."""
        shown = "a table" if isinstance(node, YamlTable) else "a list"
        if isinstance(node, Scalar):
            shown = quote(node.text) if node.text else "empty"
        advice = _advice(node) if "number" in allowed else ""
        message = f"the {what} {verb} {shown}, not {allowed}{advice}"
        self.audit.error("bad-value", owner, node.line, message, found=shown, allowed=allowed)

    def table(
        self,
        node: Node,
        what: str,
        owner: str,
        allowed: Collection[str],
        needed: Collection[str] = (),
    ) -> YamlTable | None:
        """Return a table with allowed keys only, and all needed keys."""
        if not isinstance(node, YamlTable):
            self.wrong(node, what, owner, "a table of keys")
            return None
        sound = True
        for key, line in node.lines.items():
            if key not in allowed:
                sound = False
                hint = self.audit.hint(key, allowed)
                known = listing(allowed, most=len(allowed))
                message = f"the key {quote(key)} of the {what} is unknown{hint}"
                message += "" if hint else f"; allowed are {known}"
                self.audit.error("unknown-key", owner, line, message, found=key, allowed=known)
        for key in needed:
            if key not in node.nodes:
                sound = False
                message = f"the {what} has no key {quote(key)}"
                self.audit.error("missing-key", owner, node.line, message, allowed=key)
        return node if sound else None

    def name(self, node: Node, what: str, owner: str) -> str | None:
        """Return a name: the characters as written, whatever type YAML would give them."""
        if isinstance(node, Scalar) and not is_nothing(node) and node.text.strip():
            return node.text
        self.wrong(node, what, owner, "a name")
        return None

    def flag(self, node: Node, what: str, owner: str) -> bool | None:
        """Return true or false."""
        if isinstance(node, Scalar) and not node.quoted and node.text in _FLAGS:
            return _FLAGS[node.text]
        self.wrong(node, what, owner, "true or false")
        return None

    def flag_of(self, table: YamlTable, key: str, owner: str, *, default: bool = False) -> bool:
        """Return the value of a key that is true or false."""
        node = table.nodes.get(key)
        return default if node is None else bool(self.flag(node, key, owner))

    def number(self, node: Node, what: str, owner: str, *, infinite: bool = False) -> float | None:
        """Return a number, finite unless `infinite`."""
        value = _value(node, infinite)
        if value is None:
            self.wrong(node, what, owner, "a number or .inf" if infinite else "a finite number")
        return value

    def whole(self, node: Node, what: str, owner: str) -> int | None:
        """Return a whole number, 0 or more."""
        if isinstance(node, Scalar) and not node.quoted and _WHOLE.fullmatch(node.text):
            return int(node.text)
        self.wrong(node, what, owner, "one of 0, 1, 2, ...")
        return None

    def items(
        self,
        node: Node,
        what: str,
        each: str,
        owner: str,
        read: Callable[[Node, str, str], T | None],
    ) -> tuple[T, ...] | None:
        """Return the items of a list, each read by `read`."""
        if not isinstance(node, Items):
            verb = "are" if what.endswith("s") else "is"
            self.wrong(node, what, owner, f"a list of {each}s", verb=verb)
            return None
        read_items = [
            read(item, f"{each} {number}", owner) for number, item in enumerate(node.nodes, 1)
        ]
        known = tuple(item for item in read_items if item is not None)
        return known if len(known) == len(read_items) else None

    def numbers(
        self, node: Node, what: str, owner: str, count: int | None = None
    ) -> tuple[float, ...] | None:
        """Return a list of finite numbers, of a given length if there is one."""
        if not isinstance(node, Items):
            wanted = "a list of numbers" if count is None else f"a list of {count} numbers"
            self.wrong(node, what, owner, wanted)
            return None
        if count is not None and len(node.nodes) != count:
            message = f"{len(node.nodes)} numbers are given for the {what}, not {count}"
            self.audit.error("bad-value", owner, node.line, message, allowed=f"{count} numbers")
            return None
        known = []
        for item in node.nodes:
            value = _value(item)
            if value is None:
                self.wrong(item, what, owner, "finite numbers", verb="holds")
                return None
            known.append(value)
        return tuple(known)

    def vector(self, node: Node, what: str, owner: str) -> Vec3 | None:
        """Return three numbers."""
        values = self.numbers(node, what, owner, 3)
        return None if values is None else (values[0], values[1], values[2])

    def point(self, node: Node, what: str, owner: str) -> tuple[str, Vec3] | None:
        """Return a link and a point in its frame: a table of `link` and `xyz`."""
        table = self.table(node, what, owner, ("link", "xyz"), ("link",))
        if table is None:
            return None
        link = self.name(table.nodes["link"], "link", owner)
        at: Vec3 | None = (0.0, 0.0, 0.0)
        if "xyz" in table.nodes:
            at = self.vector(table.nodes["xyz"], "xyz", owner)
        return None if link is None or at is None else (link, at)

    def pose(self, table: YamlTable, owner: str, before: Pose) -> Pose | None:
        """Return the pose of the `xyz` and `rpy` of a table; missing ones are as before."""
        pos: Vec3 | None = before.pos
        angles: Vec3 | None = None
        if "xyz" in table.nodes:
            pos = self.vector(table.nodes["xyz"], "xyz", owner)
        if "rpy" in table.nodes:
            angles, line = self.vector(table.nodes["rpy"], "rpy", owner), table.lines["rpy"]
            # a description has quaternions only
            if angles is None or not audit_range("rpy", angles, "angle", owner, line, self.audit):
                return None
        if pos is None:
            return None
        return Pose(pos, before.quat if angles is None else quat_from_rpy(*angles))

    def placement(self, table: YamlTable, owner: str) -> Pose | None:
        """Return the pose of the `xyz`, and of the `rpy` or the `quat` (w, x, y, z) of a table."""
        at = self.pose(table, owner, Pose())
        if "quat" not in table.nodes or at is None:
            return at
        line = table.lines["quat"]
        if "rpy" in table.nodes:
            message = "has both 'rpy' and 'quat'; delete one"
            self.audit.error("duplicate-key", owner, line, message, found="quat")
            return None
        given = self.numbers(table.nodes["quat"], "quat", owner, 4)
        if given is None:
            return None
        unit = unit_quaternion(given)
        if unit is None:
            message = f"the quat has length {math.hypot(*given):g}; it must be 1: w, x, y, z of a "
            message += "rotation"
            self.audit.error(
                "bad-quaternion", owner, line, message, found=str(given), allowed="length 1"
            )
            return None
        w, x, y, z = unit
        return Pose(at.pos, (w, x, y, z))


def _value(node: Node, infinite: bool = False) -> float | None:
    """Return the number in a node, or None."""
    if not isinstance(node, Scalar) or node.quoted:
        return None
    if infinite and node.text.lower() in _INFINITE:
        return _INFINITE[node.text.lower()]
    if not _NUMBER.fullmatch(node.text):
        return None
    value = float(node.text)
    return value if math.isfinite(value) else None


def _advice(node: Node) -> str:
    if not isinstance(node, Scalar) or not node.text:
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
