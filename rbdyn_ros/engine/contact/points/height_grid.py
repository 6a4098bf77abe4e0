# SPDX-License-Identifier: Apache-2.0
"""The grid of a height field: its corners, and the planes of its triangles near a point.

Each cell has two triangles, one on each side of its diagonal from small to large x and y.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import load3
from rbdyn_ros.engine.compiler.jit import inline

EDGE_ON = 1e-9  # a point may be outside its triangle by this part of a cell

#: Rows of a search's state: row, column and side of the next triangle, and limits of the search.
ROW, COLUMN, SIDE, LAST_ROW, FIRST_COLUMN, LAST_COLUMN = 0, 1, 2, 3, 4, 5


@inline
def grid_of(m, o):
    """Return a field's first height, its rows and columns, and a cell's lengths in x and y."""
    k = m.geom_fieldid[o]
    rows, columns = m.field_nrow[k], m.field_ncol[k]
    half = load3(m.geom_size, o)
    return m.field_adr[k], rows, columns, 2.0 * half[0] / (columns - 1), 2.0 * half[1] / (rows - 1)


@inline
def first_last(at, reach, half, cell, number):
    """Return the first and last of `number` grid lines within `reach` of the coordinate `at`.

    The first line is at -half, and the distance of the lines is `cell`.
    """
    low, high = (at - reach + half) / cell, (at + reach + half) / cell
    return int(max(np.floor(low), 0.0)), int(min(np.floor(high) + 1.0, number - 1.0))


@inline
def corner_of(m, o, grid, r, c):
    """Return the corner in row r and column c of a height field."""
    adr, _rows, columns, cell_x, cell_y = grid
    x, y = c * cell_x - m.geom_size[o, 0], r * cell_y - m.geom_size[o, 1]
    return x, y, m.field_height[adr + r * columns + c]


@inline
def _cell(columns, triangle):
    """Return the row and column of a triangle's cell, and whether it is the lower triangle."""
    cell = triangle // 2
    return cell // columns, cell % columns, triangle % 2 == 1


@inline
def plane_in_grid(m, o, triangle, x):
    """Return the distance of x to the plane of a triangle, and its normal.

    A cell has a lower triangle at its side of small y and an upper one at its side of large y.
    """
    adr, _rows, columns, cell_x, cell_y = grid_of(m, o)
    r, c, lower = _cell(columns, triangle)
    at = adr + r * columns + c
    here, opposite = m.field_height[at], m.field_height[at + columns + 1]
    if lower:
        beside = m.field_height[at + 1]
        a, b = (beside - here) / cell_x, (opposite - beside) / cell_y
    else:
        beside = m.field_height[at + columns]
        a, b = (opposite - beside) / cell_x, (beside - here) / cell_y
    east, north = x[0] + m.geom_size[o, 0] - c * cell_x, x[1] + m.geom_size[o, 1] - r * cell_y
    up = 1.0 / np.sqrt(1.0 + a * a + b * b)
    return (x[2] - here - a * east - b * north) * up, (-a * up, -b * up, up)


@inline
def triangle_under(m, o, x):
    """Return the number of the triangle at x seen from above, its distance and its normal.

    The number is -1 outside the field.
    """
    _adr, rows, columns, cell_x, cell_y = grid_of(m, o)
    u, v = (x[0] + m.geom_size[o, 0]) / cell_x, (x[1] + m.geom_size[o, 1]) / cell_y
    if not (u >= 0.0 and v >= 0.0 and u <= columns - 1.0 and v <= rows - 1.0):
        return -1, np.inf, (0.0, 0.0, 1.0)
    r, c = min(int(v), rows - 2), min(int(u), columns - 2)
    lower = u - c >= v - r
    triangle = 2 * (r * columns + c) + (1 if lower else 0)
    dist, normal = plane_in_grid(m, o, triangle, x)
    return triangle, dist, normal


@inline
def is_on_grid(m, o, triangle, x):
    """Return whether a point of the plane of a triangle is on the triangle."""
    _adr, _rows, columns, cell_x, cell_y = grid_of(m, o)
    r, c, lower = _cell(columns, triangle)
    u = (x[0] + m.geom_size[o, 0]) / cell_x - c
    v = (x[1] + m.geom_size[o, 1]) / cell_y - r
    least, most = (v, u) if lower else (u, v)
    return least >= -EDGE_ON and most <= 1.0 + EDGE_ON and most - least >= -EDGE_ON


@inline
def begin_grid(m, o, centre, half, walk):
    """Begin a search through the triangles within `half` of a point; `walk` stores the search."""
    _adr, rows, columns, cell_x, cell_y = grid_of(m, o)
    r0, r1 = first_last(centre[1], half[1], m.geom_size[o, 1], cell_y, rows)
    c0, c1 = first_last(centre[0], half[0], m.geom_size[o, 0], cell_x, columns)
    walk[ROW, 0], walk[LAST_ROW, 0], walk[SIDE, 0] = r0, r1, 0
    walk[COLUMN, 0], walk[FIRST_COLUMN, 0], walk[LAST_COLUMN, 0] = c0, c0, c1


@inline
def next_in_grid(m, o, walk):
    """Return the next triangle of the search in `walk`, or -1 at the end."""
    _adr, _rows, columns, _cell_x, _cell_y = grid_of(m, o)
    r, c, side = walk[ROW, 0], walk[COLUMN, 0], walk[SIDE, 0]
    if r >= walk[LAST_ROW, 0] or c >= walk[LAST_COLUMN, 0]:
        return -1
    walk[SIDE, 0] = 1 - side
    if side == 1:
        walk[COLUMN, 0] = c + 1
        if c + 1 == walk[LAST_COLUMN, 0]:
            walk[COLUMN, 0], walk[ROW, 0] = walk[FIRST_COLUMN, 0], r + 1
    return 2 * (r * columns + c) + side
