"""Writes files whole or not at all: a reader never sees half of one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rbdyn_ros.errors import Finding, ParameterError, quote


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
    write_together({path: write})


def write_together(writers: Mapping[Path, Callable[[BinaryIO], object]]) -> None:
    """Let each of `writers` fill a new file beside its path, then put all in their places.

    Each takes its place at once, and all do so straight after one another when the last is full:
    no file system can do more, so who reads in just that moment may see some old, some new.

    Raises:
        ParameterError: a file cannot be written; what was there before is left as it was. If one
            cannot take its place, those before it have taken theirs.
    """
    beside = {path: path.with_name(f".{secrets.token_hex(4)}{path.suffix}") for path in writers}
    try:
        for path, write in writers.items():
            with _named(path), beside[path].open("xb") as file:
                write(file)
        for path, new in beside.items():
            with _named(path):
                new.replace(path)
    finally:
        for new in beside.values():
            _remove(new)


def unwritable(path: Path, error: Exception, kind: str = "file") -> ParameterError:
    """Return the error for a file, or another kind of thing, that we are not let write."""
    reason = getattr(error, "strerror", None) or str(error)
    text = f"the {kind} {quote(str(path), 200)} cannot be written: {reason}"
    return ParameterError(Finding("unwritable-file", text, "error", "path", None, str(path)))


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let an error name the file that is wanted, not the one beside it."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except (OSError, ValueError):
        return  # it could not be made either
