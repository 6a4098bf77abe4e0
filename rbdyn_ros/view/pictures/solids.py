# SPDX-License-Identifier: Apache-2.0
"""The solids of a film: what a robot looks like, in few enough triangles to be drawn quickly."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance, Placeholder
from rbdyn_ros.errors import Finding
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.rotation import quat_to_mat
from rbdyn_ros.view.scene.parts import (
    Color,
    Part,
    geometry_parts,
    inertia_boxes,
    obstacle_parts,
    parts_of_looks,
)

#: Triangles of a whole robot, and of each of its surfaces at least.
MOST_TRIANGLES, FEWEST_TRIANGLES = 9_000, 60

#: Cells along the longest edge of a mesh in which its vertices become one, and the factor between
#: two tries.
CELLS, COARSER = 40.0, 0.85

#: Geometries and inertias have no colour: of the palette of Okabe and Ito, one for each tree.
PLAIN: Color = (0.34, 0.71, 0.91, 1.0)
PALETTE: tuple[Color, ...] = (
    PLAIN, (0.90, 0.62, 0.0, 1.0), (0.0, 0.62, 0.45, 1.0), (0.80, 0.47, 0.65, 1.0),
    (0.94, 0.89, 0.26, 1.0), (0.84, 0.37, 0.0, 1.0), (0.0, 0.45, 0.70, 1.0),
)  # fmt: skip
#: Obstacles larger than this times the view of the robot are left out: it would be a dot.
LARGEST_OBSTACLE = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """Triangles of one colour that are fixed to a body.

    Attributes:
        body: number of the body.
        triangles: corners (n, 3, 3) in the body [m].
        color: red, green, blue and opacity, 0 to 1.
    """

    body: int
    triangles: Array
    color: Color


def has_visuals(looks: Appearance) -> bool:
    """Whether the appearance has visuals that can be drawn."""
    return any(not isinstance(look.shape, Placeholder) for look in looks.visuals)


def solids_of(m: Model, looks: Appearance) -> tuple[list[Solid], list[Finding]]:
    """Return the solids of a robot, of each body its visuals, and a warning per broken mesh.

    A body without visuals shows its contact geometries, and without these a box with its mass and
    inertia.

    Raises:
        ModelError: the visuals belong to another robot.
    """
    drawn = tuple(look for look in looks.visuals if not isinstance(look.shape, Placeholder))
    parts, broken = parts_of_looks(m, drawn)
    every = parts
    for others in (geometry_parts(m, PLAIN), inertia_boxes(m, 1.0, PLAIN)):
        shown = {part.body for part in every}
        every = [*every, *(part for part in others if part.body not in shown)]
    every = _by_tree(m, every)
    most = max(FEWEST_TRIANGLES, MOST_TRIANGLES // max(1, len(every)))
    return [_solid(part, most) for part in every], broken


def _by_tree(m: Model, parts: list[Part]) -> list[Part]:
    """Return the parts; parts without a colour get the colour of their tree."""
    trees = list(dict.fromkeys(m.body_rootid[part.body] for part in parts if part.color == PLAIN))
    of_tree = {tree: PALETTE[k % len(PALETTE)] for k, tree in enumerate(trees)}
    return [
        replace(part, color=of_tree[m.body_rootid[part.body]]) if part.color == PLAIN else part
        for part in parts
    ]


def obstacles_of(m: Model, size: float) -> list[Solid]:
    """Return the obstacles that are not much larger than a view [m]."""
    parts = [(part, np.ptp(part.corners(), axis=0).max()) for part in obstacle_parts(m)]
    most = LARGEST_OBSTACLE * size
    return [_solid(part, MOST_TRIANGLES) for part, width in parts if width <= most]


def _solid(part: Part, most: int) -> Solid:
    vertices = np.asarray(part.surface.vertices, np.float64) * part.scale
    corners, faces = simplified(vertices, part.surface.faces, most)
    placed = corners @ quat_to_mat(part.quat).T + part.pos
    return Solid(part.body, placed[faces], part.color)


def simplified(
    vertices: Array, faces: NDArray[np.int32], most: int
) -> tuple[Array, NDArray[np.int64]]:
    """Return vertices and at most `most` faces: the vertices in each cell of a grid become one.

    Args:
        vertices: (n, 3).
        faces: vertex numbers (k, 3).
        most: number of faces.

    Source: Rossignac, Borrel, Multi-resolution 3D approximations for rendering, 1993.
    """
    low = vertices.min(axis=0)
    longest = max(float(np.ptp(vertices, axis=0).max()), 1e-12)
    corners, found, cells = vertices, faces.astype(np.int64), CELLS
    while len(found) > most:
        number = int(cells) + 1
        x, y, z = np.floor((vertices - low) / longest * cells).astype(np.int64).T
        kept, place = np.unique((x * number + y) * number + z, return_inverse=True)
        count = np.bincount(place)
        sums = [np.bincount(place, vertices[:, k]) for k in range(3)]
        corners, found = np.array(sums).T / count[:, None], _distinct(place[faces], len(kept))
        cells *= COARSER
    return corners, found


def _distinct(faces: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the faces with three corners, each once."""
    a, b, c = np.sort(faces, axis=1).T
    keys = np.where((a < b) & (b < c), (a * count + b) * count + c, -1)
    different, first = np.unique(keys, return_index=True)
    chosen: NDArray[np.int64] = faces[first[different >= 0]]
    return chosen
