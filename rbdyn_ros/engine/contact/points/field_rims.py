# SPDX-License-Identifier: Apache-2.0
"""Contacts between the rims of a cylinder and the triangles of terrain.

A rim touches a triangle at its point that is lowest along the triangle's normal, if this point is
above the triangle. In a valley both sides support the rim. Two more points, each a third of a turn
apart, resist tilting, as on a plane.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    add_scaled3,
    dot3,
    load3,
    mat_vec,
    store3,
    sub3,
)
from rbdyn_ros.engine.collision.kinds import TRIMESH
from rbdyn_ros.engine.collision.triangle_tree import WALK
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints
from rbdyn_ros.engine.contact.points.ground import (
    FIRST_TRIANGLE,
    SAME_POINT,
    begin_ground,
    deepest_of,
    goes_out,
    ground_at,
    is_known,
    is_on,
    list_corner,
    list_ground_contact,
    next_in_ground,
    plane_of,
)
from rbdyn_ros.engine.contact.points.rims import UPRIGHT_TILT, lowest_angle, on_rim
from rbdyn_ros.engine.contact.points.triangle_sides import is_side, nearest_over

#: Largest number of triangles that a rim touches; the deepest are kept. A pit has three or four
#: sides.
MAX_TRIANGLES = 8

#: Columns of a rim point: position (at 0), normal, distance.
NORMAL, DIST, COLUMNS = 3, 6, 7


@kernel
def list_rims(m, d, g, o, R, t, reach):
    """List the contacts of a cylinder at the pose R, t in the frame of the terrain."""
    first, most = d.ncon, m.geom_rbound[g] + reach
    for end in range(2):
        points, names = stack_floats(MAX_TRIANGLES, COLUMNS), stack_ints(MAX_TRIANGLES, 1)
        z = m.geom_size[g, 1] if end == 1 else -m.geom_size[g, 1]
        centre = add3(t, mat_vec(R, (0.0, 0.0, z)))
        number = _lowest_points(m, g, o, R, centre, reach, points, names)
        if number > 1:
            _list_points(m, d, g, o, points, names, number, end, first)
        triangle, _dist, up = ground_at(m, o, centre, most)
        if triangle < 0:
            _triangle, _dist, up = ground_at(m, o, t, most)
        angle = lowest_angle(R, up)
        for n in range(3):
            a, b = on_rim(m, g, angle, n)
            x = add3(t, mat_vec(R, (a, b, z)))
            if not is_known(m, d, o, x, first, SAME_POINT * m.geom_size[g, 0]):
                list_corner(m, d, g, o, x, 2 * n + end, reach)
        # usually the lowest point is the first of the three, which has a constant number
        if number == 1:
            _list_points(m, d, g, o, points, names, number, end, first)


@kernel
def _lowest_points(m, g, o, R, centre, reach, points, names):
    """Write the lowest points of the rim around `centre` over each triangle; return how many."""
    radius, walk = m.geom_size[g, 0], stack_ints(WALK, 1)
    axis, number, most = (R[2], R[5], R[8]), 0, radius + reach + deepest_of(m, g)
    half = (radius, radius, radius) if m.geom_type[o] != TRIMESH else (most, most, most)
    begin_ground(m, o, centre, half, walk)
    while True:
        triangle = next_in_ground(m, o, centre, half, walk)
        if triangle < 0:
            return number
        height, up = plane_of(m, o, triangle, centre)
        out = add_scaled3(up, axis, -dot3(up, axis))
        sine = np.sqrt(dot3(out, out))
        dist = height - radius * sine
        if sine < UPRIGHT_TILT or not dist < reach:
            continue
        x = add_scaled3(centre, out, -radius / sine)
        if is_on(m, o, triangle, x, dist) and _holds(m, g, o, triangle, x, centre, dist):
            number = _keep(points, names, number, x, up, dist, triangle, SAME_POINT * radius)


@inline
def _holds(m, g, o, triangle, x, centre, dist):
    """Return whether this triangle of a mesh supports a point of a rim; True on a height field."""
    if m.geom_type[o] != TRIMESH:
        return True
    deep = deepest_of(m, g)
    if dist < -deep:
        return False
    nearest, gap, _normal = nearest_over(m, o, x, sub3(centre, x), deep + abs(dist))
    return is_side(m, o, nearest, gap, triangle, dist)


@inline
def _keep(points, names, number, x, up, dist, name, near):
    """Store a point if it is new and among the deepest; return the number of stored points."""
    place = min(number, MAX_TRIANGLES - 1)
    for n in range(number):
        between = sub3(load3(points, n), x)
        if dot3(between, between) < near * near:
            return number
        if number == MAX_TRIANGLES and points[n, DIST] > points[place, DIST]:
            place = n
    if number < MAX_TRIANGLES or dist < points[place, DIST]:
        store3(points, place, x)
        points[place, NORMAL], points[place, NORMAL + 1], points[place, NORMAL + 2] = up
        points[place, DIST], names[place, 0] = dist, name
    return min(number + 1, MAX_TRIANGLES)


@kernel
def _list_points(m, d, g, o, points, names, number, end, first):
    """List the points of a rim that no contact from number `first` on has.

    end: 0 or 1, the end of the cylinder at which the rim is.
    """
    for n in range(number):
        x, feature = load3(points, n), FIRST_TRIANGLE + 2 * names[n, 0] + end
        if not is_known(m, d, o, x, first, SAME_POINT * m.geom_size[g, 0]):
            up = (points[n, NORMAL], points[n, NORMAL + 1], points[n, NORMAL + 2])
            if goes_out(m, d, g, o, x, up, points[n, DIST]):
                continue
            list_ground_contact(m, d, g, o, x, up, points[n, DIST], feature, True)
