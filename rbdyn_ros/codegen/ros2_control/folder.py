# SPDX-License-Identifier: Apache-2.0
"""Write a tree of files to a new or empty folder, completely or not at all."""

import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from rbdyn_ros.loading.output import is_folder, not_overwritten, unwritable


def check_empty(folder: Path) -> None:
    """Raise ParameterError unless a folder is empty, or can be created in an existing folder."""
    try:
        full = is_folder(folder) and any(folder.iterdir())
    except OSError as error:  # the folder may be unreadable
        raise unwritable(folder, error, "folder") from error
    if full:
        raise not_overwritten(folder, "it is not empty; choose a new folder")


def write_tree(folder: Path, texts: Mapping[str, str | bytes]) -> list[Path]:
    """Write files to a folder, by their paths in it; return their paths.

    Raises:
        ParameterError: as for fill_folder.
    """

    def write(beside: Path) -> None:
        for name, text in texts.items():
            path = beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)

    fill_folder(folder, write)
    return [folder / name for name in texts]


def fill_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Fill a folder through a temporary folder next to it, so that an error leaves no files.

    Raises:
        ParameterError: as for check_empty, or a file cannot be written.
    """
    check_empty(folder)
    beside = folder.parent / f".{secrets.token_hex(4)}"
    moved: list[Path] = []
    try:
        beside.mkdir()
        write(beside)
        if folder.is_dir():
            moved.extend(entry.rename(folder / entry.name) for entry in sorted(beside.iterdir()))
        else:
            beside.rename(folder)
    except BaseException as error:
        for entry in moved:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        if isinstance(error, OSError):
            raise unwritable(folder, error, "folder") from error
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
