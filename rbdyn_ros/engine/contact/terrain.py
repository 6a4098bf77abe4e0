"""Contacts of geometries with height fields: the solid below a grid of triangles.

A stage of its own, which a Model needs only if it has a height field. A geometry touches

- the triangles below its corners, or below the lowest points of a cylinder's rims, as a plane; a
  sphere or an end of a capsule touches all triangles on which its nearest point lies;
- the convex edges and corners of the field, at the point of each that is deepest in it.

Edges between triangles of one plane are not convex, and an edge counts only for normals between
those of its triangles. So a flat field is a plane: nothing stumbles over its inner edges.

Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.5 (regions of a triangle).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.contact.distances import CAPSULE, CYLINDER, SPHERE, distance
from rbdyn_ros.engine.contact.touch import list_contact, order, pair_number, reach_of
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
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.model.geoms import GeomType
from rbdyn_ros.model.height_fields import BY_FIELD, PEAK

MESH = int(GeomType.MESH)

#: Numbers of contact points: corners, corners of the field, triangles, edges of the field.
PEAKS, FACES, EDGES = 1 << 20, 1 << 22, 1 << 23

SEARCHES, HALVING = 60, 4  # steps of a search; one of so many halves
EXACT = 1e-17  # distance [m] by which a search may miss the least
BESIDE = 1e-6  # part of an edge: the two sides of its nearest point
NO_END = 1e-3  # part of an edge near an end, which is a corner
INSIDE = 1e-3  # part of a common line by which its ends are taken further inside
SHORT = 0.02  # part of an edge that counts as one point
LEVEL = 2e-3  # slope [rad] below which an edge lies along a face
UPRIGHT = 1e-6  # tilt [rad] below which a cylinder stands on points of its own
EDGE_ON = 1e-9  # part of a cell by which a point may be beside its triangle
CONE = 1e-6  # angle [rad] by which a normal may be outside those of an edge
LEAST_UP = 0.05  # height of a normal: the field pushes upwards
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
                _meet(m, d, g, o)
                order(d, first)


@kernel
def _meet(m, d, g, o):
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
    _ridges(m, d, g, o, R, t, (x, y, z), reach)


@inline
def _touch(m, d, g, o, x, normal, dist, feature):
    """List a contact at the point x of the geometry, in the frame of the field."""
    F, i = load9(m.geom_mat, o), m.geom_bodyid[g]
    at = add3(load3(m.geom_pos, o), mat_vec(F, x))
    pair = m.ngeomlink * m.nobstacle + m.npush + pair_number(m, g, o)
    list_contact(m, d, pair, o, g, 0, i, at, mat_vec(F, normal), dist, feature)


# the grid


@inline
def _grid(m, o):
    """Return the first height, rows and columns of a field, and the lengths of a cell."""
    k = m.geom_fieldid[o]
    rows, columns = m.field_nrow[k], m.field_ncol[k]
    half = load3(m.geom_size, o)
    return m.field_adr[k], rows, columns, 2.0 * half[0] / (columns - 1), 2.0 * half[1] / (rows - 1)


@inline
def _first_last(at, reach, half, cell, number):
    """Return the first and the last of a number of lines of the grid around a place."""
    low, high = (at - reach + half) / cell, (at + reach + half) / cell
    return int(max(np.floor(low), 0.0)), int(min(np.floor(high) + 1.0, number - 1.0))


@inline
def _point(m, o, grid, r, c):
    """Return a corner of a field."""
    adr, _rows, columns, wide, long = grid
    x, y = c * wide - m.geom_size[o, 0], r * long - m.geom_size[o, 1]
    return x, y, m.field_height[adr + r * columns + c]


@inline
def _plane(m, o, grid, r, c, lower, x):
    """Return the distance of x to the plane of a triangle, and its normal.

    A cell has two: the lower one beside its side of small y, the other beside that of large y.
    """
    adr, _rows, columns, wide, long = grid
    at = adr + r * columns + c
    here, opposite = m.field_height[at], m.field_height[at + columns + 1]
    if lower:
        beside = m.field_height[at + 1]
        a, b = (beside - here) / wide, (opposite - beside) / long
    else:
        beside = m.field_height[at + columns]
        a, b = (opposite - beside) / wide, (beside - here) / long
    east, north = x[0] + m.geom_size[o, 0] - c * wide, x[1] + m.geom_size[o, 1] - r * long
    up = 1.0 / np.sqrt(1.0 + a * a + b * b)
    return (x[2] - here - a * east - b * north) * up, (-a * up, -b * up, up)


@inline
def _under(m, o, grid, x):
    """Return the number of the triangle at x seen from above, its distance and its normal.

    The number is -1 beside the field.
    """
    _adr, rows, columns, wide, long = grid
    u, v = (x[0] + m.geom_size[o, 0]) / wide, (x[1] + m.geom_size[o, 1]) / long
    if not (u >= 0.0 and v >= 0.0 and u <= columns - 1.0 and v <= rows - 1.0):
        return -1, np.inf, (0.0, 0.0, 1.0)
    r, c = min(int(v), rows - 2), min(int(u), columns - 2)
    lower = u - c >= v - r
    dist, normal = _plane(m, o, grid, r, c, lower, x)
    return 2 * (r * columns + c) + (1 if lower else 0), dist, normal


# corners of the geometry


@inline
def _corner(m, d, g, o, x, feature, reach):
    triangle, dist, normal = _under(m, o, _grid(m, o), x)
    if triangle >= 0 and dist < reach:
        _touch(m, d, g, o, x, normal, dist, feature)


@kernel
def _rims(m, d, g, o, R, t, reach):
    """Add contacts of three points of each rim, 120 degrees apart, as with a plane."""
    _triangle, _dist, up = _under(m, o, _grid(m, o), t)
    x, y, _ = mat_vec(transposed(R), up)
    upright = x * x + y * y < UPRIGHT * UPRIGHT  # the lowest point is noise
    angle = 0.0 if upright else np.arctan2(-y, -x)
    for n in range(3):
        turned = angle + n * (2.0 * np.pi / 3.0)
        a, b = m.geom_size[g, 0] * np.cos(turned), m.geom_size[g, 0] * np.sin(turned)
        for end in range(2):
            z = m.geom_size[g, 1] if end == 1 else -m.geom_size[g, 1]
            _corner(m, d, g, o, add3(t, mat_vec(R, (a, b, z))), 2 * n + end, reach)


@kernel
def _ball(m, d, g, o, x, end, reach):
    """Add the contacts of a sphere at x with triangles: those with the foot of x on them."""
    grid, first, radius = _grid(m, o), d.ncon, m.geom_radius[g]
    triangle, dist, normal = _under(m, o, grid, x)
    if triangle >= 0 and dist < 0.0:  # its centre is in the ground
        at = add_scaled3(x, normal, -radius)
        _touch(m, d, g, o, at, normal, dist - radius, FACES + 2 * triangle + end)
        return
    _adr, rows, columns, wide, long = grid
    size, most = load3(m.geom_size, o), radius + reach
    r0, r1 = _first_last(x[1], most, size[1], long, rows)
    c0, c1 = _first_last(x[0], most, size[0], wide, columns)
    for r in range(r0, r1):
        for c in range(c0, c1):
            for lower in range(2):
                dist, normal = _plane(m, o, grid, r, c, lower == 1, x)
                if not (dist >= 0.0 and dist < most):
                    continue
                foot = add_scaled3(x, normal, -dist)
                if not _is_on(m, o, grid, r, c, lower == 1, foot):
                    continue
                at = add_scaled3(x, normal, -radius)
                if not _is_known(m, d, o, at, first, SAME * radius):
                    triangle = 2 * (r * columns + c) + lower
                    _touch(m, d, g, o, at, normal, dist - radius, FACES + 2 * triangle + end)


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


# convex edges and corners of the field


@kernel
def _ridges(m, d, g, o, R, t, wide_half, reach):
    """Add the contacts of the convex edges and corners of the field below a geometry."""
    grid, size = _grid(m, o), load3(m.geom_size, o)
    adr, rows, columns, wide, long = grid
    low = t[2] - wide_half[2]
    r0, r1 = _first_last(t[1], wide_half[1], size[1], long, rows)
    c0, c1 = _first_last(t[0], wide_half[0], size[0], wide, columns)
    for r in range(r0, r1 + 1):
        for c in range(c0, c1 + 1):
            flags = m.field_ridge[adr + r * columns + c]
            if flags == 0:
                continue
            p = _point(m, o, grid, r, c)
            if flags & PEAK and p[2] >= low:
                _peak(m, d, g, o, grid, R, t, r, c, p, reach)
            for k in range(3):
                if flags & (1 << k):
                    q = _point(m, o, grid, r + (k != 0), c + (k != 1))
                    if max(p[2], q[2]) >= low:
                        _edge(m, d, g, o, grid, R, t, r, c, k, p, sub3(q, p), reach)


@kernel
def _solid(m, g, R, t, x):
    """Return the distance of a point of the field to a geometry at R, t, and the way out."""
    local = mat_vec(transposed(R), sub3(x, t))
    if m.geom_type[g] == MESH:
        dist, away = _from_hull(m, g, local)
    else:
        dist, away = distance(m.geom_type[g], load3(m.geom_size, g), local)
    return dist, mat_vec(R, away)


@kernel
def _from_hull(m, g, x):
    """Return the distance of a point to the nearest plane of a face of a hull, if it is inside.

    Outside it is less than the distance, but above 0.
    """
    most, best = -np.inf, (0.0, 0.0, 1.0)
    for f in range(m.geom_faceadr[g], m.geom_faceadr[g] + m.geom_facenum[g]):
        corner = m.geom_vertadr[g] + m.face_vert[m.face_vertadr[f]]
        normal = load3(m.face_normal, f)
        dist = dot3(normal, sub3(x, load3(m.vert_pos, corner)))
        if dist > most:
            most, best = dist, normal
    return (np.inf, best) if most == -np.inf else (most, best)


@kernel
def _peak(m, d, g, o, grid, R, t, r, c, p, reach):
    """Add the contact of a corner of the field."""
    dist, away = _solid(m, g, R, t, p)
    normal = scaled3(away, -1.0)
    if not dist < reach or normal[2] < LEAST_UP:
        return
    _adr, rows, columns, _wide, _long = grid
    for n in range(6):  # its neighbours: east, north, north-east, and opposite
        sign = 1 if n < 3 else -1
        rr, cc = r + sign * (n % 3 != 0), c + sign * (n % 3 != 1)
        if rr >= 0 and rr < rows and cc >= 0 and cc < columns:
            way = sub3(_point(m, o, grid, rr, cc), p)
            if dot3(normal, way) > CONE * np.sqrt(dot3(way, way)):
                return
    _touch(m, d, g, o, add_scaled3(p, normal, dist), normal, dist, PEAKS + r * columns + c)


@kernel
def _edge(m, d, g, o, grid, R, t, r, c, k, p, line, reach):
    """Add the contacts of an edge of the field: where it is deepest in the geometry.

    An edge along a face of the geometry touches at both ends of its part below the face.
    """
    long = np.sqrt(dot3(line, line))
    turn = transposed(R)
    a, b = mat_vec(turn, sub3(p, t)), mat_vec(turn, sub3(add3(p, line), t))
    for n in range(3):  # beside the bounding box of the geometry
        most = m.geom_half[g, n] + reach
        if min(a[n], b[n]) > most or max(a[n], b[n]) < -most:
            return
    low = high = place = _deepest(m, g, R, t, p, line, 0.0, reach)
    if place < 0.0:
        return
    there, _away = _solid(m, g, R, t, add_scaled3(p, line, place))
    before, _away = _solid(m, g, R, t, add_scaled3(p, line, place - SHORT))
    after, _away = _solid(m, g, R, t, add_scaled3(p, line, place + SHORT))
    tilt = LEVEL * long
    if min(before, after) - there < SHORT * tilt:  # it lies along a face
        low = _deepest(m, g, R, t, p, line, tilt, np.inf)
        high = _deepest(m, g, R, t, p, line, -tilt, np.inf)
        inside = INSIDE * (high - low)  # at its ends another face is as near
        low, high = low + inside, high - inside
    first = EDGES + 6 * (r * grid[2] + c) + 2 * k
    if low > NO_END and low < 1.0 - NO_END:
        _edge_point(m, d, g, o, grid, R, t, r, c, k, p, line, low, reach, first)
    if high > max(low, NO_END) and high < 1.0 - NO_END:
        _edge_point(m, d, g, o, grid, R, t, r, c, k, p, line, high, reach, first + 1)


@kernel
def _deepest(m, g, R, t, p, line, tilt, reach):
    """Return the place (0 to 1) on a line nearest to a geometry, with its far end `tilt` higher.

    It is -1 if the line is farther away than `reach`. The distance to a convex body is convex
    along a line: it is above its tangents, and its least is between two of opposite slopes.

    Source: Kelley, The cutting-plane method for solving convex programs, 1960.
    """
    low, high, place = 0.0, 1.0, 0.5
    at_low, down = _along(m, g, R, t, p, line, tilt, low)
    at_high, up = _along(m, g, R, t, p, line, tilt, high)
    if down >= 0.0:
        return 0.0 if at_low < reach else -1.0
    if up <= 0.0:
        return 1.0 if at_high < reach else -1.0
    for n in range(SEARCHES):
        place = (at_high - up * high - at_low + down * low) / (down - up)
        least = at_low + down * (place - low)
        if least >= reach:
            return -1.0
        if n % HALVING == HALVING - 1 or not (place > low and place < high):
            place = 0.5 * (low + high)
        here, slope = _along(m, g, R, t, p, line, tilt, place)
        if here - least <= EXACT or slope == 0.0:
            break
        if slope < 0.0:
            low, at_low, down = place, here, slope
        else:
            high, at_high, up = place, here, slope
    return place


@inline
def _along(m, g, R, t, p, line, tilt, place):
    """Return the distance at a place on a line, and its slope."""
    dist, away = _solid(m, g, R, t, add_scaled3(p, line, place))
    return dist + tilt * place, dot3(away, line) + tilt


@kernel
def _edge_point(m, d, g, o, grid, R, t, r, c, k, p, line, place, reach, feature):
    """Add the contact of a point of an edge, unless another part of the field is nearer there.

    Where an edge of the geometry crosses, the normal is the mixture of those on both sides that is
    perpendicular to the field's edge: with w1 n1 + w2 n2 = w n, the distance along n is 1 / w of
    that along n1 and n2.
    """
    x = add_scaled3(p, line, place)
    dist, away = _solid(m, g, R, t, x)
    _b, before = _solid(m, g, R, t, add_scaled3(p, line, place - BESIDE))
    _a, after = _solid(m, g, R, t, add_scaled3(p, line, place + BESIDE))
    slope1, slope2 = dot3(before, line), dot3(after, line)
    if slope1 < 0.0 and slope2 > 0.0:
        share = slope2 / (slope2 - slope1)
        away = add3(scaled3(before, share), scaled3(after, 1.0 - share))
    size = np.sqrt(dot3(away, away))
    normal, dist = scaled3(away, -1.0 / size), dist / size
    if not dist < reach or normal[2] < LEAST_UP:
        return
    _adr, rows, columns, _wide, _long = grid
    for side in range(2):  # the third corners of its triangles
        rr = r + (k != 2) if side == 0 else r + (k == 2) - (k == 0)
        cc = c + 1 if side == 0 else c - (k == 1)
        if rr >= 0 and rr < rows and cc >= 0 and cc < columns:
            way = sub3(_point(m, o, grid, rr, cc), p)
            way = add_scaled3(way, line, -dot3(way, line) / dot3(line, line))
            if dot3(normal, way) > CONE * np.sqrt(dot3(way, way)):
                return
    _touch(m, d, g, o, add_scaled3(x, normal, dist), normal, dist, feature)
