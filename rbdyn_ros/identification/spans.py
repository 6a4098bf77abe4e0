"""Where the parts of a URDF text are, so that some can be replaced and the rest stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

# a start tag; '>' may stand inside the quotes of an attribute
_TAG = re.compile(rb"<[^\"'>]*(?:(?:\"[^\"]*\"|'[^']*')[^\"'>]*)*>")
# an attribute of one, its quoted value apart
_ATTRIBUTE = re.compile(rb"\s+([^\s=<>]+)\s*=\s*(\"[^\"]*\"|'[^']*')")


@dataclass(slots=True)
class Span:
    """One element: bytes begin to end of the document, content from `inside` to `close`.

    Attributes:
        attributes: as written.
        children: direct ones, by tag the first.
        empty: written as `<tag/>`, so that inside, close and end are the same.
    """

    begin: int
    attributes: dict[str, str]
    inside: int = 0
    close: int = 0
    end: int = 0
    empty: bool = False
    children: dict[str, Span] = field(default_factory=dict)


def spans(document: bytes) -> dict[tuple[str, str], Span]:
    """Return the links and joints of a URDF by ("link" or "joint", name).

    Args:
        document: UTF-8 that a reader of URDFs has accepted before.
    """
    parser = expat.ParserCreate("utf-8")
    found: dict[tuple[str, str], Span] = {}
    path: list[Span] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        begin = parser.CurrentByteIndex
        match = _TAG.match(document, begin)
        assert match is not None
        span = Span(begin, attributes, inside=match.end())
        span.empty = document[begin : match.end()].endswith(b"/>")
        if len(path) == 1 and tag in ("link", "joint"):
            found.setdefault((tag, attributes.get("name", "")), span)
        elif len(path) == 2:
            path[1].children.setdefault(tag, span)
        path.append(span)

    def end(_tag: str) -> None:
        span = path.pop()
        if span.empty:
            span.close = span.end = span.inside
        else:
            span.close = parser.CurrentByteIndex
            span.end = document.index(b">", span.close) + 1

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.Parse(document, True)
    return found


def indentation(document: bytes, begin: int) -> bytes:
    """Return the white space between the line's beginning and an element, if that is all."""
    line = document.rfind(b"\n", 0, begin) + 1
    before = document[line:begin]
    return before if not before.strip() else b""


def line_end(document: bytes) -> bytes:
    """Return what most lines of a document end with."""
    windows = document.count(b"\r\n")
    return b"\r\n" if 2 * windows > document.count(b"\n") else b"\n"


def with_attributes(tag: bytes, values: Mapping[str, str]) -> bytes:
    """Return a start tag with some attributes of other values, the rest of it as it is.

    Values must need no escaping. Attributes that it lacks come last.
    """
    wanted = {name.encode(): value.encode() for name, value in values.items()}
    end = len(tag) - (2 if tag.endswith(b"/>") else 1)
    edits = []
    for match in _ATTRIBUTE.finditer(tag):
        end = match.end()
        if match[1] in wanted:
            edits.append((*match.span(2), b'"%b"' % wanted.pop(match[1])))
    edits.append((end, end, b"".join(b' %b="%b"' % pair for pair in wanted.items())))
    return replaced(tag, edits)


def replaced(document: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """Return a document with bytes begin to end replaced by others; edits do not overlap."""
    for begin, end, text in sorted(edits, reverse=True):
        document = document[:begin] + text + document[end:]
    return document
