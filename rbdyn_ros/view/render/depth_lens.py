# SPDX-License-Identifier: Apache-2.0
"""Depths through a lens: interpolate a drawn picture without distortion, or else cast a ray.

On a plane 1 / z is linear in the picture, so it is interpolated where its second differences are
small. At edges, silhouettes and strong curvature a ray is cast instead, so that depths of
different surfaces are not mixed.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.sensors.camera_specs import DepthSpec
from rbdyn_ros.sensors.scanning import Drawn
from rbdyn_ros.view.render.lens import wide_view

#: Depths are interpolated if their second difference from pixel to pixel is at most this [m].
#: Beyond FAR this limit grows with the square of the depth. The error of interpolation is at most
#: half the limit.
BENT = 1e-4
FAR = 5.0
#: Margin of pixels around the picture, for second differences.
PAD = 2
#: Largest ratio of the widths, and of the heights, of the undistorted and distorted pictures.
LARGER = 2


class DepthLens:
    """The distortion of a depth camera.

    Args:
        camera: a camera with distortion.

    Attributes:
        wide: the same camera without distortion, with a picture that covers at least as much.
    """

    def __init__(self, camera: DepthSpec) -> None:
        largest = LARGER * camera.width, LARGER * camera.height
        (width, height), matrix, places = wide_view(camera, PAD, largest)
        self.wide = replace(
            camera, width=width, height=height, intrinsics=matrix, distortion=(), method="auto"
        )
        corner = np.floor(places).astype(np.int32)
        self._share = np.moveaxis((places - corner).astype(np.float32), -1, 0)
        self._corner = corner[..., 1] * width + corner[..., 0]  # index of the pixel in the picture
        self._beside = (0, 1, width, width + 1)

    def seen(self, picture: Drawn) -> tuple[Drawn, NDArray[np.bool_]]:
        """Return the picture through the lens, and the pixels (height, width) that need a ray."""
        depth, number = picture[..., 0], picture[..., 1]
        inverse = np.float32(1.0) / depth
        bent = _bent(depth, inverse, number).ravel()
        inverse, number, corner = inverse.ravel(), number.ravel(), self._corner
        unclear = np.zeros(corner.shape, np.bool_)
        for beside in self._beside:
            unclear |= bent[corner + beside]
        x, y = self._share
        a, b, c, d = (inverse[corner + beside] for beside in self._beside)
        between = (1 - y) * ((1 - x) * a + x * b) + y * ((1 - x) * c + x * d)
        with np.errstate(divide="ignore"):
            return np.stack([1.0 / between, number[corner]], axis=-1), unclear


def _bent(depth: Drawn, inverse: Drawn, number: Drawn) -> NDArray[np.bool_]:
    """Return a mask of the pixels whose neighbours are not on the same plane of the same shape."""
    square = np.minimum(depth, FAR) ** 2
    bent = np.ones(depth.shape, np.bool_)
    bent[1:-1, 1:-1] = False
    for axis in (0, 1):
        low, middle, high = (_along(axis, part) for part in (np.s_[:-2], np.s_[1:-1], np.s_[2:]))
        curve = np.abs(inverse[low] - 2.0 * inverse[middle] + inverse[high]) * square[middle]
        bent[middle] |= (curve > BENT) | (number[low] != number[middle])
        bent[middle] |= number[high] != number[middle]
    return bent


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (part, slice(None)) if axis == 0 else (slice(None), part)
