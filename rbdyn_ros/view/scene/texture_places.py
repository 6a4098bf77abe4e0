# SPDX-License-Identifier: Apache-2.0
"""Image coordinates of the corners of a solid with a `<texture>` of a URDF.

Each face of a box shows the whole image, upright on the vertical faces. The image goes around
round solids once about z, with its left edge at -x. Each end of a cylinder shows the whole image.
"""

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import AnyShape
from rbdyn_ros.description.parts.geometries import Box, Capsule, Cylinder, Sphere
from rbdyn_ros.view.scene.surfaces import Places, TriangleSurface


def places_of(shape: AnyShape, surface: TriangleSurface) -> Places | None:
    """Return the image coordinates of a surface, or None for a mesh without coordinates."""
    if surface.places is not None or not isinstance(shape, Box | Sphere | Cylinder | Capsule):
        return surface.places
    corners = surface.vertices[surface.faces].astype(np.float64)
    if isinstance(shape, Box):
        places = _on_box(corners)
    elif isinstance(shape, Cylinder):
        flat = np.ptp(corners[..., 2], axis=1) < 1e-6 * shape.length
        places = np.where(flat[:, None, None], _on_box(corners), _around(corners))
    else:
        places = _around(corners)
    return places.astype(np.float32)


def _on_box(corners: Array) -> Array:
    """Return image coordinates (k, 3, 2) of corners (k, 3, 3) on the faces of a box."""
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    axis = np.abs(across).argmax(axis=1)
    positive = np.take_along_axis(across, axis[:, None], axis=1)[:, 0] > 0.0
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    x, y, z = np.moveaxis((corners - low) / (high - low), -1, 0)
    right = np.where((axis == 0)[:, None], y, x)
    # on these faces, seen from outside, the coordinate grows to the left
    turned = np.where(axis == 1, positive, ~positive)
    up = np.where((axis == 2)[:, None], y, z)
    return np.stack([np.where(turned[:, None], 1.0 - right, right), up], axis=-1)


def _around(corners: Array) -> Array:
    """Return image coordinates (k, 3, 2) of triangles, projected on a cylinder about z."""
    x, y, z = np.moveaxis(corners, -1, 0)
    turn = np.arctan2(y, x) / math.tau + 0.5
    beyond = np.ptp(turn, axis=1, keepdims=True) > 0.5  # the triangle crosses the seam at -x
    turn = np.where(beyond & (turn < 0.5), turn + 1.0, turn)
    pole = np.hypot(x, y) < 1e-6 * np.ptp(z)  # a pole is on the meridian of each triangle
    count = np.maximum(3 - pole.sum(axis=1, keepdims=True), 1)
    mean = np.where(pole, 0.0, turn).sum(axis=1, keepdims=True) / count
    return np.stack([np.where(pole, mean, turn), (z - z.min()) / np.ptp(z)], axis=-1)
