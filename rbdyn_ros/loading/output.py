# SPDX-License-Identifier: Apache-2.0
"""Write files completely or not at all, so that nobody can read a partial file."""

import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO

from rbdyn_ros.errors import Finding, ParameterError, quote

if TYPE_CHECKING:
    from typing_extensions import Self


class Output:
    """Base class of outputs that the end of a `with` block closes."""

    def close(self) -> None:
        """Write the remaining content and close the output.

        Raises:
            ParameterError: the output is not complete.
        """
        raise NotImplementedError

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except ParameterError:
            if error is None:  # an error in the block takes precedence
                raise


def output_path(path: object, what: str, suffixes: Collection[str]) -> Path:
    """Return the path of an output file after checking suffix and folder, before any work.

    Args:
        path: a string or a Path.
        what: content of the file, for messages: ``a Model``.
        suffixes: allowed suffixes, in lower case.

    Raises:
        ParameterError: it is not a path, has another suffix, or its folder does not exist.
    """
    if not isinstance(path, str | os.PathLike):
        text = f"{what} is written to a path, not to {path!r}"
        raise ParameterError(Finding("not-a-path", text, "error", "path", None, repr(path)))
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        allowed = " or ".join(filter(None, (", ".join(list(suffixes)[:-1]), list(suffixes)[-1])))
        text = f"{what} is written to a {allowed} file, not to {quote(str(target), 200)}"
        finding = Finding("unknown-suffix", text, "error", "path", None, str(target), allowed)
        raise ParameterError(finding)
    if not target.parent.is_dir():
        raise unwritable(target, ValueError("there is no such folder"))
    return target


#: The bytes of a file, or a function that writes them.
Content = bytes | Callable[[BinaryIO], object]


def write_whole(path: Path, content: Content) -> None:
    """Write a new file next to `path`, then replace `path` by the new file.

    Raises:
        ParameterError: the file cannot be written; an old file stays unchanged.
    """
    write_together({path: content})


def write_together(contents: Mapping[Path, Content]) -> None:
    """Write a new file next to each path, then replace all paths by them.

    Each replacement is atomic, and all follow immediately after the last file is complete. A
    reader in that moment may see some old and some new files.

    Raises:
        ParameterError: a file cannot be written; old files stay unchanged. If a replacement fails,
            the earlier replacements remain.
    """
    beside = {path: path.with_name(f".{secrets.token_hex(4)}{path.suffix}") for path in contents}
    try:
        for path, content in contents.items():
            with _named(path), beside[path].open("xb") as file:
                file.write(content) if isinstance(content, bytes) else content(file)
        for path, new in beside.items():
            with _named(path):
                new.replace(path)
    finally:
        for new in beside.values():
            _remove(new)


def unwritable(path: Path, error: Exception, kind: str = "file") -> ParameterError:
    """Return the error for a file, or another kind of output, that cannot be written."""
    reason = getattr(error, "strerror", None) or str(error)
    text = f"the {kind} {quote(str(path), 200)} cannot be written: {reason}"
    return ParameterError(Finding("unwritable-file", text, "error", "path", None, str(path)))


def not_overwritten(path: Path, reason: str) -> ParameterError:
    """Return the error for an output that already exists, or has no folder."""
    text = f"{quote(str(path), 200)} is not written: {reason}"
    return ParameterError(Finding("not-overwritten", text, "error", "output", None, str(path)))


def is_folder(folder: Path) -> bool:
    """Return whether a folder for output exists.

    Raises:
        ParameterError: the folder does not exist, and cannot be made in its parent.
    """
    try:
        if folder.is_dir():
            return True
        reason = "" if folder.parent.is_dir() else "its parent folder does not exist"
        if folder.exists():
            reason = "it is a file"
        elif folder.is_symlink():
            reason = "it is a link to a missing folder"
    except OSError as error:  # for example, the name is too long
        raise unwritable(folder, error, "folder") from error
    if reason:
        raise not_overwritten(folder, reason)
    return False


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Make an error name the output file, not the temporary file."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except (OSError, ValueError):
        return  # the file was not created
