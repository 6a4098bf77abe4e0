# SPDX-License-Identifier: Apache-2.0
"""Height fields as arrays: their heights, and the convex edges of their triangles."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.arrays import Array, Arrays, Bools, Ints, NamedArrays
from rbdyn_ros.description.parts.geometries import HeightField, Obstacle
from rbdyn_ros.model.geometry.geoms import GeomType

#: Flags of field_ridge: the edges to the east (+x), north (+y) and north-east, and the corner.
EAST, NORTH, DIAGONAL, PEAK = 1, 2, 4, 8

#: An edge counts as flat if the slope changes by less than this.
BENT = 1e-9


def height_fields(obstacles: tuple[Obstacle, ...]) -> Arrays:
    """Return the primary fields field_nrow, field_ncol and field_height."""
    fields = [one.shape for one in obstacles if isinstance(one.shape, HeightField)]
    heights = [np.array(field.heights, np.float64) for field in fields]
    return {
        "field_nrow": np.array([grid.shape[0] for grid in heights], np.int64),
        "field_ncol": np.array([grid.shape[1] for grid in heights], np.int64),
        "field_height": np.concatenate([np.zeros(0), *(grid.ravel() for grid in heights)]),
    }


def field_indices(fields: NamedArrays) -> Arrays:
    """Return geom_fieldid, field_adr and field_ridge.

    Args:
        fields: the primary fields of a Model.
    """
    is_field = fields["geom_type"] == GeomType.HFIELD
    rows, columns = fields["field_nrow"], fields["field_ncol"]
    number = rows * columns
    starts = np.cumsum(number) - number
    flags = [np.zeros(0, np.int64)]
    for k, half in enumerate(fields["geom_size"][is_field]):
        heights = fields["field_height"][starts[k] : starts[k] + number[k]]
        flags.append(_ridges(heights.reshape(rows[k], columns[k]), half).ravel())
    return {
        "geom_fieldid": np.where(is_field, np.cumsum(is_field) - 1, -1),
        "field_adr": starts,
        "field_ridge": np.concatenate(flags),
    }


def field_triangles(heights: Array, half: Array) -> tuple[Array, Ints]:
    """Return corners (n, 3) and triangles (k, 3) of a height field, anticlockwise from above.

    Args:
        heights: (rows, columns).
        half: half lengths along x and y.
    """
    rows, columns = heights.shape
    x, y = np.linspace(-half[0], half[0], columns), np.linspace(-half[1], half[1], rows)
    east, north = np.meshgrid(x, y)
    corner = np.arange(rows * columns).reshape(rows, columns)
    here, across = corner[:-1, :-1].ravel(), corner[1:, 1:].ravel()
    east_of, north_of = corner[:-1, 1:].ravel(), corner[1:, :-1].ravel()
    faces = np.concatenate(
        [np.column_stack([here, east_of, across]), np.column_stack([here, across, north_of])]
    )
    return np.column_stack([east.ravel(), north.ravel(), heights.ravel()]), faces


def _ridges(z: Array, half: Array) -> Ints:
    """Return the flags of field_ridge; edges of the border are convex.

    Args:
        z: (rows, columns), heights.
        half: half lengths along x and y.
    """
    rows, columns = z.shape
    dx, dy = 2.0 * half[0] / (columns - 1), 2.0 * half[1] / (rows - 1)
    # slopes of the lower and the upper triangle of each cell, see terrain.py
    x_low, y_low = (z[:-1, 1:] - z[:-1, :-1]) / dx, (z[1:, 1:] - z[:-1, 1:]) / dy
    x_up, y_up = (z[1:, 1:] - z[1:, :-1]) / dx, (z[1:, :-1] - z[:-1, :-1]) / dy
    east, north, diagonal = (np.zeros(z.shape, bool) for _ in range(3))
    east[[0, -1], :-1] = north[:-1, [0, -1]] = True
    east[1:-1, :-1] = y_low[1:] < y_up[:-1] - BENT
    north[:-1, 1:-1] = x_up[:, 1:] < x_low[:, :-1] - BENT
    diagonal[:-1, :-1] = (x_low - x_up) * dy - (y_low - y_up) * dx < -BENT * np.hypot(dx, dy)
    ends = _ends(east, north, diagonal)
    flags: Ints = EAST * east + NORTH * north + DIAGONAL * diagonal + PEAK * ends
    return flags


def _ends(east: Bools, north: Bools, diagonal: Bools) -> Bools:
    """Return a mask of the field's corners at which convex edges end."""
    ends: Bools = east | north | diagonal
    ends[:, 1:] |= east[:, :-1]
    ends[1:] |= north[:-1]
    ends[1:, 1:] |= diagonal[:-1, :-1]
    return ends
