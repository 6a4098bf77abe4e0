# SPDX-License-Identifier: Apache-2.0
"""Read the height field of an obstacle: a CSV file of heights, or a picture."""

import importlib
import io
import math
from pathlib import Path
from typing import Any

from rbdyn_ros.description.checks.geometries import MOST_HEIGHTS
from rbdyn_ros.description.parts.geometries import HeightField
from rbdyn_ros.description.reading.requests import note_opened
from rbdyn_ros.description.yaml_files.kinds import Name, Number, NumberList
from rbdyn_ros.description.yaml_files.tables import Given, Key, table
from rbdyn_ros.errors import counted, quote

PICTURES = (".png", ".tif", ".tiff")
SUFFIXES = (".csv", *PICTURES)
MOST_BYTES = 1 << 26


class UnusableFieldError(Exception):
    """A file has no usable heights. Callers write the name of the file before the message."""


HEIGHT_FIELD = table(
    "height_field",
    Key("file", Name("a file"), "a .csv of heights [m], or a picture", needed=True),
    Key("size", NumberList(2), "size along x and y [m]", needed=True),
    Key("height", Number(unit="m"), "height of white in a picture; black is 0"),
)


def read_height_field(given: Given, folder: Path | None) -> HeightField | None:
    """Return the height field of a sound table, or None after an error.

    Args:
        given: the table.
        folder: folder of the document; None if it is a text.
    """
    name, size = given["file"], given["size"]
    try:
        heights = heights_in(folder, name, given.get("height"))
    except UnusableFieldError as error:
        message = f"the height field {quote(name, 200)} {error}"
        given.error("bad-height-field", "", message, found=name)
        return None
    return HeightField(heights, (size[0], size[1]))


def heights_in(folder: Path | None, name: str, height: float | None) -> Any:
    """Return the heights in a file, rows along y; `height` is the height of white pixels [m].

    Raises: UnusableFieldError: the file has no usable heights.
    """
    if folder is None:
        raise UnusableFieldError("cannot be found: the document is a text, not a file")
    path = folder / name
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UnusableFieldError(f"does not have one of the suffixes {', '.join(SUFFIXES)}")
    if (suffix in PICTURES) != (height is not None):
        wanted = "needs the key 'height', the height of white pixels [m]"
        unwanted = "has its heights in metres; the key 'height' is for pictures"
        raise UnusableFieldError(wanted if suffix in PICTURES else unwanted)
    note_opened(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnusableFieldError(f"is larger than {MOST_BYTES} bytes")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnusableFieldError(f"cannot be read: {reason}") from error
    return _of_text(data) if height is None else _of_picture(data, height)


def _of_text(data: bytes) -> list[list[float]]:
    """Return the heights of comma-separated lines, or raise UnusableFieldError."""
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UnusableFieldError("is not a text") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append([float(word) for word in line.split(",")])
        except ValueError:
            text = f"has a value that is not a number in line {number}: {quote(line, 60)}"
            raise UnusableFieldError(text) from None
        if not all(map(math.isfinite, rows[-1])):
            raise UnusableFieldError(f"has a number that is not finite in line {number}")
        if len(rows[-1]) != len(rows[0]):
            text = f"has {counted(len(rows[-1]), 'number')} in line {number}, not {len(rows[0])}"
            raise UnusableFieldError(text)
    return rows


def _of_picture(data: bytes, height: float) -> list[list[float]]:
    """Return the heights of a picture: black is 0, white is `height`; north is up.

    Raise UnusableFieldError for other data.
    """
    try:
        image = importlib.import_module("PIL.Image")
    except ImportError:
        raise UnusableFieldError("is a picture, which needs the package Pillow") from None
    import numpy as np

    try:
        with image.open(io.BytesIO(data)) as picture:
            if picture.width * picture.height > MOST_HEIGHTS:
                size = f"{picture.width} x {picture.height}"
                raise UnusableFieldError(f"has {size} points; allowed are {MOST_HEIGHTS}")
            deep = picture.mode.startswith(("I", "F"))
            values = np.asarray(picture if deep else picture.convert("L"), np.float64)
            white = {"I;16": 65535.0, "I;16B": 65535.0, "I": 65535.0, "F": 1.0}.get(
                picture.mode, 255.0
            )
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError) as error:
        raise UnusableFieldError(f"is not a picture: {error}") from error
    rows: list[list[float]] = (values[::-1] * (height / white)).tolist()
    return rows
