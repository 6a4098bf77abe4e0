# SPDX-License-Identifier: Apache-2.0
"""Readings of lidars and cameras, prepared for display."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.sensors.camera_specs import DepthSpec
from rbdyn_ros.sensors.ray_specs import RaySpec
from rbdyn_ros.sensors.scanning import Scan

#: Largest numbers of lidar points and of picture columns; larger readings are thinned.
MOST_POINTS, MOST_COLUMNS = 20_000, 320
#: Smallest span of depths from white to grey [m], so that mere noise shows no pattern.
LEAST_SPAN = 0.05


Pixel = TypeVar("Pixel", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """A reading prepared for display.

    Attributes:
        name: name of the sensor.
        link: link whose frame the sensor has.
        picture: (height, width, 3) red, green, blue, 0 to 255, of a camera; in the picture of a
            depth camera the nearest point is white, and pixels without a reading are black.
        points: (n, 3) points of a lidar or a range sensor in the frame of the link [m]; None for a
            camera.
    """

    name: str
    link: str
    picture: NDArray[np.uint8] | None = None
    points: NDArray[np.float32] | None = None


def sight(spec: RaySpec, reading: Scan | NDArray[np.uint8]) -> Sight:
    """Return the reading of a sensor, prepared for display."""
    if not isinstance(reading, Scan):
        return Sight(spec.name, spec.link, picture=_smaller(reading))
    if isinstance(spec, DepthSpec):
        return Sight(spec.name, spec.link, picture=_grey(_smaller(reading.distance)))
    points = reading.points.reshape(-1, 3)
    points = points[np.isfinite(points[:, 0])]
    every = -(-len(points) // MOST_POINTS) or 1
    return Sight(spec.name, spec.link, points=points[::every].astype(np.float32))


def _smaller(pixels: NDArray[Pixel]) -> NDArray[Pixel]:
    every = -(-pixels.shape[1] // MOST_COLUMNS)
    return pixels[::every, ::every]


def _grey(depth: Array) -> NDArray[np.uint8]:
    """Return depths (height, width) as grey: the nearest is white, unknown depths are black."""
    known = np.isfinite(depth)
    near, far = (depth[known].min(), depth[known].max()) if known.any() else (0.0, 0.0)
    share = (np.where(known, depth, far) - near) / max(far - near, LEAST_SPAN)
    shade = np.where(known, 255.0 - 215.0 * np.sqrt(share), 0.0)
    return np.repeat(shade.astype(np.uint8)[..., None], 3, axis=2)
