# SPDX-License-Identifier: Apache-2.0
"""The height fields of an MJCF: of a picture, a file of MuJoCo, or the numbers of `elevation`."""

from pathlib import PurePosixPath

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.checks.geometries import MOST_HEIGHTS
from rbdyn_ros.description.mechanism_files.height_fields import (
    PICTURES,
    UnusableFieldError,
    heights_in,
)
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.mjcf_files.defaults import Classes
from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument
from rbdyn_ros.description.mjcf_files.settings import CompilerSettings
from rbdyn_ros.description.parts.geometries import HeightField
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.errors import DescriptionError, counted, quote

#: A file with another suffix has the numbers of rows and columns and then the heights, 4 bytes
#: each.
_HEAD = 8
#: Largest height before scaling, with which differences stay finite.
_MOST = 1e300


def read_hfields(
    document: MjcfDocument, classes: Classes, settings: CompilerSettings, files: MeshFiles
) -> dict[str, HeightField]:
    """Return the height fields of all <asset> elements, by name."""
    found = {}
    for element in document.sections("asset"):
        if element.tag != "hfield":
            continue
        file = element.get("file", "")
        name = element.get("name") or PurePosixPath(file).stem
        item = classes.item(element, f"hfield {quote(name)}")
        item.text("name"), item.text("file"), item.text("content_type")
        field = _field(item, settings.file_of(file) if file else "", files)
        if field is not None:
            found[name] = field
        else:
            document.audit.partial = True
    return found


def _field(item: Item, file: str, files: MeshFiles) -> HeightField | None:
    size = item.numbers("size", 4)
    if len(size) != 4 or min(size) <= 0.0:
        item.error("bad-value", "size needs four numbers above 0", found=item.text("size"))
        return None
    try:
        data = _of_file(file, files) if file else _of_numbers(item)
    except (UnusableFieldError, UnusableMeshError, DescriptionError) as error:
        what = f"the height field {quote(file, 200)} {error}" if file else str(error)
        item.error("bad-height-field", what, found=file)
        return None
    if not np.abs(data).max() <= _MOST:
        text = f"a height of {quote(file, 200) if file else 'elevation'} is not a finite number"
        item.error("bad-height-field", text, found=file, allowed="finite numbers up to 1e300")
        return None
    low, span = data.min(), np.ptp(data)
    heights = (data - low) / span * size[2] if span > 0.0 else np.zeros_like(data)
    return HeightField(heights.tolist(), (2.0 * size[0], 2.0 * size[1]))


def _of_numbers(item: Item) -> Array:
    """Return `elevation`, whose first row has the largest y, or raise UnusableFieldError."""
    rows, columns = item.whole("nrow", 0), item.whole("ncol", 0)
    if not 4 <= rows * columns <= MOST_HEIGHTS or min(rows, columns) < 2:
        raise UnusableFieldError(f"nrow x ncol must be from 2 x 2 to {MOST_HEIGHTS} numbers")
    numbers = item.numbers("elevation", 1, rows * columns)
    if len(numbers) not in (0, rows * columns):
        raise UnusableFieldError(
            f"elevation has {counted(len(numbers), 'number')}, not {rows * columns}"
        )
    return np.array(numbers or [0.0] * (rows * columns)).reshape(rows, columns)[::-1]


def _of_file(file: str, files: MeshFiles) -> Array:
    path = files.of((PurePosixPath(file).suffix.lower(),)).find(file)
    if path.suffix.lower() in PICTURES:
        return np.array(heights_in(path.parent, path.name, 1.0))
    data = read_bytes(path, "a height field", "the path of a height field")
    rows, columns = np.frombuffer(data[:_HEAD], "<i4") if len(data) >= _HEAD else (0, 0)
    count = int(rows) * int(columns)
    if min(rows, columns) < 2 or count > MOST_HEIGHTS or len(data) != _HEAD + 4 * count:
        raise UnusableFieldError(
            "is not a height field: it has nrow and ncol as whole numbers of 4 bytes, and as many "
            "floats"
        )
    return np.frombuffer(data[_HEAD:], "<f4").astype(float).reshape(rows, columns)
