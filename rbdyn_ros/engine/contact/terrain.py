"""Contacts of geometries with height fields: the solid below a grid of triangles.

A stage of its own, which a Model needs only if it has a height field. A geometry touches

- the triangles below its corners, or below the lowest points of a cylinder's rims, as a plane; a
  sphere or an end of a capsule touches all triangles on which its nearest point lies;
- the convex edges and corners of the field (`ridges.py`).

So a flat field, which has none, is a plane: nothing stumbles over its inner edges.

Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.5 (regions of a triangle).
"""

from __future__ import annotations

from rbdyn_ros.engine.collision.kinds import CAPSULE, CYLINDER, SPHERE
from rbdyn_ros.engine.contact.contact_list import order, reach_of
from rbdyn_ros.engine.contact.height_grid import (
    FACES,
    first_last,
    grid_of,
    list_field_contact,
    plane_of,
    triangle_under,
)
from rbdyn_ros.engine.contact.obstacles import lowest_angle, on_rim
from rbdyn_ros.engine.contact.ridges import ridges
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.spatial import (
    add3,
    add_scaled3,
    dot3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    sub3,
    transposed,
)
from rbdyn_ros.model.height_fields import BY_FIELD

EDGE_ON = 1e-9  # part of a cell by which a point may be beside its triangle
SAME = 1e-6  # part of the radius: points that are the same


@optional_stage("terrain_stage")
def _by_address(table, row):
    terrain(model_at(table), data_at(table, row))


@kernel
def terrain(m, d):
    """List the contacts of the geometries of moving bodies with height fields."""
    for g in range(m.ngeommoving):
        for o in range(m.ngeomlink, m.ngeom):
            if m.geom_touches[g, o - m.ngeomlink] == BY_FIELD:
                first = d.ncon
                _list_field(m, d, g, o)
                order(d, first)


@kernel
def _list_field(m, d, g, o):
    i, F_T = m.geom_bodyid[g], transposed(load9(m.geom_mat, o))
    B = mat_mul(F_T, load9(d.xmat, i))  # the body in the field
    b = mat_vec(F_T, sub3(load3(d.xpos, i), load3(m.geom_pos, o)))
    R, t = mat_mul(B, load9(m.geom_mat, g)), add3(b, mat_vec(B, load3(m.geom_pos, g)))
    centre = add3(load3(d.xpos, i), mat_vec(load9(d.xmat, i), load3(m.geom_pos, g)))
    reach = reach_of(m, d, i, centre, m.geom_rbound[g])
    half, size = load3(m.geom_half, g), load3(m.geom_size, o)
    x = abs(R[0]) * half[0] + abs(R[1]) * half[1] + abs(R[2]) * half[2] + reach
    y = abs(R[3]) * half[0] + abs(R[4]) * half[1] + abs(R[5]) * half[2] + reach
    z = abs(R[6]) * half[0] + abs(R[7]) * half[1] + abs(R[8]) * half[2] + reach
    if not (abs(t[0]) <= size[0] + x and abs(t[1]) <= size[1] + y):
        return
    kind = m.geom_type[g]
    if kind == SPHERE or kind == CAPSULE:
        for n in range(m.geom_vertnum[g]):
            at = add3(t, mat_vec(R, load3(m.vert_pos, m.geom_vertadr[g] + n)))
            _ball(m, d, g, o, at, n, reach)
    elif kind == CYLINDER:
        _rims(m, d, g, o, R, t, reach)
    else:
        for n in range(m.geom_vertnum[g]):
            at = add3(t, mat_vec(R, load3(m.vert_pos, m.geom_vertadr[g] + n)))
            _corner(m, d, g, o, at, n, reach)
    ridges(m, d, g, o, R, t, (x, y, z), reach)


@inline
def _corner(m, d, g, o, x, feature, reach):
    triangle, dist, normal = triangle_under(m, o, grid_of(m, o), x)
    if triangle >= 0 and dist < reach:
        list_field_contact(m, d, g, o, x, normal, dist, feature)


@kernel
def _rims(m, d, g, o, R, t, reach):
    """Add contacts of three points of each rim, 120 degrees apart, as with a plane."""
    _triangle, _dist, up = triangle_under(m, o, grid_of(m, o), t)
    angle = lowest_angle(R, up)
    for n in range(3):
        a, b = on_rim(m, g, angle, n)
        for end in range(2):
            z = m.geom_size[g, 1] if end == 1 else -m.geom_size[g, 1]
            _corner(m, d, g, o, add3(t, mat_vec(R, (a, b, z))), 2 * n + end, reach)


@kernel
def _ball(m, d, g, o, x, end, reach):
    """Add the contacts of a sphere at x with triangles: those with the foot of x on them."""
    grid, first, radius = grid_of(m, o), d.ncon, m.geom_radius[g]
    triangle, dist, normal = triangle_under(m, o, grid, x)
    if triangle >= 0 and dist < 0.0:  # its centre is in the ground
        at = add_scaled3(x, normal, -radius)
        list_field_contact(m, d, g, o, at, normal, dist - radius, FACES + 2 * triangle + end)
        return
    _adr, rows, columns, wide, long = grid
    size, most = load3(m.geom_size, o), radius + reach
    r0, r1 = first_last(x[1], most, size[1], long, rows)
    c0, c1 = first_last(x[0], most, size[0], wide, columns)
    for r in range(r0, r1):
        for c in range(c0, c1):
            for lower in range(2):
                dist, normal = plane_of(m, o, grid, r, c, lower == 1, x)
                if not (dist >= 0.0 and dist < most):
                    continue
                foot = add_scaled3(x, normal, -dist)
                if not _is_on(m, o, grid, r, c, lower == 1, foot):
                    continue
                at = add_scaled3(x, normal, -radius)
                if not _is_known(m, d, o, at, first, SAME * radius):
                    triangle = 2 * (r * columns + c) + lower
                    feature = FACES + 2 * triangle + end
                    list_field_contact(m, d, g, o, at, normal, dist - radius, feature)


@inline
def _is_on(m, o, grid, r, c, lower, x):
    """Return whether a point of the plane of a triangle is on the triangle."""
    _adr, _rows, _columns, wide, long = grid
    u = (x[0] + m.geom_size[o, 0]) / wide - c
    v = (x[1] + m.geom_size[o, 1]) / long - r
    least, most = (v, u) if lower else (u, v)
    return least >= -EDGE_ON and most <= 1.0 + EDGE_ON and most - least >= -EDGE_ON


@inline
def _is_known(m, d, o, x, first, near):
    """Return whether there is a contact at a point of the field, from number `first` on."""
    at = add3(load3(m.geom_pos, o), mat_vec(load9(m.geom_mat, o), x))
    for c in range(first, d.ncon):
        between = sub3(at, load3(d.contact_pos, c))
        if dot3(between, between) < near * near:
            return True
    return False
