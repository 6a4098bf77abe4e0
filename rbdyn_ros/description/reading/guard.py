# SPDX-License-Identifier: Apache-2.0
"""Parse untrusted XML into a small, safe tree with line numbers.

Only expat parses the text. DOCTYPE and entities are refused, and more than MAX_BYTES, MAX_DEPTH or
MAX_ELEMENTS. Subtrees that the caller does not want are not built.
"""

import codecs
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NoReturn
from xml.etree import ElementTree as ET
from xml.parsers import expat

from rbdyn_ros.errors import DescriptionError, Finding, quote

MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 64
MAX_ELEMENTS = 1_000_000

_DECLARED = re.compile(rb"""<\?xml[^>]{1,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)
# Codecs of Python that are not encodings of documents; some are slow on hostile input.
_NOT_FOR_DOCUMENTS = {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined"}
#: An attribute up to its first tab or line break. The pattern may also match text.
_BROKEN = re.compile(r"""=\s*(?:"[^"<\t\r\n]*|'[^'<\t\r\n]*)[\t\r\n]""")
_ATTRIBUTE = re.compile(rb"""\s+([^\s=<>"'/]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_NUMERIC = re.compile(rb"[-+.0-9eE\s]*")
_BREAKS = re.compile(rb"[\t\r\n]")
_SPACE = "\ufeff \t\r\n"
_BEFORE = re.compile(rf"[{_SPACE}]*(<\?|<!--)?")

#: The format of a robot file, by its root element.
FORMATS = {"robot": "URDF", "sdf": "SDF", "mujoco": "MJCF", "mujocoinclude": "MJCF"}
_OTHER_FORMATS = {
    "robot": "this is URDF",
    "sdf": "this is SDF, the format of Gazebo",
    "mujoco": "this is MJCF, the format of MuJoCo",
    "mujocoinclude": "this is MJCF, the format of MuJoCo",
    "COLLADA": "this is a COLLADA mesh",
    "launch": "this is a launch file",
    "package": "this is the package.xml of a ROS package",
    "html": "this is a web page",
}


_TAG = re.compile(r"<([A-Za-z_][\w.:-]*)")
#: Start and end marks of the declaration and of comments, which may precede the root element.
_ENDS = {"<?": "?>", "<!--": "-->"}


class Element(ET.Element):
    """An XML element with its line number."""

    __slots__ = ("line",)
    line: int

    def getchildren(self) -> list[ET.Element]:
        """Return the children; older releases of urdf_parser_py call it."""
        return list(self)


def refuse(
    code: str,
    message: str,
    source: str,
    line: int | None = None,
    found: str = "",
    allowed: str = "",
) -> NoReturn:
    """Raise a DescriptionError with one finding about the whole document; line None: no line."""
    raise DescriptionError(Finding(code, message, line=line, found=found, allowed=allowed), source)


class Everything(Mapping[str, Collection[str]]):
    """The argument `wanted` of `parse` for a reader that needs all elements."""

    def __getitem__(self, tag: str) -> Collection[str]:
        return self

    def __contains__(self, tag: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


#: Stands for all children and deeper elements of an element.
WHOLE = Everything()


def root_tag(data: bytes) -> str:
    """Return the tag of the root element of a document, or an empty string."""
    try:
        text = data.decode(encoding_of(data), "replace")
    except (LookupError, UnicodeError):
        return ""
    at = 0
    while (before := _BEFORE.match(text, at)) is not None and before[1]:
        end = _ENDS[before[1]]
        at = text.find(end, before.end())
        if at < 0:
            return ""
        at += len(end)
    found = _TAG.match(text, at if before is None else before.end())
    return found[1] if found else ""


def parse(
    data: bytes | str, source: str, root_tag: str, wanted: Mapping[str, Collection[str]]
) -> Element:
    """Parse untrusted XML.

    Args:
        data: the document; bytes are decoded as declared, UTF-8 by default.
        source: name of the document for messages.
        root_tag: required tag of the root.
        wanted: for each tag, the tags of the children to read completely; WHOLE: all elements
            below. Other children keep only their attributes and text.

    Returns:
        The root; every element has a ``line``.

    Raises:
        DescriptionError: the document is empty, too large, too deep, not decodable, not XML,
            in another format, or has a DOCTYPE.
    """
    check_length(data, source)
    text = decode(data, source)
    body = text.lstrip(_SPACE)
    if not body:
        refuse("empty", "the document is empty; a URDF starts with <robot name=...>", source)
    first_line = 1 + text[: len(text) - len(body)].count("\n")
    if "\0" in body:
        line = first_line + body.count("\n", 0, body.index("\0"))
        refuse("nul-character", "the document has a NUL character", source, line)
    if not body.startswith("<"):
        _refuse_non_xml(body, source, first_line)
    return _XmlBuilder(source, root_tag, wanted, first_line).build(body)


def check_length(data: bytes | str, source: str) -> None:
    """Refuse a document of more than MAX_BYTES.

    Raises: DescriptionError: the document is too large.
    """
    if len(data) > MAX_BYTES:
        refuse("too-large", f"the document is larger than {MAX_BYTES >> 20} MiB", source)


def decode(data: bytes | str, source: str) -> str:
    """Decode a document by its byte order mark, its declaration, or as UTF-8.

    Raises:
        DescriptionError: the encoding is unknown or the bytes are not in it.
    """
    try:
        if isinstance(data, str):
            data.encode("utf-8")
            return data
        encoding = encoding_of(data)
        known = codecs.lookup(encoding).name not in _NOT_FOR_DOCUMENTS
        return data.decode(encoding if known else "no such encoding")
    except LookupError:
        refuse(
            "unknown-encoding",
            f"the document declares the encoding {quote(encoding)}, which is unknown; "
            "save it as UTF-8",
            source,
            1,
            found=encoding,
            allowed="an encoding that Python knows, such as utf-8 or latin-1",
        )
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        line = 1 + data[:at].count(b"\n" if isinstance(data, bytes) else "\n")  # type: ignore[arg-type]
        name = "UTF-8" if isinstance(data, str) else encoding
        refuse(
            "bad-encoding",
            f"the document is not valid {name}; declare its encoding in "
            '<?xml version="1.0" encoding="..."?> or save it as UTF-8',
            source,
            line,
            found=name,
        )


def encoding_of(data: bytes) -> str:
    """Return the encoding of a document: of its byte order mark, as declared, or UTF-8."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    declared = _DECLARED.match(data.lstrip()[:400])
    return declared.group(1).decode("ascii") if declared else "utf-8"


def _refuse_non_xml(body: str, source: str, line: int) -> NoReturn:
    if "\n" not in body.strip() and re.search(r"\.(urdf|xacro|xml|sdf)\s*$", body, re.IGNORECASE):
        refuse(
            "file-name-as-text",
            f"{quote(body.strip())} is a file name where the text of a URDF was expected; "
            "pass the content of the file",
            source,
            line,
            found=body[:60].strip(),
            allowed="URDF text that starts with <robot name=...>",
        )
    refuse(
        "not-xml",
        f"this is not XML: it starts with {quote(body.splitlines()[0], 20)} instead of '<'",
        source,
        line,
        found=body[:20],
        allowed="URDF text that starts with <robot name=...>",
    )


class _XmlBuilder:
    """Builds the tree from expat events."""

    def __init__(
        self, source: str, root_tag: str, wanted: Mapping[str, Collection[str]], first_line: int
    ) -> None:
        self.source = source
        self.root_tag = root_tag
        self.wanted = wanted
        self.offset = first_line - 1
        self.root: Element | None = None
        self.open: list[Element] = []
        self.skipping = 0  # depth below an element that is not wanted
        self.whole = 0  # depth of the open element that is wanted with all elements below it, or 0
        self.count = 0

    def build(self, body: str) -> Element:
        self.raw = body.encode() if _BROKEN.search(body) else b""
        self.parser = expat.ParserCreate()
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.buffer_text = True
        try:
            self.parser.Parse(body, True)
        except expat.ExpatError as error:
            self.malformed(error)
        finally:
            del self.parser  # break the reference cycle: the handlers refer to this object
        assert self.root is not None
        return self.root

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber + self.offset

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.raw and attributes and not self.skipping:
            self.restore_breaks(tag, attributes)
        if self.skipping:
            self.skipping += 1
        elif self.root is None:
            self.begin(tag, attributes)
        else:
            parent = self.open[-1]
            element = Element(tag, attributes)
            element.line = self.parser.CurrentLineNumber + self.offset
            parent.append(element)
            if self.whole or tag in self.wanted[parent.tag]:
                self.open.append(element)
                if not self.whole and self.wanted.get(tag) is WHOLE:
                    self.whole = len(self.open)
            else:
                self.skipping = 1
        if len(self.open) + self.skipping > MAX_DEPTH:
            message = f"the elements are nested more than {MAX_DEPTH} deep"
            refuse("too-deep", message, self.source, self.line)
        if self.count > MAX_ELEMENTS:
            message = f"the document has more than {MAX_ELEMENTS} elements"
            refuse("too-many-elements", message, self.source, self.line)

    def restore_breaks(self, tag: str, attributes: dict[str, str]) -> None:
        """Restore tabs and line breaks between numbers, which expat turns into blanks.

        Other parsers refuse numbers with such white space, see portability.py.
        """
        at = self.parser.CurrentByteIndex + 1 + len(tag.encode())
        while (found := _ATTRIBUTE.match(self.raw, at)) is not None:
            at = found.end()
            text = found[2] if found[3] is None else found[3]
            if _BREAKS.search(text) and _NUMERIC.fullmatch(text):
                attributes[found[1].decode()] = text.decode()

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag != self.root_tag:
            what = _OTHER_FORMATS.get(tag, f"the root element is <{tag[:60]}>")
            wanted = FORMATS[self.root_tag]
            refuse(
                f"not-{wanted.lower()}",
                f"{what}, not {wanted}, whose root element is <{self.root_tag}>",
                self.source,
                self.line,
                found=tag,
                allowed=self.root_tag,
            )
        self.root = Element(tag, attributes)
        self.root.line = self.line
        self.open.append(self.root)

    def end(self, _tag: str) -> None:
        if self.skipping:
            self.skipping -= 1
        else:
            self.open.pop()
            if len(self.open) < self.whole:
                self.whole = 0

    def text(self, data: str) -> None:
        if self.skipping < 2 and not data.isspace():
            element = self.open[-1][-1] if self.skipping else self.open[-1]
            element.text = f"{element.text or ''}{data}"  # a comment can split the text

    def doctype(self, name: str, *_rest: object) -> None:
        refuse(
            "doctype",
            "the document has a DOCTYPE, which is not allowed; delete it",
            self.source,
            self.line,
            found=f"<!DOCTYPE {name[:60]}",
        )

    def malformed(self, error: expat.ExpatError) -> NoReturn:
        reason = expat.ErrorString(error.code) or "syntax error"
        inside = self.open[-1] if self.open else None
        where = f" inside the <{inside.tag}> of line {inside.line}" if inside is not None else ""
        refuse(
            "malformed-xml",
            f"the XML is malformed{where}: {reason}",
            self.source,
            error.lineno + self.offset,
            found=reason,
        )
