# SPDX-License-Identifier: Apache-2.0
"""The distortion of a camera: a wide picture without distortion, seen through a lens."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.sensors.camera_specs import CameraSpec
from rbdyn_ros.view.render.context import square
from rbdyn_ros.view.render.shaders import LENS_FRAGMENT, LENS_VERTEX

#: Largest edge of the undistorted picture [pixels].
LARGEST = 8192

Pixels = NDArray[np.uint8]


class Lens:
    """The distortion of a camera, which maps pixels to a wide picture without distortion.

    Attributes:
        size: numbers of columns and rows of the wide picture.
        matrix: intrinsics fx, fy, cx, cy of the wide picture.
    """

    def __init__(self, context: Any, camera: CameraSpec) -> None:
        self.size, self.matrix, pixels = wide_view(camera, 1, (LARGEST, LARGEST))
        places = (pixels + 0.5) / self.size
        shape = camera.width, camera.height
        # the first row of an OpenGL picture is the lowest, but `projection` flips the picture
        data = np.ascontiguousarray(places, np.float32).tobytes()
        self._places = context.texture(shape, 2, data, dtype="f4")
        program = context.program(vertex_shader=LENS_VERTEX, fragment_shader=LENS_FRAGMENT)
        program["plain"], program["places"] = 0, 1
        self._square = square(context, program, "corner")
        self._target = context.framebuffer([context.texture(shape, 4)])
        self._context, self._strip = context, 5  # 5 is GL_TRIANGLE_STRIP

    def seen(self, plain: Any) -> Pixels:
        """Return the picture through the lens from the texture of the wide picture."""
        self._target.use()
        self._context.enable_only(0)
        plain.color_attachments[0].use(0)
        self._places.use(1)
        self._square.render(self._strip)
        return pixels_of(self._target, *self._target.size)


def wide_view(
    camera: CameraSpec, pad: int, largest: tuple[int, int]
) -> tuple[tuple[int, int], tuple[float, float, float, float], Array]:
    """Return an undistorted picture that covers all pixels of a camera.

    Args:
        camera: a camera with distortion.
        pad: margin around the picture [pixels].
        largest: largest numbers of columns and of rows.

    Returns:
        Columns and rows; intrinsics; and the position of each pixel of the camera in the wide
        picture (height, width, 2).
    """
    fx, fy, _, _ = camera.matrix
    plane = camera.plane()
    low, high = plane.min(axis=(0, 1)), plane.max(axis=(0, 1))
    wanted = np.ceil((high - low) * (fx, fy)) + 2 * pad + 2
    width, height = (int(min(n, most)) for n, most in zip(wanted, largest, strict=True))
    fx, fy = (np.array((width, height)) - 1 - 2 * pad) / (high - low)
    matrix = float(fx), float(fy), float(pad - low[0] * fx), float(pad - low[1] * fy)
    return (width, height), matrix, plane * matrix[:2] + matrix[2:]


def pixels_of(target: Any, width: int, height: int) -> Pixels:
    """Return the pixels of a frame buffer, (height, width, 3)."""
    data = np.frombuffer(target.read(components=3, alignment=1), np.uint8)
    return np.array(data.reshape(height, width, 3))
