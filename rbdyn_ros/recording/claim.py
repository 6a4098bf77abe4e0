"""Opens the file of a recording so that nothing is lost: not what is there, nor what is written.

A lock of the system is held while it is open, so the file of another process is not touched; the
system lets go of it when the process ends, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import BinaryIO

from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.loading.output import unwritable

#: Code of the error for a file that is there already.
OCCUPIED = "occupied-file"


def opened(path: Path, overwrite: bool) -> BinaryIO:
    """Open a file for writing, empty, which until it is closed no other process does."""
    stream = locked(path)
    try:
        size = os.fstat(stream.fileno()).st_size
        if size and not overwrite:
            raise occupied(path, size)
        stream.truncate(0)
    except OSError as error:
        abandon(stream)
        raise unwritable(path, error) from error
    except ParameterError:
        stream.close()
        raise
    return stream


def locked(path: Path) -> BinaryIO:
    """Open a file as it is, or a new one, which no other process writes."""
    if path.is_dir():
        raise unwritable(path, ValueError("it is a folder"))
    if path.exists() and not path.is_file():
        raise unwritable(path, ValueError("it is no ordinary file"))
    try:
        stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "wb")
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        text = "another process records to it; choose another name, or end that first"
        raise unwritable(path, ValueError(text)) from error
    except OSError:  # this file system has no locks
        return stream
    try:
        is_there = os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except OSError:
        is_there = False
    if not is_there:
        stream.close()
        text = "another process has just removed it; choose another name, or try again"
        raise unwritable(path, ValueError(text))
    return stream


def occupied(path: Path, size: int) -> ParameterError:
    """Return the error for a file that is not to be lost."""
    text = (
        f"the file {quote(str(path))} is there already, with {size} bytes, and is not "
        "overwritten; choose another name, or delete it"
    )
    return ParameterError(Finding(OCCUPIED, text, "error", "path", None, str(path)))


def abandon(stream: BinaryIO) -> None:
    """Close a file, whatever becomes of what is not yet on the disk."""
    with contextlib.suppress(OSError):
        stream.close()
