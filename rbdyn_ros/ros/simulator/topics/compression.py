# SPDX-License-Identifier: Apache-2.0
"""Compressed colour pictures, as image_transport names and describes them."""

from __future__ import annotations

import importlib
import io
from array import array

from sensor_msgs.msg import CompressedImage

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.view.render.lens import Pixels

#: Options of Pillow, which are the defaults of compressed_image_transport.
OPTIONS = {"jpeg": {"quality": 95}, "png": {"compress_level": 3}}


def check_compression(camera: str, kind: str) -> None:
    """Refuse compressed pictures where nothing can compress them.

    Args:
        camera: name of the camera.
        kind: a key of OPTIONS.

    Raises:
        ParameterError: Pillow is not installed.
    """
    try:
        importlib.import_module("PIL.Image")
    except ImportError as error:
        text = f"sensor '{camera}' has compressed: {kind}, which needs Pillow: "
        text += 'pip install "rbdyn_ros[camera]"'
        raise ParameterError(Finding("no-pillow", text, "error", "compressed")) from error


def compressed_image(pixels: Pixels, kind: str) -> CompressedImage:
    """Return a picture as a message without stamp and frame.

    Args:
        pixels: (height, width, 3) red, green, blue.
        kind: a key of OPTIONS.
    """
    data = io.BytesIO()
    pillow = importlib.import_module("PIL.Image")
    pillow.fromarray(pixels).save(data, format=kind, **OPTIONS[kind])
    # bgr8 is the order in which subscribers of image_transport decode
    message = CompressedImage(format=f"rgb8; {kind} compressed bgr8")
    message.data = array("B", data.getvalue())
    return message
