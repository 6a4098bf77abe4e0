# SPDX-License-Identifier: Apache-2.0
"""Read one robot from URDF text, a URDF or xacro file, or a mechanism file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading import guard
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.reading.xacro_files import check_no_arguments
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import Finding, ParameterError, quote

MECHANISM_SUFFIXES = (".yaml", ".yml")
URDF_SUFFIXES = (".urdf", ".xacro", ".xml", "")  # the reader reports other formats


def read(source: str | bytes | Path | RobotFile, **how: Any) -> Description:
    """Read a robot; arguments and errors as for read_with_text."""
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

    Args:
        source: path of a `.urdf`, `.xacro` or mechanism `.yaml` file, the name of a robot, a
            RobotFile, or the text of a URDF.
        strict: refuse errors that can be repaired; otherwise repair them, each with a warning.
        package_dirs: folders to search for packages, after those of a RobotFile.
        xacro_args: values for the `$(arg ...)` of a xacro file; they replace those of a RobotFile.
        contact: True or a Contact: use the `<collision>` elements of links for contact.
        srdf: for contact, an SRDF; or whether one beside a URDF counts.

    Returns:
        The Description; the text of the URDF, as expanded by xacro, empty for a mechanism.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: the source is neither a path nor text, no robot has the name, or contact
            is neither a bool nor a Contact.
    """
    check_source(source)
    how: dict[str, Any] = {"strict": strict, "contact": contact}
    if isinstance(source, bytes) or (isinstance(source, str) and urdf.is_text(source)):
        check_no_arguments(xacro_args, Path("<text>"))
        described = urdf.read_text(source, package_dirs=package_dirs, srdf=srdf, **how)
        return described, guard.decode(source, "<text>")
    file = file_of(source, package_dirs, xacro_args)
    path = file.located()
    suffix = path.suffix.lower()
    how |= {"xacro_args": file.xacro_args, "package_dirs": file.package_dirs}
    if suffix in MECHANISM_SUFFIXES:
        from rbdyn_ros.description.mechanism_files import mechanism

        return mechanism.read(path, **how), ""
    if suffix not in URDF_SUFFIXES:
        message = (
            f"the suffix of {quote(str(path), 200)} is unknown; "
            "allowed are .urdf, .xacro, .yaml and .yml"
        )
        allowed = ".urdf, .xacro, .yaml, .yml"
        guard.refuse("unknown-format", message, "", found=suffix, allowed=allowed)
    return urdf.read_file(path, srdf=srdf, **how)


def file_of(
    source: str | Path | RobotFile,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
) -> RobotFile:
    """Return the robot file of a path or a name; arguments as for read_with_text."""
    if isinstance(source, str) and source.startswith(urdf.ADDRESSES):
        message = f"{quote(source, 200)} is an address, not a path; give the path of the file"
        guard.refuse("not-a-path", message, "", found=source, allowed="a path or URDF text")
    file = source if isinstance(source, RobotFile) else RobotFile(source)
    return file.with_more(package_dirs, xacro_args)


def check_source(source: object) -> None:
    """Raise ParameterError unless it is a path or text."""
    if not isinstance(source, str | bytes | Path | RobotFile):
        text = f"expected the path of a robot or the text of a URDF, got {source!r}"
        raise ParameterError(Finding("not-a-source", text))
