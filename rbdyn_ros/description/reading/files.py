# SPDX-License-Identifier: Apache-2.0
"""Read the bytes of a file that a user names."""

from pathlib import Path
from typing import NoReturn

from rbdyn_ros.description.reading.guard import MAX_BYTES, refuse
from rbdyn_ros.description.reading.requests import note_opened
from rbdyn_ros.errors import did_you_mean, quote


def read_bytes(path: Path, wanted: str, instead: str) -> bytes:
    """Return the content of a file, cut off after guard.MAX_BYTES + 1 bytes.

    Args:
        path: path of the file.
        wanted: the expected kind of file, for messages: ``a .urdf or .xacro file``.
        instead: the advice if there is no such file: ``a path or the text of a URDF``.

    Raises:
        DescriptionError: there is no such file, or it cannot be read.
    """
    name = str(path)
    note_opened(path)
    try:
        if not path.is_file():
            _refuse_path(path, wanted, instead)
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"the file {quote(name, 200)} cannot be read: {reason}"
        refuse("unreadable-file", message, "", found=name, allowed="a readable file")


def _refuse_path(path: Path, wanted: str, instead: str) -> NoReturn:
    name = str(path)
    if path.exists():
        message = f"{quote(name)} is not a file; give the path of {wanted}"
        refuse("not-a-file", message, "", found=name, allowed=wanted)
    hint = ""
    if path.parent.is_dir():
        hint = did_you_mean(path.name, [other.name for other in path.parent.iterdir()])
    message = f"there is no file {quote(name, 200)}{hint}; give {instead}"
    refuse("no-such-file", message, "", found=name, allowed=instead)
