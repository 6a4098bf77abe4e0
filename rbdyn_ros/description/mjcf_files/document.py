# SPDX-License-Identifier: Apache-2.0
"""The document of an MJCF with the files that it includes, and a record of the read parts."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.mjcf_files.silent import REASONS, SILENT, WARNED
from rbdyn_ros.description.reading import guard
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.description.xml_files.unused import Unused
from rbdyn_ros.errors import listing, quote

SUFFIXES = (".xml", ".mjcf")
#: Largest number of files that a model includes.
MOST_FILES = 1024
_FLAGS = {"true": True, "false": False}
_INCLUDED = "mujocoinclude"
#: Vectors of which an element may give the first numbers only; the rest come from its class.
_OPEN = ("size", "friction", "damping", "stiffness")


@dataclass(slots=True)
class MjcfDocument:
    """A parsed model.

    Attributes:
        source: name of the model, for messages.
        folder: folder of the file; None: the model is a text.
        audit: receives the findings.
        root: the element <mujoco>, with the content of the included files.
        places: file and line of included elements, by id; their `line` is the line of the include.
        seen: the elements that were read, by id.
        used: the attributes that were read: element id and name; for default classes tag and name.
    """

    source: str
    folder: Path | None
    audit: Audit
    root: Element
    places: dict[int, str] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    used: set[tuple[int | str, str]] = field(default_factory=set)

    def sections(self, tag: str) -> Iterator[Element]:
        """Yield the children of all sections of a tag, in order."""
        for section in self.root.iterfind(tag):
            assert isinstance(section, Element)
            self.seen.add(id(section))
            yield from elements(section)

    def item(
        self, element: Element, owner: str, defaults: Mapping[str, str] | None = None
    ) -> "Item":
        """Return an element as an Item and mark it as read; `defaults` None: no defaults."""
        self.seen.add(id(element))
        return Item(self, element, owner, defaults or {})

    def skip(self, *tags: str) -> None:
        """Mark all elements of some tags as read, with their attributes."""
        for element in self.root.iter():
            if element.tag in tags:
                self.pass_over(element)

    def pass_over(self, element: object) -> None:
        """Mark an element as read, with its attributes."""
        assert isinstance(element, Element)
        self.seen.add(id(element))
        self.used |= {(key, name) for name in element.attrib for key in (id(element), element.tag)}

    def report_unused(self, robot: str) -> None:
        """Note each kind of element and attribute that was not read, once."""
        unused = Unused(REASONS, "it is not read", WARNED)
        for element in elements(self.root):
            self._count(element, unused, is_default=False)
        unused.report(robot, self.audit)

    def _count(self, element: Element, unused: Unused, *, is_default: bool) -> None:
        tag = element.tag
        key = tag if is_default else id(element)
        if tag in SILENT:
            return
        if id(element) not in self.seen:
            unused.count(f"<{tag}>", element.line, tag)
            return
        silent = SILENT[""] | SILENT.get(f"{tag} ", frozenset())
        for name in element.attrib:
            if (key, name) not in self.used and name not in silent:
                unused.count(f"<{tag} {name}=>", element.line, name)
        for child in elements(element):
            self._count(child, unused, is_default=tag == "default")


def elements(parent: Element) -> Iterator[Element]:
    """Yield the children of an element."""
    return (child for child in parent if isinstance(child, Element))


def _height(element: Element) -> int:
    """Return the nesting depth of the elements in an element."""
    height, level = -1, [element]
    while level:
        height, level = height + 1, [child for one in level for child in elements(one)]
    return height


def overlaid(name: str, own: str, below: str) -> str:
    """Return the attribute `own` of an element whose class has the value `below`.

    For a name in _OPEN, `below` gives the numbers that are missing at the end of `own`.
    """
    words = own.split()
    return " ".join((*words, *below.split()[len(words) :])) if name in _OPEN else own


def parsed(data: bytes | str, source: str, folder: Path | None, audit: Audit) -> MjcfDocument:
    """Parse a model and the files that it includes.

    Args:
        data: the document.
        source: its name, for messages.
        folder: folder of its file; None: it cannot include files.
        audit: receives findings about includes.

    Raises:
        DescriptionError: it is not MJCF; or an included file is not MJCF, or cannot be read.
    """
    root = guard.parse(data, source, "mujoco", guard.Everything())
    document = MjcfDocument(source, folder, audit, root)
    _Includes(document).expand(root, folder, 0, 1)
    return document


class _Includes:
    """Replaces each <include> by the content of its file."""

    def __init__(self, document: MjcfDocument) -> None:
        self._document, self._files = document, 1
        self._open = list[Path]()  # the chain of files that include the current file
        self._elements = sum(1 for _ in document.root.iter())
        if document.folder is not None:
            self._open.append(Path(document.source).resolve())

    def expand(self, parent: Element, folder: Path | None, line: int, depth: int) -> None:
        """Expand the includes below an element.

        Args:
            parent: the element.
            folder: folder of its file; None: the model is a text.
            line: line of the first include that leads to it; 0: it is in the first file.
            depth: depth of the element in the model.
        """
        if not any(child.tag == "include" for child in parent.iter()):
            return
        children = list(elements(parent))
        for child in children:
            parent.remove(child)
        for child in children:
            if child.tag != "include":
                parent.append(child)
                self.expand(child, folder, line, depth + 1)
                continue
            at = line or child.line
            for content in self._content(child, folder, at, depth):
                parent.append(content)

    def _content(
        self, include: Element, folder: Path | None, line: int, depth: int
    ) -> list[Element]:
        """Return the elements of an included file, which become children at a depth.

        `folder` is the folder of the including file, and `line` the line of the first include.
        """
        name = include.get("file", "")
        path = self._found(name, include, folder)
        if path is None:
            return []
        data = read_bytes(path, "an .xml file", "the path of an MJCF file")
        tag = _INCLUDED if guard.root_tag(data) == _INCLUDED else "mujoco"
        root = guard.parse(data, str(path), tag, guard.Everything())
        for element in root.iter():
            assert isinstance(element, Element)
            self._elements += 1
            self._document.places[id(element)] = f"{path.name}, line {element.line}"
            element.line = line
        if self._elements > guard.MAX_ELEMENTS:
            message = f"the model has more than {guard.MAX_ELEMENTS} elements in all its files"
            guard.refuse("too-many-elements", message, self._document.source, line)
        if depth + _height(root) > guard.MAX_DEPTH:
            message = f"with {quote(name, 200)}, elements are nested more than"
            guard.refuse(
                "too-deep", f"{message} {guard.MAX_DEPTH} deep", self._document.source, line
            )
        self._open.append(path)
        self.expand(root, path.parent, line, depth)
        self._open.pop()
        return list(elements(root))

    def _found(self, name: str, include: Element, folder: Path | None) -> Path | None:
        """Return the path of an included file, or None after an error."""
        audit, line, own = self._document.audit, include.line, self._document.folder
        owner = f"include {quote(name)}"
        finders = [MeshFiles(one, suffixes=SUFFIXES) for one in dict.fromkeys((own, folder))]
        reason = ""
        for finder in finders:
            try:
                path = finder.find(name)
                break
            except UnusableMeshError as error:
                reason = reason or str(error)
        else:
            message = f"the file {quote(name, 200)} {reason}"
            audit.error("bad-include", owner, line, message, found=name)
            return None
        if path in self._open:
            message = f"the file {quote(name, 200)} includes itself"
            audit.error("bad-include", owner, line, message, found=name)
            return None
        self._files += 1
        if self._files > MOST_FILES:
            message = f"the model includes files more than {MOST_FILES} times"
            guard.refuse("too-many-files", message, self._document.source, line)
        return path


@dataclass(frozen=True, slots=True)
class Item:
    """An element whose attributes have the defaults of its class.

    Attributes:
        owner: its name in messages.
        defaults: defaults of its class.
    """

    document: MjcfDocument
    element: Element
    owner: str
    defaults: Mapping[str, str]

    @property
    def line(self) -> int:
        """The line of the element in the first file, or of the include that leads to it."""
        return self.element.line

    @property
    def subject(self) -> Subject:
        """The element as the subject of findings."""
        return Subject(self.document.audit, self.owner, self.line)

    def given(self, name: str) -> bool:
        """Return whether an attribute has a value in the element or in its class."""
        self._use(name)
        return name in self.element.attrib or name in self.defaults

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute of the element or of its class, or the default if both lack it."""
        self._use(name)
        own, below = self.element.attrib.get(name), self.defaults.get(name, default)
        return below if own is None else overlaid(name, own, below)

    def error(self, code: str, message: str, **of: str) -> None:
        """Add an error about the element."""
        self.document.audit.error(code, self.owner, self.line, self._located(message), **of)

    def repair(self, code: str, message: str, repaired: str, **of: str) -> None:
        """Add an error if strict, else a warning with the repair."""
        where = self._located(message)
        self.document.audit.repair(code, self.owner, self.line, where, repaired, **of)

    def warn(self, code: str, message: str, severity: Any = "warning", **of: str) -> None:
        """Add a warning or a note about the element."""
        where = self._located(message)
        self.document.audit.add(severity, code, self.owner, self.line, where, **of)

    def numbers(self, name: str, low: int, high: int = 0, *, inf: bool = False) -> list[float]:
        """Return the numbers of an attribute, or an empty list if it is missing or wrong.

        Args:
            name: name of the attribute.
            low: fewest numbers.
            high: most numbers; 0: `low`.
            inf: whether they may be infinite.
        """
        text, high = self.text(name), high or low
        if not text.strip():
            return []
        try:
            found = [float(word) for word in text.split()]
        except ValueError:
            found = [math.nan]
        count = str(low) if low == high else f"{low} to {high}"
        if any(math.isnan(x) or (math.isinf(x) and not inf) for x in found):
            self._wrong(name, text, f"{count} finite numbers" if high > 1 else "a finite number")
            return []
        if not low <= len(found) <= high:
            self._wrong(name, text, f"{count} numbers" if high > 1 else "one number")
            return []
        return found

    def filled(self, name: str, defaults: Sequence[float], most: int = 0) -> list[float]:
        """Return the numbers of an attribute; defaults replace missing numbers at its end.

        Args:
            name: name of the attribute.
            defaults: defaults of MJCF.
            most: most numbers; 0: as many as defaults.
        """
        found = self.numbers(name, 1, most or len(defaults))
        return [*found, *defaults[len(found) :]]

    def number(self, name: str, default: float = 0.0) -> float:
        """Return an attribute that is one number, or the default if it is missing or wrong."""
        found = self.numbers(name, 1)
        return found[0] if found else default

    def vector(
        self, name: str, default: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ) -> tuple[float, float, float]:
        """Return an attribute that is three numbers, or the default if it is missing or wrong."""
        found = self.numbers(name, 3)
        return (found[0], found[1], found[2]) if found else default

    def whole(self, name: str, default: int) -> int:
        """Return a whole number from 0 to 2^31 - 1, or the default after an error."""
        found = self.number(name, default)
        if 0.0 <= found < 2**31 and found == int(found):
            return int(found)
        self._wrong(name, self.text(name), "a whole number from 0 to 2^31 - 1")
        return default

    def flag(self, name: str, default: bool) -> bool:
        """Return whether an attribute says true, or the default if it is missing or wrong."""
        return _FLAGS[self.choice(name, tuple(_FLAGS), str(default).lower())]

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        """Return an attribute that is an allowed word, or the default if missing or wrong."""
        text = self.text(name, default)
        if text in allowed:
            return text
        self._wrong(name, text, f"one of {listing(allowed)}")
        return default

    def _use(self, name: str) -> None:
        self.document.used |= {(id(self.element), name), (self.element.tag, name)}

    def _wrong(self, name: str, found: str, allowed: str) -> None:
        message = f"{name} is {quote(found)}; it must be {allowed}"
        self.error("bad-value", message, found=found, allowed=allowed)

    def _located(self, message: str) -> str:
        """Return a message with the place of an included element."""
        place = self.document.places.get(id(self.element))
        return message if place is None else f"{message} ({place})"
