# SPDX-License-Identifier: Apache-2.0
"""Open the file of a recording so that no older file and no part of the recording is lost.

A file lock protects the file from other processes while it is open. The system releases the lock
when the process ends.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import BinaryIO

from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.loading.output import unwritable

#: Code of the error about an existing file.
OCCUPIED = "occupied-file"


def opened(path: Path, overwrite: bool) -> BinaryIO:
    """Open an empty file for writing and lock it until it is closed.

    Raises:
        ParameterError: the file cannot be written or locked, or exists and may not be overwritten.
    """
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
    """Open an existing or new file and lock it against other processes; else ParameterError."""
    if path.is_dir():
        raise unwritable(path, ValueError("it is a folder"))
    if path.exists() and not path.is_file():
        raise unwritable(path, ValueError("it is not a regular file"))
    try:
        stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "wb")
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        text = "another process is recording to it; choose another name, or end that process first"
        raise unwritable(path, ValueError(text)) from error
    except OSError:  # this file system does not support locks
        return stream
    try:
        is_there = os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except OSError:
        is_there = False
    if not is_there:
        stream.close()
        text = "another process has just removed it; choose another name or try again"
        raise unwritable(path, ValueError(text))
    return stream


class LostFileError(Exception):
    """Another program has deleted, moved or shortened a file that is being written."""


def check_kept(path: Path, stream: BinaryIO, size: int) -> None:
    """Raise LostFileError if an open file is no longer at its path or is shorter than `size`."""
    status = os.fstat(stream.fileno())
    try:
        is_there = os.path.samestat(status, path.stat())
    except (FileNotFoundError, NotADirectoryError):
        is_there = False
    except OSError:  # the next write reports the reason
        is_there = True
    if not is_there and status.st_nlink == 0:
        raise LostFileError("it was deleted, and nothing of it is left")
    if not is_there:
        raise LostFileError("it was moved; the moved file has the messages up to then")
    if status.st_size < size:
        raise LostFileError("another program has shortened it, so it cannot be read")


def occupied(path: Path, size: int) -> ParameterError:
    """Return the error about an existing file of this size [bytes]."""
    text = (
        f"the file {quote(str(path))} exists already ({size} bytes) and is not overwritten; "
        "choose another name or delete it"
    )
    return ParameterError(Finding(OCCUPIED, text, "error", "path", None, str(path)))


def abandon(stream: BinaryIO) -> None:
    """Close a file even if its last data cannot be written to the disk."""
    with contextlib.suppress(OSError):
        stream.close()
