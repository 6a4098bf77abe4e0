# SPDX-License-Identifier: Apache-2.0
"""The grid of a height field: its corners, the planes of its triangles, and contacts with it.

Each cell has two triangles, on both sides of its diagonal from small to large x and y.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    add_scaled3,
    dot3,
    load3,
    load9,
    mat_vec,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.points.contact_list import (
    list_contact,
    near,
    pair_number,
    paths,
    turn_rate_in_step,
    velocity_in_step,
)

#: First features of contact points at corners, triangles and edges of the field; smaller ones are
#: corners of the geometry.
FIRST_PEAK, FIRST_TRIANGLE, FIRST_EDGE = 1 << 20, 1 << 22, 1 << 23

EDGE_ON = 1e-9  # part of a cell by which a point may be beside its triangle
MOST_PLANES = 8  # most triangles that are tried for the place at which a path meets the ground
SAME_POINT = 1e-6  # part of the radius: points that are the same


@inline
def grid_of(m, o):
    """Return the first height, rows, columns of a field, and the lengths of a cell in x and y."""
    k = m.geom_fieldid[o]
    rows, columns = m.field_nrow[k], m.field_ncol[k]
    half = load3(m.geom_size, o)
    return m.field_adr[k], rows, columns, 2.0 * half[0] / (columns - 1), 2.0 * half[1] / (rows - 1)


@inline
def first_last(at, reach, half, cell, number):
    """Return the first and the last of a number of lines of the grid around a place."""
    low, high = (at - reach + half) / cell, (at + reach + half) / cell
    return int(max(np.floor(low), 0.0)), int(min(np.floor(high) + 1.0, number - 1.0))


@inline
def corner_of(m, o, grid, r, c):
    """Return a corner of a field."""
    adr, _rows, columns, cell_x, cell_y = grid
    x, y = c * cell_x - m.geom_size[o, 0], r * cell_y - m.geom_size[o, 1]
    return x, y, m.field_height[adr + r * columns + c]


@inline
def plane_of(m, o, grid, r, c, lower, x):
    """Return the distance of x to the plane of a triangle, and its normal.

    A cell has two: the lower one at its side of small y, the upper one at its side of large y.
    """
    adr, _rows, columns, cell_x, cell_y = grid
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
def triangle_under(m, o, grid, x):
    """Return the number of the triangle at x seen from above, its distance and its normal.

    The number is -1 beside the field.
    """
    _adr, rows, columns, cell_x, cell_y = grid
    u, v = (x[0] + m.geom_size[o, 0]) / cell_x, (x[1] + m.geom_size[o, 1]) / cell_y
    if not (u >= 0.0 and v >= 0.0 and u <= columns - 1.0 and v <= rows - 1.0):
        return -1, np.inf, (0.0, 0.0, 1.0)
    r, c = min(int(v), rows - 2), min(int(u), columns - 2)
    lower = u - c >= v - r
    dist, normal = plane_of(m, o, grid, r, c, lower, x)
    return 2 * (r * columns + c) + (1 if lower else 0), dist, normal


@inline
def is_on(m, o, grid, r, c, lower, x):
    """Return whether a point of the plane of a triangle is on the triangle."""
    _adr, _rows, _columns, cell_x, cell_y = grid
    u = (x[0] + m.geom_size[o, 0]) / cell_x - c
    v = (x[1] + m.geom_size[o, 1]) / cell_y - r
    least, most = (v, u) if lower else (u, v)
    return least >= -EDGE_ON and most <= 1.0 + EDGE_ON and most - least >= -EDGE_ON


@inline
def list_field_contact(m, d, g, o, x, normal, dist, feature, touches):
    """List a contact at the point x of the geometry, in the frame of the field."""
    F, i = load9(m.geom_mat, o), m.geom_bodyid[g]
    at = add3(load3(m.geom_pos, o), mat_vec(F, x))
    pair = m.ngeomlink * m.nobstacle + m.npush + pair_number(m, g, o)
    list_contact(m, d, pair, o, g, 0, i, at, mat_vec(F, normal), dist, feature, touches)


@kernel
def list_corner(m, d, g, o, x, feature, reach):
    """List the contact of a corner, up to the distance `reach`.

    It is with the triangle below the corner, or with the one where its path meets the ground.
    """
    grid, first = grid_of(m, o), d.ncon
    _triangle, dist, normal = triangle_under(m, o, grid, x)
    if not dist < reach:
        return
    if dist < near(m):
        list_field_contact(m, d, g, o, x, normal, dist, feature, True)
        return
    for late in range(paths(d)):
        v = field_velocity(m, d, g, o, x, late)
        meets, dist, normal = _meet(m, o, grid, x, v)
        if meets:
            list_field_contact(m, d, g, o, x, normal, dist, feature, True)
        if d.ncon > first:
            return


@kernel
def _meet(m, o, grid, x, v):
    """Return whether a point meets the ground in a step, and the distance and normal there."""
    h, t = m.opt.timestep, 0.0
    last, dist, normal = triangle_under(m, o, grid, x)
    triangle = last
    for _ in range(MOST_PLANES):
        rate = -dot3(normal, v)
        t = dist / rate if rate * h > dist else h  # beyond its plane, or at the end of the step
        triangle, there, up = triangle_under(m, o, grid, add_scaled3(x, v, t))
        if triangle < 0 or triangle == last:
            break
        last, normal = triangle, up
        dist = there - t * dot3(up, v)
    return triangle >= 0 and dist + h * dot3(normal, v) < 0.0, dist, normal


@inline
def field_velocity(m, d, g, o, x, late):
    """Return the velocity of the point x of a geometry, both in the frame of a field."""
    F = load9(m.geom_mat, o)
    at = add3(load3(m.geom_pos, o), mat_vec(F, x))
    return mat_vec(transposed(F), velocity_in_step(m, d, m.geom_bodyid[g], at, late))


@inline
def field_turn_rate(m, d, g, o, late):
    """Return the angular velocity of a geometry in the frame of a field."""
    w = turn_rate_in_step(m, d, m.geom_bodyid[g], late)
    return mat_vec(transposed(load9(m.geom_mat, o)), w)


@inline
def is_known(m, d, o, x, first, apart):
    """Return whether there is a contact at a point of the field, from number `first` on."""
    at = add3(load3(m.geom_pos, o), mat_vec(load9(m.geom_mat, o), x))
    for c in range(first, d.ncon):
        between = sub3(at, load3(d.contact_pos, c))
        if dot3(between, between) < apart * apart:
            return True
    return False
