# SPDX-License-Identifier: Apache-2.0
"""Open the files of an SDF: the first file, and the files that it includes."""

from dataclasses import replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.reading import guard
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.description.xml_files.sdf_elements import SdfFile, Version
from rbdyn_ros.errors import DescriptionError, Finding, quote

IS_WORLD = "the SDF describes a world, not a robot; the command `rbdyn sim WORLD.sdf` simulates it"
OLDEST, NEWEST = (1, 4), (1, 12)
_BEGIN, _END = "<!--", "-->"


class IncludedAudit(Audit):
    """The audit of an included file: its findings have the line of the include."""

    def __init__(self, whole: Audit, path: Path, line: int | None) -> None:
        super().__init__(strict=whole.strict)
        self._whole, self._path, self._line = whole, path, line

    def take(self, finding: Finding) -> None:
        super().take(finding)
        line = "" if finding.line is None else f", line {finding.line}"
        message = f"{finding.message} ({self._path.name}{line})"
        self._whole.take(replace(finding, line=self._line, message=message))


def opened(source: Path | str | bytes, audit: Audit, at: int | None = None) -> SdfFile:
    """Parse a file or a text.

    Args:
        source: the path of the file, or the text of a document.
        audit: audit of the first file.
        at: the line that includes it; None: it is the first file.

    Raises:
        DescriptionError: it cannot be read, or is no SDF.
    """
    path = source if isinstance(source, Path) else None
    name = name_of(source)
    if isinstance(source, Path):
        source = read_bytes(source, "an .sdf file", "the path of an .sdf file")
    own = audit if at is None or path is None else IncludedAudit(audit, path, at)
    guard.check_length(source, name)
    text = without_comments(guard.decode(source, name))
    root = guard.parse(text, name, "sdf", guard.Everything())
    return SdfFile(path, own, root, _version(root, own, name), at)


def name_of(source: Path | str | bytes) -> str:
    """Return the name of a file or a text in messages."""
    return str(source) if isinstance(source, Path) else "<text>"


def without_comments(text: str) -> str:
    """Return a text without its comments; their line breaks stay.

    Gazebo accepts comments that contain two dashes, which XML forbids.
    """
    kept, at = list[str](), 0
    while (begin := text.find(_BEGIN, at)) >= 0:
        end = text.find(_END, begin + len(_BEGIN))
        if end < 0:
            break
        kept += [text[at:begin], "\n" * text.count("\n", begin, end)]
        at = end + len(_END)
    return "".join((*kept, text[at:]))


def _version(root: Element, audit: Audit, source: str) -> Version:
    text = root.get("version", "")
    allowed = "1.4 to 1.12"
    try:
        major, minor = (int(word) for word in text.split("."))
    except ValueError:
        found = f"is {quote(text)}" if text else "is missing"
        message = f"the version of SDF {found}; allowed are {allowed}"
        audit.repair("sdf-version", "", root.line, message, "it is read as 1.12", found=text)
        return NEWEST
    if (major, minor) < OLDEST:
        message = f"SDF {text} is not read; allowed are {allowed}; `gz sdf -p` converts the file"
        guard.refuse("sdf-version", message, source, root.line, found=text, allowed=allowed)
    if (major, minor) > NEWEST:
        message = f"SDF {text} is read as 1.12, the newest version that is known"
        audit.add("warning", "sdf-version", "", root.line, message, found=text)
    return major, minor


def with_place(error: DescriptionError, audit: Audit, line: int | None, what: str) -> None:
    """Add the errors of an included file that cannot be read, at the line of the include."""
    for finding in error.findings:
        where = f"{error.source}, line {finding.line}" if finding.line else error.source
        text = f"{where}: {finding.message}" if where else finding.message
        audit.findings.append(replace(finding, message=f"{what}: {text}", line=line))
