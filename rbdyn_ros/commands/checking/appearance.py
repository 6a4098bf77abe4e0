# SPDX-License-Identifier: Apache-2.0
"""The appearance of a robot in `rbdyn check`: errors in it refuse the robot only here."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rbdyn_ros.description.parts.types import Description
    from rbdyn_ros.errors import Finding


def with_appearance(
    read: Callable[[], Description],
    path: Path,
    options: argparse.Namespace,
    *,
    strict: bool,
    collisions: bool,
    text: str | None = None,
) -> Description:
    """Return the description of a robot, with the findings about its appearance.

    Args:
        read: reads the description.
        path: of the robot; only URDF and xacro files have an appearance of their own.
        options: of the command.
        strict: whether errors of the appearance are errors; otherwise they are warnings.
        collisions: whether `<collision>` elements count; reading for contact checks them, too.
        text: of the URDF, instead of the file.

    Raises:
        DescriptionError: with all errors of the robot and of its appearance.
    """
    from rbdyn_ros.errors import DescriptionError

    looks = _findings(path, text, options, strict, collisions)
    errors = [finding for finding in looks if finding.severity == "error"]
    try:
        description = read()
    except DescriptionError as error:
        raise DescriptionError([*error.findings, *errors], error.source) from error
    if errors:
        raise DescriptionError(errors, description.source)
    return replace(description, findings=(*description.findings, *looks))


def _findings(
    path: Path, text: str | None, options: argparse.Namespace, strict: bool, collisions: bool
) -> tuple[Finding, ...]:
    """Return the findings about the appearance; none if the document itself is refused."""
    from rbdyn_ros.checks.audit import Audit
    from rbdyn_ros.description.appearance.check import check_appearance
    from rbdyn_ros.description.reading.files import read_bytes
    from rbdyn_ros.description.reading.xacro_files import expand, xacro_arguments
    from rbdyn_ros.description.robot_files import URDF, format_of
    from rbdyn_ros.errors import DescriptionError

    suffix, data = path.suffix.lower(), text
    if format_of(path) is not URDF:
        return ()
    try:
        if suffix == ".xacro":
            arguments = xacro_arguments(options.xacro_args)
            data = expand(path, Audit(), options.package_dir, arguments)
        return check_appearance(
            read_bytes(path, "a .urdf file", "a path") if data is None else data,
            str(path),
            strict=strict,
            folder=path.parent,
            package_dirs=options.package_dir,
            collisions=collisions,
        )
    except DescriptionError:
        return ()  # reading reports it
