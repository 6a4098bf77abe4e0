# SPDX-License-Identifier: Apache-2.0
"""The elements of SDF with a record of reading: of an SDF, or of the <gazebo> of a URDF."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.description.parts.poses import Pose, Quat, Vec3, quat_from_rpy
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.description.xml_files.sdf_words import report_unused
from rbdyn_ros.errors import quote

Version = tuple[int, int]
_Default = TypeVar("_Default", Vec3, None)
#: A larger number is not a limit; files write 1e16 for infinity.
UNLIMITED = 1e16
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
#: Elements that messages name, instead of the element that contains them.
_NAMED = (
    *("world", "model", "link", "joint", "frame", "collision", "visual", "sensor", "light"),
    "transmission",
)


@dataclass(slots=True)
class SdfFile:
    """A parsed file.

    Attributes:
        path: path of the file; None: the document is a text without a folder.
        audit: receives its findings.
        version: version of SDF.
        at: the line of the first file that includes it; None: it is the first file.
        used: the elements, and the pairs of element and attribute, that were read.
    """

    path: Path | None
    audit: Audit
    root: Element
    version: Version
    at: int | None = None
    used: set[Any] = field(default_factory=set)

    @property
    def folder(self) -> Path | None:
        """The folder to which paths in the file are relative, or None for a text."""
        return None if self.path is None else self.path.parent

    @property
    def top(self) -> "SdfElement":
        """The root element."""
        return SdfElement(self, self.root, "the file")

    def report(self, silent: frozenset[str]) -> None:
        """Note each kind of element that was not read, once.

        Args:
            silent: tags that other readers read.
        """
        report_unused(self.root, self.used, silent, self.audit)


@dataclass(frozen=True, slots=True)
class SdfElement:
    """An element, whose children and attributes are marked as read when they are asked for.

    Attributes:
        owner: the named part that it belongs to, for messages.
    """

    document: SdfFile
    element: Element
    owner: str

    @property
    def line(self) -> int:
        """The line of the element in the first file, or of the include that leads to it."""
        at = self.document.at
        return self.element.line if at is None else at

    @property
    def audit(self) -> Audit:
        return self.document.audit

    @property
    def subject(self) -> Subject:
        """The element as the subject of findings."""
        return Subject(self.audit, self.owner, self.element.line)

    @property
    def tag(self) -> str:
        return self.element.tag

    @property
    def name(self) -> str:
        return self.attribute("name")

    @property
    def text(self) -> str:
        return (self.element.text or "").strip()

    def error(self, code: str, message: str, **of: str) -> None:
        """Add an error about this element."""
        self.subject.error(code, message, **of)

    def repair(self, code: str, message: str, repaired: str, **of: str) -> None:
        """Add an error if strict, else a warning with the repair, about this element."""
        self.subject.repair(code, message, repaired, **of)

    def note(self, code: str, message: str, severity: Any = "note", **of: str) -> None:
        """Add a note, or a finding of another severity, about this element."""
        self.audit.add(severity, code, self.owner, self.element.line, message, **of)

    def put_back(self) -> None:
        """Count this element as not read, so that a note names it."""
        self.document.used.discard(id(self.element))

    def attribute(self, name: str, default: str = "") -> str:
        """Return an attribute without spaces around it, or the default if it is missing."""
        self.document.used.add((id(self.element), name))
        return self.element.get(name, default).strip()

    def children(self, *tags: str) -> "Iterator[SdfElement]":
        """Yield the children with one of the tags, in the order of the file."""
        for child in self.element:
            if child.tag in tags:
                assert isinstance(child, Element)
                yield self.part(child)

    def part(self, child: Element) -> "SdfElement":
        """Return a child for reading. The child then counts as read."""
        self.document.used.add(id(child))
        owner, name = self.owner, child.get("name", "").strip()
        if child.tag in _NAMED:
            owner = f"{child.tag} {quote(name)}" if name else f"<{child.tag}>"
        return SdfElement(self.document, child, owner)

    def child(self, *path: str) -> "SdfElement | None":
        """Return a child or a deeper element, allowed only once, or None if it is missing."""
        part: SdfElement | None = self
        for tag in path:
            if part is None:
                return None
            found = list(part.children(tag))
            if len(found) > 1:
                text = f"it has more than one <{tag}> in its <{part.tag}>; delete all but one"
                found[1].error("duplicate-element", text, found=f"<{tag}>")
            part = found[0] if found else None
        return part

    def word(self, *path: str) -> str:
        """Return the text of a child, or an empty string."""
        part = self.child(*path)
        return "" if part is None else part.text

    def number(self, *path: str, default: float = 0.0) -> float:
        """Return the number in a child, or the default if it is missing or wrong."""
        part = self.child(*path)
        if part is None or not part.text:
            return default
        numbers = part.numbers(1, infinite=True)
        return default if numbers is None else numbers[0]

    def vector(self, *path: str, default: _Default) -> Vec3 | _Default:
        """Return three numbers of a child, or the default if it is missing or wrong."""
        part = self.child(*path)
        found = None if part is None or not part.text else part.numbers(3)
        return default if found is None else (found[0], found[1], found[2])

    def flag(self, *path: str, default: bool = False) -> bool:
        """Return the truth value of a child, or the default if the child is missing or wrong."""
        part = self.child(*path)
        return default if part is None else part.truth(part.text, default)

    def truth(self, text: str, default: bool) -> bool:
        """Return whether a text says true, or the default if it is empty or wrong."""
        found = _FLAGS.get(text.lower())
        if found is None and text:
            message = f"<{self.tag}> is {quote(text)}; allowed are true and false"
            self.error("bad-value", message, found=text, allowed="true or false")
        return default if found is None else found

    def numbers(self, count: int, *, infinite: bool = False) -> list[float] | None:
        """Return the `count` numbers in the text, or report an error and return None.

        Numbers may be infinite only if `infinite` is True.
        """
        words = self.text.split(maxsplit=count)
        try:
            found = [float(word) for word in words]
        except ValueError:
            found = []
        wanted = "a number" if count == 1 else f"{count} numbers"
        if len(found) != count:
            message = f"<{self.tag}> is {quote(self.text)}, not {wanted}"
            self.error("bad-number", message, found=self.text[:100], allowed=wanted)
            return None
        if not all(math.isfinite(x) or (infinite and not math.isnan(x)) for x in found):
            message = f"<{self.tag}> is {quote(self.text)}; allowed are finite numbers"
            self.error("not-finite", message, found=self.text[:100], allowed="finite numbers")
            return None
        return found

    def pose(self) -> Pose:
        """Return the pose in the child <pose>, regardless of its frame."""
        part = self.child("pose")
        return Pose() if part is None else part.as_pose()

    def as_pose(self) -> Pose:
        """Return the pose in the text of this element."""
        degrees = self.truth(self.attribute("degrees"), default=False)
        form = self.attribute("rotation_format", "euler_rpy")
        if not self.text:
            return Pose()
        numbers = self.numbers(7 if form == "quat_xyzw" else 6)
        if numbers is None:
            return Pose()
        pos = (numbers[0], numbers[1], numbers[2])
        if form == "quat_xyzw":
            x, y, z, w = numbers[3:]
            return Pose(pos, self._unit((w, x, y, z)))
        if form != "euler_rpy":
            message = f"rotation_format is {quote(form)}; allowed are euler_rpy and quat_xyzw"
            self.error("bad-value", message, found=form, allowed="euler_rpy or quat_xyzw")
        roll, pitch, yaw = (math.radians(x) if degrees else x for x in numbers[3:])
        return Pose(pos, quat_from_rpy(roll, pitch, yaw))

    def _unit(self, quat: Quat) -> Quat:
        length = math.hypot(*quat)
        if length == 0.0 or not math.isfinite(length):
            self.error("zero-quaternion", "the quaternion of its <pose> is zero", found="0 0 0 0")
            return (1.0, 0.0, 0.0, 0.0)
        w, x, y, z = quat
        return (w / length, x / length, y / length, z / length)

    def relative_to(self) -> str:
        """Return the frame that the child <pose> names, or ""."""
        part = self.child("pose")
        if part is None:
            return ""
        name = "frame" if self.document.version < (1, 7) else "relative_to"
        return part.attribute(name)
