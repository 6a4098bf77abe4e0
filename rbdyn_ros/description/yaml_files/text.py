# SPDX-License-Identifier: Apache-2.0
"""Parse untrusted YAML into a small, safe tree of nodes with line numbers.

The tree has tables, lists and scalars as strings. Tags, anchors, aliases, merge keys and several
documents are refused, and more than guard.MAX_BYTES, MAX_DEPTH or MAX_NODES. kinds.py converts
scalars, so that the rules of YAML 1.1 do not apply (`1e-3` a string, `010` eight, `on` true).
"""

import importlib
from dataclasses import dataclass, field
from typing import Any, NoReturn

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.reading.guard import MAX_BYTES, refuse
from rbdyn_ros.errors import quote

MAX_DEPTH = 16
MAX_NODES = 1_000_000


@dataclass(slots=True)
class Scalar:
    """A string, and whether it is quoted in the file."""

    line: int
    text: str
    quoted: bool = False


@dataclass(slots=True)
class Items:
    """A list."""

    line: int
    nodes: "list[Node]" = field(default_factory=list)


@dataclass(slots=True)
class YamlTable:
    """A mapping of names to nodes.

    Attributes:
        line: line of its beginning.
        nodes: value of each key.
        lines: line of each key.
    """

    line: int
    nodes: "dict[str, Node]" = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


Node = Scalar | Items | YamlTable


def parse(data: bytes | str, source: str, audit: Audit, what: str) -> YamlTable:
    """Parse untrusted YAML.

    Args:
        data: the document; bytes are UTF-8.
        source: name of the document for messages.
        audit: receives an error for every repeated key; the first value is kept.
        what: name of the kind of document, with its article, for messages.

    Returns:
        The table of the whole document.

    Raises:
        DescriptionError: the document is empty, too large, too deep, not UTF-8, not YAML, not a
            table, or holds a tag, an anchor, an alias or a merge key.
    """
    if len(data) > MAX_BYTES:
        refuse("too-large", f"the document is larger than {MAX_BYTES >> 20} MiB", source)
    text = _decode(data, source)
    yaml: Any = importlib.import_module("yaml")
    # use the loader in C if available: it is twenty times as fast
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _TreeBuilder(source, audit, what)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(type(event).__name__, event)
    # bad escapes raise ValueError and OverflowError
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        _malformed(error, source)
    if builder.root is None:
        refuse("empty", f"the document is empty; {what} is a table of keys", source)
    if not isinstance(builder.root, YamlTable):
        message = f"the document is not a table of keys; {what} is one"
        refuse("not-a-table", message, source, builder.root.line)
    return builder.root


def _decode(data: bytes | str, source: str) -> str:
    try:
        if isinstance(data, bytes):
            return data.decode("utf-8-sig")
        data.encode("utf-8")  # a lone surrogate is not valid
        return data.removeprefix("\ufeff")
    except UnicodeError:
        refuse("bad-encoding", "the document is not valid UTF-8; save it as UTF-8", source)


def _malformed(error: Exception, source: str) -> NoReturn:
    mark = getattr(error, "problem_mark", None)
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    line = mark.line + 1 if mark is not None else None
    refuse("malformed-yaml", f"the YAML is malformed: {reason}", source, line, found=str(reason))


class _TreeBuilder:
    """Builds the tree from parser events."""

    def __init__(self, source: str, audit: Audit, what: str) -> None:
        self.source, self.audit, self.what = source, audit, what
        self.root: Node | None = None
        self.open: list[YamlTable | Items] = []
        self.keys: list[Scalar | None] = []  # the key without a value yet, for each open table
        self.count = 0

    def take(self, kind: str, event: Any) -> None:
        line = event.start_mark.line + 1
        if kind in ("MappingEndEvent", "SequenceEndEvent"):
            self.open.pop()
            self.keys.pop()
        elif kind == "DocumentStartEvent" and self.root is not None:
            message = f"there is a second document after '---'; {self.what} is one document"
            refuse("many-documents", message, self.source, line)
        elif kind == "AliasEvent":
            self.forbidden("an alias", f"*{event.anchor}", line)
        elif kind in ("ScalarEvent", "MappingStartEvent", "SequenceStartEvent"):
            self.node(kind, event, line)

    def node(self, kind: str, event: Any, line: int) -> None:
        self.count += 1
        if self.count > MAX_NODES:
            message = f"the document has more than {MAX_NODES} nodes"
            refuse("too-many-elements", message, self.source, line)
        if event.anchor is not None:
            self.forbidden("an anchor", f"&{event.anchor}", line)
        if event.tag is not None:
            self.forbidden("a tag", event.tag, line)
        if kind == "ScalarEvent":
            self.add(Scalar(line, event.value, bool(event.style)))
            return
        opened = YamlTable(line) if kind == "MappingStartEvent" else Items(line)
        self.add(opened)
        self.open.append(opened)
        self.keys.append(None)
        if len(self.open) > MAX_DEPTH:
            message = f"the document is nested more than {MAX_DEPTH} deep"
            refuse("too-deep", message, self.source, line)

    def forbidden(self, what: str, found: str, line: int) -> NoReturn:
        message = f"{quote(found)} is {what}, which is not allowed; write its content out"
        refuse("forbidden-yaml", message, self.source, line, found=found)

    def add(self, node: Node) -> None:
        if not self.open:
            self.root = node
            return
        inside, key = self.open[-1], self.keys[-1]
        if isinstance(inside, Items):
            inside.nodes.append(node)
        elif key is None:
            self.keys[-1] = self.key(node)
        else:
            self.keys[-1] = None
            self.entry(inside, key, node)

    def key(self, node: Node) -> Scalar:
        if not isinstance(node, Scalar):
            message = "a key is a table or a list; a key must be a name"
            refuse("bad-key", message, self.source, node.line)
        if node.text == "<<" and not node.quoted:
            self.forbidden("a merge key", "<<", node.line)
        return node

    def entry(self, table: YamlTable, key: Scalar, node: Node) -> None:
        name = key.text
        if name in table.nodes:
            lines = f"on lines {table.lines[name]} and {key.line}"
            message = f"the key {quote(name)} is repeated, {lines}; delete one"
            self.audit.error("duplicate-key", "", key.line, message, found=name)
        else:
            table.nodes[name] = node
            table.lines[name] = key.line
