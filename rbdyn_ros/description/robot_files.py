# SPDX-License-Identifier: Apache-2.0
"""Read one robot from URDF text, a URDF or xacro file, or a mechanism file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading.guard import refuse
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import Finding, ParameterError, quote

MECHANISM_SUFFIXES = (".yaml", ".yml")
URDF_SUFFIXES = (".urdf", ".xacro", ".xml", "")  # the reader reports other formats


def read(
    source: str | bytes | Path,
    *,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
    srdf: bool = True,
) -> Description:
    """Read a robot.

    Args:
        source: path of a `.urdf`, `.xacro` or mechanism `.yaml` file, or the text of a URDF.
        strict: refuse errors that can be repaired; otherwise repair them, each with a warning.
        package_dirs: folders to search for packages, of `$(find package)` and of meshes.
        xacro_args: values for the `$(arg ...)` of a xacro file.
        contact: True or a Contact: use the `<collision>` elements of links for contact.
        srdf: for contact, whether an SRDF beside a URDF counts.

    Returns:
        The checked Description.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: the source is neither a path nor text, or contact is neither a bool nor a
            Contact.
    """
    check_source(source)
    if isinstance(source, bytes) or (isinstance(source, str) and urdf.is_text(source)):
        return urdf.read_text(source, strict=strict, package_dirs=package_dirs, contact=contact)
    suffix = Path(source).suffix.lower()
    if suffix not in (*MECHANISM_SUFFIXES, *URDF_SUFFIXES):
        message = (
            f"the suffix of {quote(str(source), 200)} is unknown; "
            "allowed are .urdf, .xacro, .yaml and .yml"
        )
        refuse("unknown-format", message, "", found=suffix, allowed=".urdf, .xacro, .yaml, .yml")
    if suffix in MECHANISM_SUFFIXES:
        return mechanism.read(
            source,
            strict=strict,
            package_dirs=package_dirs,
            xacro_args=xacro_args,
            contact=contact,
        )
    return urdf.read(
        source,
        strict=strict,
        package_dirs=package_dirs,
        xacro_args=xacro_args,
        contact=contact,
        srdf=srdf,
    )


def check_source(source: object) -> None:
    """Raise ParameterError unless it is a path or text."""
    if not isinstance(source, str | bytes | Path):
        text = f"expected the path of a robot or the text of a URDF, got {source!r}"
        raise ParameterError(Finding("not-a-source", text))
