# SPDX-License-Identifier: Apache-2.0
"""Read one robot from URDF text, or from a file in one of FORMATS."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading import guard
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.reading.xacro_files import check_no_arguments
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import Finding, ParameterError, quote

#: Suffixes of files whose root element shows the format, and number of bytes from the beginning of
#: a file in which this element usually is.
_XML, _HEAD_BYTES = (".xml", ""), 1 << 16


def _reader(name: str) -> Callable[..., tuple[Description, str]]:
    """Return the reader of a format, whose module is imported when it is needed."""

    def read(path: Path, *, srdf: object, **how: Any) -> tuple[Description, str]:
        del srdf  # only URDF uses an SRDF
        module = importlib.import_module(f"rbdyn_ros.description.{name}_files.{name}")
        return module.read(path, **how), ""

    return read


@dataclass(frozen=True, slots=True)
class Format:
    """A format of robot files.

    Attributes:
        suffixes: suffixes of its files, in small letters.
        read: returns a robot and the text of its URDF; arguments as for read_with_text.
        root: root element of a file whose suffix only shows that it is XML; empty: the suffix
            alone shows the format.
    """

    suffixes: tuple[str, ...]
    read: Callable[..., tuple[Description, str]]
    root: str = ""


URDF = Format((".urdf", ".xacro", ".xml", ""), urdf.read_file, "robot")
MECHANISM_SUFFIXES = (".yaml", ".yml")
SDF_SUFFIXES, MJCF_SUFFIXES = (".sdf", ".world"), (".mjcf",)
FORMATS = (
    URDF,
    Format(MECHANISM_SUFFIXES, _reader("mechanism")),
    Format(SDF_SUFFIXES, _reader("sdf"), "sdf"),
    Format(MJCF_SUFFIXES, _reader("mjcf"), "mujoco"),
)
#: The suffixes of robot files, for messages.
SUFFIXES = tuple(x for form in FORMATS for x in form.suffixes if x not in _XML)


def read(source: str | bytes | Path | RobotFile, **how: Any) -> Description:
    """Read a robot; arguments and errors are those of read_with_text."""
    return read_with_text(source, **how)[0]


def read_with_text(
    source: str | bytes | Path | RobotFile,
    *,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
    srdf: str | bytes | Path | bool = True,
) -> tuple[Description, str]:
    """Read a robot once; return the checked Description and its URDF.

    The text is the URDF as expanded by xacro, and empty for other formats. Arguments and errors
    as for `source.opened`, without scenes.
    """
    check_source(source)
    how: dict[str, Any] = {"strict": strict, "contact": contact}
    if isinstance(source, bytes) or (isinstance(source, str) and urdf.is_text(source)):
        check_no_arguments(xacro_args, Path("<text>"))
        if (root := root_of_text(source)) == "mujoco":
            from rbdyn_ros.description.mjcf_files import mjcf

            return mjcf.read_text(source, package_dirs=package_dirs, **how), ""
        if root == "sdf":
            from rbdyn_ros.description.sdf_files import sdf

            return sdf.read(source, package_dirs=package_dirs, **how), ""
        described = urdf.read_text(source, package_dirs=package_dirs, srdf=srdf, **how)
        return described, guard.decode(source, "<text>")
    file = file_of(source, package_dirs, xacro_args)
    path = file.located()
    found = format_of(path)
    if found is None:
        allowed = ", ".join(SUFFIXES)
        message = f"the suffix of {quote(str(path), 200)} is unknown; allowed are {allowed}"
        guard.refuse("unknown-format", message, "", found=path.suffix, allowed=allowed)
    how |= {"xacro_args": file.xacro_args, "package_dirs": file.package_dirs, "srdf": srdf}
    return found.read(path, **how)


def format_of(path: Path) -> Format | None:
    """Return the format of a robot file, by its suffix or its root element, or None."""
    suffix = path.suffix.lower()
    if suffix in _XML and kind_of(path) == "file":  # reading a pipe would block
        with suppress(OSError, ValueError), path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            root = guard.root_tag(head) or guard.root_tag(head + file.read(guard.MAX_BYTES))
            return next((form for form in FORMATS if root and form.root == root), URDF)
    return next((form for form in FORMATS if suffix in form.suffixes), None)


def root_of_text(text: str | bytes) -> str:
    """Return the root element of a document, as in Format, or "" without a root element."""
    data = text.encode(errors="replace") if isinstance(text, str) else text
    return guard.root_tag(data[: guard.MAX_BYTES])


def file_of(
    source: str | Path | RobotFile,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
) -> RobotFile:
    """Return the robot file of a path or a name; the arguments are those of read_with_text."""
    if isinstance(source, str) and source.startswith(urdf.ADDRESSES):
        message = f"{quote(source, 200)} is an address, not a path; give the path of the file"
        guard.refuse("not-a-path", message, "", found=source, allowed="a path or URDF text")
    file = source if isinstance(source, RobotFile) else RobotFile(source)
    return file.with_more(package_dirs, xacro_args)


def check_source(source: object) -> None:
    """Raise ParameterError unless the source is a path or text."""
    if not isinstance(source, str | bytes | Path | RobotFile):
        text = f"expected the path of a robot or the text of a URDF, got {source!r}"
        raise ParameterError(Finding("not-a-source", text))
