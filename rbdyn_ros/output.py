"""Writes files whole or not at all: a reader never sees half of one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO

from rbdyn_ros.description.audit import quote
from rbdyn_ros.errors import Finding, ParameterError


def output_path(path: object, what: str, suffixes: Collection[str]) -> Path:
    """Return the path of a file that is to be written, if its suffix is one of these.

    What can be known to fail should do so before the work is done, not after.

    Args:
        path: a text or a Path.
        what: what will be in the file, for messages: ``a Model``.
        suffixes: the allowed ones, in lower case.

    Raises:
        ParameterError: it is no path, has another suffix, or its folder does not exist.
    """
    if not isinstance(path, str | os.PathLike):
        text = f"{what} is written to a path, not to {path!r}"
        raise ParameterError(Finding("not-a-path", text, "error", "path", None, repr(path)))
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        allowed = " or ".join(filter(None, (", ".join(list(suffixes)[:-1]), list(suffixes)[-1])))
        text = f"{what} is written to a file {allowed}, not to {quote(str(target), 200)}"
        finding = Finding("unknown-suffix", text, "error", "path", None, str(target), allowed)
        raise ParameterError(finding)
    if not target.parent.is_dir():
        raise unwritable(target, ValueError("there is no such folder"))
    return target


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a new file beside `path`, then put it in the place of `path`.

    Raises:
        ParameterError: the file cannot be written; what was there before is left as it was.
    """
    beside = path.with_name(f".{secrets.token_hex(4)}{path.suffix}")
    try:
        with beside.open("xb") as file:
            write(file)
        beside.replace(path)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    finally:
        _remove(beside)


def unwritable(path: Path, error: Exception) -> ParameterError:
    """Return the error for a file that the system does not let us write."""
    reason = getattr(error, "strerror", None) or str(error)
    text = f"the file {quote(str(path), 200)} cannot be written: {reason}"
    return ParameterError(Finding("unwritable-file", text, "error", "path", None, str(path)))


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except (OSError, ValueError):
        return  # it could not be made either
