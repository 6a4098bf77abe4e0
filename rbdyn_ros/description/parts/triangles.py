# SPDX-License-Identifier: Apache-2.0
"""Clean up triangles: merge corners at the same position, and drop triangles without area."""

import numpy as np

from rbdyn_ros.arrays import Array, Bools, Ints

#: Largest number of triangles of a triangle mesh: contact_key can number this many.
MOST_TRIANGLES = 1_000_000

#: A triangle whose height is at most this part of its longest edge has no area.
FLAT_TRIANGLE = 1e-7


def cleaned(vertices: Array, faces: Ints) -> tuple[Array, Ints]:
    """Return a mesh without repeated vertices and without triangles that have no area.

    Args:
        vertices: (n, 3), finite.
        faces: (k, 3), indices of vertices.
    """
    places, number = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    joined = number.reshape(-1)[faces]
    joined = joined[~_without_area(places, joined)]
    used, number = np.unique(joined, return_inverse=True)
    return places[used], number.reshape(-1, 3)


def _without_area(vertices: Array, faces: Ints) -> Bools:
    corners = vertices[faces]
    edges = np.roll(corners, -1, axis=1) - corners
    longest = np.square(edges).sum(axis=2).max(axis=1, initial=0.0)
    area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    flat: Bools = area <= FLAT_TRIANGLE * longest
    return flat
