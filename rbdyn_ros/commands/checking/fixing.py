# SPDX-License-Identifier: Apache-2.0
"""Parts of `rbdyn check`: repair a URDF file, find hidden errors, check the appearance."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.errors import DescriptionError, Finding, ParameterError, RbdynError, quote
from rbdyn_ros.loading.output import write_whole

if TYPE_CHECKING:
    from rbdyn_ros.description.parts.types import Description


def fix(path: Path, options: argparse.Namespace) -> list[str]:
    """Repair a URDF file in place; return a text for each repair, in the order of the lines.

    Every repair that adds no error is written, even if other errors remain. A misspelt word can
    hide other errors until it is corrected; `with_hidden` reports these errors too.

    Raises:
        RbdynError: the file is not a .urdf file, or cannot be read or written.
    """
    from rbdyn_ros.description.reading import guard
    from rbdyn_ros.description.urdf_files.repair import corrected_text, repaired_text

    if path.suffix.lower() != ".urdf":
        message = f"--fix repairs .urdf files, not {quote(path.name)}"
        raise ParameterError(Finding("not-a-urdf", message, "error", "fix", allowed=".urdf"))
    data, text = _document(path)
    repaired, done = corrected_text(text)
    errors = _errors(repaired, path, options, strict=True)
    if options.continuous:
        turning, wheels = corrected_text(repaired, continuous=True)
        left = _errors(turning, path, options, strict=True)
        if not _without(left, errors):
            repaired, errors, done = turning, left, [*done, *wheels]
    mended = _without(errors, _errors(repaired, path, options, strict=False))
    further = repaired_text(repaired, {finding.code for finding in mended})
    left = _errors(further, path, options, strict=True)
    if len(left) < len(errors) and not _without(left, errors):
        repaired = further
        done += [f"{finding}" for finding in _without(errors, left)]
    if repaired == text or not done:
        return []
    write_whole(path, repaired.encode(guard.encoding_of(data), "xmlcharrefreplace"))
    return done


def with_hidden(
    error: DescriptionError, path: Path, options: argparse.Namespace
) -> Sequence[Finding]:
    """Return the errors of a robot, including those hidden by misspelt numbers and types.

    The reader leaves out an element with a misspelt word, so it finds other errors in this element
    only after the word is corrected. This function reads a copy with such words corrected.
    """
    from rbdyn_ros.description.urdf_files.repair import corrected_text

    try:
        corrected, words = corrected_text(_document(path)[1])
        strict = not options.repair
        more = _errors(corrected, path, options, strict=strict) if words else ()
    except RbdynError:  # the document cannot be corrected; `error` says why
        more = ()
    return [*error.findings, *_without(more, error.findings)]


def _document(path: Path) -> tuple[bytes, str]:
    """Return the bytes and the text of a file; raise DescriptionError if it is not a URDF."""
    from rbdyn_ros.description.reading import guard
    from rbdyn_ros.description.reading.files import read_bytes

    data = read_bytes(path, "a .urdf file", "a path")
    text = guard.decode(data, str(path))
    guard.parse(text, str(path), "robot", {"robot": ()})
    return data, text


def _without(findings: Sequence[Finding], others: Sequence[Finding]) -> list[Finding]:
    """Return the findings whose messages do not occur in `others`."""
    known = {finding.message for finding in others}
    return [finding for finding in findings if finding.message not in known]


def _errors(
    text: str, path: Path, options: argparse.Namespace, *, strict: bool
) -> Sequence[Finding]:
    from rbdyn_ros.description.urdf_files.urdf import read_text
    from rbdyn_ros.loading.load import complete

    try:
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
    except RbdynError as error:
        return error.findings
    return ()


def with_appearance(
    read: "Callable[[], Description]",
    path: Path,
    options: argparse.Namespace,
    *,
    strict: bool,
    collisions: bool,
    text: str | None = None,
) -> "Description":
    """Return the description of a robot, with the findings about its appearance.

    Args:
        read: reads the description.
        path: path of the robot; only URDF and xacro files have an appearance of their own.
        options: options of the command.
        strict: whether errors of the appearance count as errors; False: they become warnings.
        collisions: whether to check `<collision>` elements here; reading for contact checks them.
        text: text of the URDF; None: read the file.

    Raises:
        DescriptionError: there are errors; it has all errors of the robot and its appearance.
    """
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
    """Return the findings about the appearance; if the document is refused, return ()."""
    from rbdyn_ros.description.appearance.check import check_appearance
    from rbdyn_ros.description.reading.files import read_bytes
    from rbdyn_ros.description.reading.xacro_files import expand, xacro_arguments
    from rbdyn_ros.description.robot_files import URDF, format_of

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
        return ()  # the reader of the robot reports the same error
