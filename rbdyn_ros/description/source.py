# SPDX-License-Identifier: Apache-2.0
"""Read a robot or a scene from a file, or a robot from text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rbdyn_ros.description import robot_files
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.robot_files import (
    MECHANISM_SUFFIXES,
    URDF_SUFFIXES,
    check_source,
)
from rbdyn_ros.description.scene_files.scene import check_scene_options, is_scene, read_scene

__all__ = ["MECHANISM_SUFFIXES", "URDF_SUFFIXES", "check_source", "read"]


def read(
    source: str | bytes | Path,
    *,
    strict: bool = True,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
    srdf: bool = True,
) -> Description:
    """Read a robot, or a scene with robots and objects.

    Args:
        source: path of a `.urdf`, `.xacro`, mechanism `.yaml` or scene `.yaml` file, or the text
            of a URDF.
        strict: refuse errors that can be repaired; otherwise repair them, each with a warning.
        package_dirs: folders to search for packages, of `$(find package)` and of meshes.
        xacro_args: values for the `$(arg ...)` of a xacro file.
        contact: True or a Contact: use the `<collision>` elements of links for contact. A scene
            always does, and takes no Contact.
        srdf: for contact, whether an SRDF beside a URDF counts.

    Returns:
        The checked Description.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: the source is neither a path nor text, or contact is neither a bool nor a
            Contact.
    """
    check_source(source)
    if isinstance(source, str | Path) and is_scene(source):
        check_scene_options(contact, xacro_args)
        return read_scene(source, strict=strict, package_dirs=package_dirs)
    return robot_files.read(
        source,
        strict=strict,
        package_dirs=package_dirs,
        xacro_args=xacro_args,
        contact=contact,
        srdf=srdf,
    )
