"""Contacts of geometries with the convex edges and corners of a height field.

An edge or a corner touches at its point that is deepest in the geometry. An edge between triangles
of one plane is not convex, and an edge counts only for normals between those of its triangles.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.collision.distances import distance
from rbdyn_ros.engine.collision.kinds import MESH
from rbdyn_ros.engine.contact.height_grid import (
    FIRST_EDGE,
    FIRST_PEAK,
    corner_of,
    first_last,
    grid_of,
    list_field_contact,
)
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import (
    add3,
    add_scaled3,
    dot3,
    load3,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.model.height_fields import PEAK

MAX_TANGENTS, HALVE_EVERY = 60, 4  # steps of a search; one of so many halves
BESIDE_POINT = 1e-6  # part of an edge: the two sides of its nearest point
NO_END = 1e-3  # part of an edge near an end, which is a corner
END_MARGIN = 1e-3  # part of a common line by which its ends are taken further inside
POINT_LENGTH = 0.02  # part of an edge that counts as one point
LEVEL_SLOPE = 2e-3  # slope [rad] below which an edge lies along a face
CONE_SLACK = 1e-6  # angle [rad] by which a normal may be outside those of an edge
LEAST_UP = 0.05  # height of a normal: the field pushes upwards
OPPOSITE = 0.1  # length of a mixture of two normals below which they are opposite
DISTANCE_TOLERANCE = 1e-17  # distance [m] by which a search may miss the least


@kernel
def ridges(m, d, g, o, R, t, half, reach):
    """Add the contacts of the convex edges and corners of the field below a geometry."""
    grid, size = grid_of(m, o), load3(m.geom_size, o)
    adr, rows, columns, cell_x, cell_y = grid
    low = t[2] - half[2]
    r0, r1 = first_last(t[1], half[1], size[1], cell_y, rows)
    c0, c1 = first_last(t[0], half[0], size[0], cell_x, columns)
    for r in range(r0, r1 + 1):
        for c in range(c0, c1 + 1):
            flags = m.field_ridge[adr + r * columns + c]
            if flags == 0:
                continue
            p = corner_of(m, o, grid, r, c)
            if flags & PEAK and p[2] >= low:
                _peak(m, d, g, o, grid, R, t, r, c, p, reach)
            for k in range(3):
                if flags & (1 << k):
                    q = corner_of(m, o, grid, r + (k != 0), c + (k != 1))
                    if max(p[2], q[2]) >= low:
                        _edge(m, d, g, o, grid, R, t, r, c, k, p, sub3(q, p), reach)


@kernel
def _peak(m, d, g, o, grid, R, t, r, c, p, reach):
    """Add the contact of a corner of the field."""
    dist, away = _solid(m, g, R, t, p)
    normal = scaled3(away, -1.0)
    if not dist < reach or normal[2] < LEAST_UP:
        return
    _adr, rows, columns, _cell_x, _cell_y = grid
    for n in range(6):  # its neighbours: east, north, north-east, and opposite
        sign = 1 if n < 3 else -1
        rr, cc = r + sign * (n % 3 != 0), c + sign * (n % 3 != 1)
        if rr >= 0 and rr < rows and cc >= 0 and cc < columns:
            way = sub3(corner_of(m, o, grid, rr, cc), p)
            if dot3(normal, way) > CONE_SLACK * np.sqrt(dot3(way, way)):
                return
    x = add_scaled3(p, normal, dist)
    list_field_contact(m, d, g, o, x, normal, dist, FIRST_PEAK + r * columns + c)


@kernel
def _edge(m, d, g, o, grid, R, t, r, c, k, p, line, reach):
    """Add the contacts of an edge of the field: where it is deepest in the geometry.

    An edge along a face of the geometry touches at both ends of its part below the face.
    """
    length = np.sqrt(dot3(line, line))
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
    before, _away = _solid(m, g, R, t, add_scaled3(p, line, place - POINT_LENGTH))
    after, _away = _solid(m, g, R, t, add_scaled3(p, line, place + POINT_LENGTH))
    tilt = LEVEL_SLOPE * length
    if min(before, after) - there < POINT_LENGTH * tilt:  # it lies along a face
        low = _deepest(m, g, R, t, p, line, tilt, np.inf)
        high = _deepest(m, g, R, t, p, line, -tilt, np.inf)
        inside = END_MARGIN * (high - low)  # at its ends another face is as near
        low, high = low + inside, high - inside
    first = FIRST_EDGE + 6 * (r * grid[2] + c) + 2 * k
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
    for n in range(MAX_TANGENTS):
        place = (at_high - up * high - at_low + down * low) / (down - up)
        least = at_low + down * (place - low)
        if least >= reach:
            return -1.0
        if n % HALVE_EVERY == HALVE_EVERY - 1 or not (place > low and place < high):
            place = 0.5 * (low + high)
        here, slope = _along(m, g, R, t, p, line, tilt, place)
        if here - least <= DISTANCE_TOLERANCE or slope == 0.0:
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
    that along n1 and n2. In the middle of a thin geometry both sides are opposite: the one that
    leads down counts, so the field pushes upwards.
    """
    x = add_scaled3(p, line, place)
    dist, away = _solid(m, g, R, t, x)
    _b, before = _solid(m, g, R, t, add_scaled3(p, line, place - BESIDE_POINT))
    _a, after = _solid(m, g, R, t, add_scaled3(p, line, place + BESIDE_POINT))
    slope1, slope2 = dot3(before, line), dot3(after, line)
    if slope1 < 0.0 and slope2 > 0.0:
        share = slope2 / (slope2 - slope1)
        away = add3(scaled3(before, share), scaled3(after, 1.0 - share))
        if dot3(away, away) < OPPOSITE * OPPOSITE:
            away = before if before[2] < after[2] else after
    size = np.sqrt(dot3(away, away))
    normal, dist = scaled3(away, -1.0 / size), dist / size
    if not dist < reach or normal[2] < LEAST_UP:
        return
    _adr, rows, columns, _cell_x, _cell_y = grid
    for side in range(2):  # the third corners of its triangles
        rr = r + (k != 2) if side == 0 else r + (k == 2) - (k == 0)
        cc = c + 1 if side == 0 else c - (k == 1)
        if rr >= 0 and rr < rows and cc >= 0 and cc < columns:
            way = sub3(corner_of(m, o, grid, rr, cc), p)
            way = add_scaled3(way, line, -dot3(way, line) / dot3(line, line))
            if dot3(normal, way) > CONE_SLACK * np.sqrt(dot3(way, way)):
                return
    list_field_contact(m, d, g, o, add_scaled3(x, normal, dist), normal, dist, feature)


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
    """Return the largest signed distance of a point to the planes of a hull's faces, its normal.

    Inside it is the signed distance, outside a positive lower bound of it; without faces it is
    infinity.
    """
    most, best = -np.inf, (0.0, 0.0, 1.0)
    for f in range(m.geom_faceadr[g], m.geom_faceadr[g] + m.geom_facenum[g]):
        corner = m.geom_vertadr[g] + m.face_vert[m.face_vertadr[f]]
        normal = load3(m.face_normal, f)
        dist = dot3(normal, sub3(x, load3(m.vert_pos, corner)))
        if dist > most:
            most, best = dist, normal
    return (np.inf, best) if most == -np.inf else (most, best)
