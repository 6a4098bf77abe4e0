# SPDX-License-Identifier: Apache-2.0
"""`rbdyn check --fix`: write the repaired file."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import BinaryIO


def fix(path: Path, options: argparse.Namespace) -> bool:
    """Repair a URDF file in its place; return whether it changed.

    The new file is read as strictly as any other before the old one is replaced.

    Raises:
        RbdynError: it is not a .urdf file, or has an error that cannot be repaired.
    """
    from rbdyn_ros.description.reading import guard
    from rbdyn_ros.description.reading.files import read_bytes
    from rbdyn_ros.description.urdf_files.repair import repaired_text
    from rbdyn_ros.errors import DescriptionError, Finding, ParameterError, quote
    from rbdyn_ros.loading.output import write_whole

    if path.suffix.lower() != ".urdf":
        text = f"--fix repairs .urdf files, not {quote(path.name)}"
        raise ParameterError(Finding("not-a-urdf", text, "error", "fix", allowed=".urdf"))
    data = read_bytes(path, "a .urdf file", "a path")
    text = guard.decode(data, str(path))
    with contextlib.suppress(DescriptionError):
        _codes(text, path, options, strict=True)
        return False
    try:
        repaired = repaired_text(text, _codes(text, path, options, strict=False))
        _codes(repaired, path, options, strict=True)
    except DescriptionError as error:
        told = Finding("not-repaired", "the file cannot be repaired, and nothing was written")
        raise DescriptionError([*error.findings, told], error.source) from error

    def write(file: BinaryIO) -> None:
        file.write(repaired.encode(guard.encoding_of(data), "xmlcharrefreplace"))

    write_whole(path, write)
    return True


def _codes(text: str, path: Path, options: argparse.Namespace, *, strict: bool) -> set[str]:
    """Return the codes of the findings of a robot; raise DescriptionError if it is refused."""
    from rbdyn_ros.commands.appearance import with_appearance
    from rbdyn_ros.description.urdf_files.urdf import read_text
    from rbdyn_ros.loading.load import complete

    description = with_appearance(
        lambda: read_text(
            text,
            source=str(path),
            strict=strict,
            package_dirs=options.package_dir,
            contact=options.contact,
            folder=path.parent,
        ),
        path,
        options,
        strict=strict,
        collisions=not options.contact,
        text=text,
    )
    complete(description, options.floating_base, strict)
    return {finding.code for finding in description.findings}
