# SPDX-License-Identifier: Apache-2.0
"""Materials and textures that mesh files name.

The files are untrusted, like meshes: they are found by the same rules, and only images of known
formats and sizes are decoded. trimesh never reads an image; it gets a substitute
of one pixel.
"""

import importlib
import io
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description.meshes.files import (
    MeshFiles,
    UnusableMeshError,
    package_for,
    read_bytes,
)

#: Red, green, blue of an image, (height, width, 3), 0 to 255.
Pixels = NDArray[np.uint8]

#: Suffixes of images, and the formats that Pillow may find in them, whatever their suffix.
IMAGES = (".png", ".jpg", ".jpeg")
FORMATS = ("PNG", "JPEG")
MATERIALS = (".mtl",)

MAX_IMAGE_BYTES = 64 * 1024 * 1024
MAX_MATERIAL_BYTES = 1024 * 1024
#: Largest number of pixels of an image file.
MAX_PIXELS = 4096 * 4096
#: Larger images are reduced to this many pixels in a row and in a column.
LARGEST_EDGE = 1024


class Materials:
    """Gives trimesh the files that a mesh names: material files, but no images.

    Args:
        mesh: path of the mesh.
    """

    def __init__(self, mesh: Path) -> None:
        self._files = MeshFiles(mesh.parent, suffixes=MATERIALS)
        self._names: list[str] = []

    def get(self, name: str) -> bytes:
        """Return a material file; for any other file return a one-pixel image with its number.

        Raises:
            OSError: there is no such material file; trimesh continues without it.
        """
        if name.lower().endswith(MATERIALS):
            try:
                return read_bytes(self._files.find(name), MAX_MATERIAL_BYTES, "texture")
            except UnusableMeshError as error:
                raise OSError(str(error)) from error
        self._names.append(name)
        return _stand_in(len(self._names) - 1)

    __getitem__ = get

    def texture_of(self, material: Any) -> str:
        """Return the name of the image in a material of trimesh, or "" if it has no image."""
        for attribute in ("baseColorTexture", "image"):
            known = getattr(getattr(material, attribute, None), "info", {}).get("texture", "")
            if known.isdecimal():
                return self._names[int(known)]
        return ""


def find_texture(name: str, mesh: Path) -> Path:
    """Return the path of an image that a mesh names, in its folder or its package.

    Raises:
        UnusableMeshError: there is no such file, or it is outside these folders, or has another
            suffix.
    """
    files = MeshFiles(mesh.parent, suffixes=IMAGES)
    try:
        return files.find(name)
    except UnusableMeshError:
        if "%" not in name:
            raise
        return files.find(unquote(name))  # names in COLLADA are URIs


def read_texture(path: Path) -> Pixels:
    """Return the pixels of an image file, reduced to LARGEST_EDGE; opacity is ignored.

    Raises:
        UnusableMeshError: the file is not a PNG or JPEG, is damaged or too large.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise UnusableMeshError("bad-texture", f"cannot be read: {error.strerror}") from error
    return _kept(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _kept(path: Path, _changed: int, _size: int) -> Pixels:
    data = read_bytes(path, MAX_IMAGE_BYTES, "texture")
    Image = package_for("PIL.Image", "pillow")
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            width, height = image.size
            if width * height <= MAX_PIXELS:
                # let the decoder reduce a JPEG
                image.draft("RGB", (LARGEST_EDGE, LARGEST_EDGE))
                whole = image.convert("RGB")
                whole.thumbnail((LARGEST_EDGE, LARGEST_EDGE))
                pixels = np.asarray(whole, np.uint8)
                pixels.setflags(write=False)
                return pixels
    except Image.UnidentifiedImageError as error:
        message = "is not an image in the format PNG or JPEG"
        raise UnusableMeshError("bad-texture", message, "PNG or JPEG") from error
    except Exception as error:  # readers of images raise errors of many types
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UnusableMeshError("bad-texture", f"cannot be read: {reason}") from error
    message = f"has {width} x {height} pixels; allowed are at most {MAX_PIXELS} in all"
    raise UnusableMeshError("texture-too-large", message, f"up to {MAX_PIXELS} pixels")


def _stand_in(number: int) -> bytes:
    """Return a PNG of one pixel that encodes a number."""
    Image = importlib.import_module("PIL.Image")
    info = importlib.import_module("PIL.PngImagePlugin").PngInfo()
    info.add_text("texture", str(number))
    file = io.BytesIO()
    Image.new("RGB", (1, 1)).save(file, "PNG", pnginfo=info)
    return file.getvalue()
