"""Reads a robot from whatever names it: URDF text, or a file of either format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rbdyn_ros.description.geometries import Contact
from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.description.types import Description
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.description.urdf_files.guard import refuse
from rbdyn_ros.errors import Finding, ParameterError, quote

MECHANISM_SUFFIXES = (".yaml", ".yml")
URDF_SUFFIXES = (".urdf", ".xacro", ".xml", "")  # "": it says itself that it is no URDF


def read(
    source: str | bytes | Path,
    *,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, str] | None = None,
    contact: bool | Contact = False,
) -> Description:
    """Read a robot.

    Args:
        source: path of a `.urdf`, `.xacro` or mechanism `.yaml` file, or the text of a URDF.
        strict: refuse what could be repaired; otherwise repair it and add a warning.
        package_dirs: folders where `$(find package)` of a xacro file and the packages of meshes
            are looked for.
        xacro_args: values for the `$(arg ...)` of a xacro file.
        contact: True or a Contact: links touch with their `<collision>` elements.

    Returns:
        The checked Description.

    Raises:
        DescriptionError: holds every error of the document, each with its line.
        ParameterError: the source is neither a path nor text, or the contact is none.
    """
    check_source(source)
    if isinstance(source, bytes) or (isinstance(source, str) and urdf.is_text(source)):
        return urdf.read_text(source, strict=strict, package_dirs=package_dirs, contact=contact)
    suffix = Path(source).suffix.lower()
    reader = mechanism.read if suffix in MECHANISM_SUFFIXES else urdf.read
    if suffix not in (*MECHANISM_SUFFIXES, *URDF_SUFFIXES):
        message = (
            f"{quote(str(source), 200)} is neither URDF nor a mechanism file by its name; "
            "known are .urdf, .xacro, .yaml and .yml"
        )
        refuse("unknown-format", message, "", found=suffix, allowed=".urdf, .xacro, .yaml, .yml")
    return reader(
        source, strict=strict, package_dirs=package_dirs, xacro_args=xacro_args, contact=contact
    )


def check_source(source: object) -> None:
    """Raise ParameterError unless it is a path or text."""
    if not isinstance(source, str | bytes | Path):
        text = f"a robot comes from a path or from URDF text, not from {source!r}"
        raise ParameterError(Finding("not-a-source", text))
