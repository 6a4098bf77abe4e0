# SPDX-License-Identifier: Apache-2.0
"""Contacts of geometries with the convex edges and corners of terrain.

The contact of an edge or corner is at its point that is deepest in the geometry. An edge between
triangles of one plane is not convex. The normal of a contact at an edge must lie between the
normals of its triangles. An edge or corner is tested at the time at which the geometry touches it
on its path in the step (approach.py).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    add_scaled3,
    cross3,
    dot3,
    load3,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.distances import distance
from rbdyn_ros.engine.collision.kinds import MESH, TRIMESH
from rbdyn_ros.engine.collision.triangle_tree import (
    WALK,
    begin_triangles,
    corners_of,
    mesh_of,
    next_triangle,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_ints
from rbdyn_ros.engine.contact.points.approach import (
    NEAR,
    NEVER,
    begin_search,
    carried_back,
    gap_before,
    goes_on,
    look,
    moved_by,
    time_of_look,
    time_of_points,
)
from rbdyn_ros.engine.contact.points.contact_list import LEVEL_SLOPE, flush_depth, paths, still_way
from rbdyn_ros.engine.contact.points.ground import (
    FIRST_EDGE,
    FIRST_PEAK,
    list_ground_contact,
    turn_rate_in_ground,
    velocity_in_ground,
)
from rbdyn_ros.engine.contact.points.height_grid import corner_of, first_last, grid_of
from rbdyn_ros.model.geometry import triangle_meshes
from rbdyn_ros.model.geometry.height_fields import PEAK

# largest number of steps of a search; every fourth step is a bisection
MAX_TANGENTS, HALVE_EVERY = 60, 4
BESIDE_POINT = 1e-6  # step to both sides of an edge's nearest point, as a part of the edge length
# an edge point nearer to a corner than this part of the edge's length belongs to the corner
NO_END = 1e-3
# the ends of the line along which edge and face touch are moved inwards by this part of its length
END_MARGIN = 1e-3
POINT_LENGTH = 0.02  # if this line is shorter than this part of the edge, it counts as one point
CONE_SLACK = 1e-6  # a normal may be outside an edge's normal cone by this angle [rad]
# least component of a normal along `up`, because terrain pushes towards its front side
LEAST_UP = 0.05
OPPOSITE = 0.1  # two normals are opposite if their weighted mean is shorter than this
DISTANCE_TOLERANCE = 1e-17  # allowed error [m] of a search for the least distance
UP = (0.0, 0.0, 1.0)  # the upward direction in the frame of a height field
_EDGE, _PEAK, _BORDER = triangle_meshes.EDGE, triangle_meshes.PEAK, triangle_meshes.BORDER


@kernel
def ridges(m, d, g, o, R, t, half, reach):
    """Add the contacts of a geometry with convex edges and corners of the terrain below it."""
    if m.geom_type[o] == TRIMESH:
        _of_mesh(m, d, g, o, R, t, half, reach)
    else:
        _of_field(m, d, g, o, R, t, half, reach)


@kernel
def _of_field(m, d, g, o, R, t, half, reach):
    grid, size = grid_of(m, o), load3(m.geom_size, o)
    adr, rows, columns, cell_x, cell_y = grid
    low = t[2] - half[2]
    r0, r1 = first_last(t[1], half[1], size[1], cell_y, rows)
    c0, c1 = first_last(t[0], half[0], size[0], cell_x, columns)
    for r in range(r0, r1 + 1):
        for c in range(c0, c1 + 1):
            corner = r * columns + c
            flags = m.field_ridge[adr + corner]
            if flags == 0:
                continue
            p = corner_of(m, o, grid, r, c)
            if flags & PEAK and p[2] >= low:
                _peak(m, d, g, o, R, t, p, corner, UP, reach)
            for k in range(3):
                if flags & (1 << k):
                    q = corner_of(m, o, grid, r + (k != 0), c + (k != 1))
                    if max(p[2], q[2]) >= low:
                        wing, other = _wings(m, o, grid, r, c, k, p)
                        edge = p, sub3(q, p), wing, other, UP
                        _edge(m, d, g, o, R, t, edge, q, FIRST_EDGE + 6 * corner + 2 * k, reach)


@inline
def _wings(m, o, grid, r, c, k, p):
    """Return the third corners of the two triangles at edge k of a field; p if one is missing."""
    _adr, rows, columns, _cell_x, _cell_y = grid
    wing = other = p
    rr, cc = r + (k != 2), c + 1
    if rr >= 0 and rr < rows and cc >= 0 and cc < columns:
        wing = corner_of(m, o, grid, rr, cc)
    rr, cc = r + (k == 2) - (k == 0), c - (k == 1)
    if rr >= 0 and rr < rows and cc >= 0 and cc < columns:
        other = corner_of(m, o, grid, rr, cc)
    return wing, other


@kernel
def _of_mesh(m, d, g, o, R, t, half, reach):
    walk = stack_ints(WALK, 1)
    vert, face, _number, _node = mesh_of(m, o)
    begin_triangles(m, o, walk)
    while True:
        n = next_triangle(m, o, t, half, walk)
        if n < 0:
            return
        flags = m.trimesh_flag[face + n]
        corners, up = corners_of(m, o, n), load3(m.trimesh_normal, face + n)
        for k in range(3):
            p = corners[0] if k == 0 else (corners[1] if k == 1 else corners[2])
            q = corners[1] if k == 0 else (corners[2] if k == 1 else corners[0])
            wing = corners[2] if k == 0 else (corners[0] if k == 1 else corners[1])
            if flags & (_PEAK << k):
                at_border = flags & (_BORDER << k) != 0
                corner = m.trimesh_face[face + n, k]
                _peak(m, d, g, o, R, t, p, corner, up if at_border else ZERO3, reach)
            if flags & (_EDGE << k):
                edge = _edge_of_mesh(m, vert, face + n, k, p, q, wing, up)
                _edge(m, d, g, o, R, t, edge, q, FIRST_EDGE + 6 * n + 2 * k, reach)


@inline
def _edge_of_mesh(m, vert, n, k, p, q, wing, up):
    """Return the edge p, q of a mesh triangle as the argument `edge` of _edge."""
    other = p
    if m.trimesh_wing[n, k] >= 0:
        other = load3(m.trimesh_vert, vert + m.trimesh_wing[n, k])
        beside = cross3(sub3(p, q), sub3(other, q))
        up = add_scaled3(up, beside, 1.0 / np.sqrt(dot3(beside, beside)))
        up = scaled3(up, 1.0 / np.sqrt(dot3(up, up)))
    return p, sub3(q, p), wing, other, up


@inline
def _is_beside(m, g, R, t, p, q, reach):
    """Return whether no face of a geometry's bounding box separates it from an edge p to q."""
    turn = transposed(R)
    a, b = mat_vec(turn, sub3(p, t)), mat_vec(turn, sub3(q, t))
    for n in range(3):
        most = m.geom_half[g, n] + reach
        if min(a[n], b[n]) > most or max(a[n], b[n]) < -most:
            return False
    return True


@kernel
def _peak(m, d, g, o, R, t, p, corner, up, reach):
    """Add the contact of a corner of the terrain, where it touches on a path of the step.

    The normal of the contact must be on the side of `up`, unless `up` is zero.
    """
    dist, _away = _solid(m, g, R, t, p)
    if not dist < reach:
        return
    first = d.ncon
    for late in range(paths(d)):
        path = _path(m, d, g, o, t, late)
        time = 0.0 if dist < 0.0 else _time_of_touch(m, g, R, t, p, ZERO3, path)
        if time != NEVER:
            _peak_at(m, d, g, o, R, t, p, corner, up, path, time)
        if d.ncon > first or dist < 0.0:
            return


@inline
def _path(m, d, g, o, t, late):
    """Return a geometry's linear and angular velocity at t, at the step's end if `late`.

    The point and the velocities are in the frame of the field.
    """
    return velocity_in_ground(m, d, g, o, t, late), turn_rate_in_ground(m, d, g, o, late)


@kernel
def _peak_at(m, d, g, o, R, t, p, corner, up, path, time):
    """Add the contact at a corner of the terrain, at a time of a path."""
    q, T = moved_by(t, R, path[0], path[1], max(time, 0.0))
    dist, away = _solid(m, g, T, q, p)
    normal = scaled3(away, -1.0)
    if dot3(up, up) > 0.0 and dot3(normal, up) < LEAST_UP:
        return
    if not _is_above_all(m, o, corner, p, normal):
        return
    x, feature = add_scaled3(p, normal, dist), FIRST_PEAK + corner
    _list_carried(m, d, g, o, R, t, q, T, path, time, x, normal, dist, feature)


@inline
def _is_above_all(m, o, corner, p, normal):
    """Return whether no neighbour of a corner of the terrain is above it along a normal."""
    if m.geom_type[o] == TRIMESH:
        vert, _face, _number, _node = mesh_of(m, o)
        first = m.trimesh_staradr[vert + corner]
        for n in range(first, first + m.trimesh_starnum[vert + corner]):
            if _is_above(normal, sub3(load3(m.trimesh_vert, vert + m.trimesh_star[n]), p)):
                return False
        return True
    grid = grid_of(m, o)
    _adr, rows, columns, _cell_x, _cell_y = grid
    r, c = corner // columns, corner % columns
    # the neighbours to the east, north and north-east, then the opposite neighbours
    for n in range(6):
        sign = 1 if n < 3 else -1
        rr, cc = r + sign * (n % 3 != 0), c + sign * (n % 3 != 1)
        if rr < 0 or rr >= rows or cc < 0 or cc >= columns:
            continue
        if _is_above(normal, sub3(corner_of(m, o, grid, rr, cc), p)):
            return False
    return True


@inline
def _is_above(normal, way):
    return dot3(normal, way) > CONE_SLACK * np.sqrt(dot3(way, way))


@inline
def _list_carried(m, d, g, o, R, t, q, T, path, time, x, normal, dist, feature):
    """List a contact that a geometry has at the pose q, T at a time of a path from t, R."""
    if time > 0.0:
        x = carried_back(x, t, R, q, T)
        v = add3(path[0], cross3(path[1], sub3(x, t)))
        dist = gap_before(m, normal, dist, v, time)
    list_ground_contact(m, d, g, o, x, normal, dist, feature, time != NEAR)


@kernel
def _edge(m, d, g, o, R, t, edge, q, feature, reach):
    """Add the contacts of an edge of the terrain, at its deepest point in the geometry.

    The geometry moves on its path. An edge along a face of the geometry touches at both ends of
    its part below the face. `edge` holds the start, the vector to the end q, the third corners of
    the edge's two triangles (the start in place of a missing corner), and the upward direction
    between the triangles.
    """
    p, line = edge[0], edge[1]
    if not _is_beside(m, g, R, t, p, q, reach):
        return
    place = _deepest(m, g, R, t, p, line, 0.0, reach)
    if place < 0.0:
        return
    dist, _away = _solid(m, g, R, t, add_scaled3(p, line, place))
    first = d.ncon
    for late in range(paths(d)):
        path = _path(m, d, g, o, t, late)
        time = 0.0 if dist < 0.0 else _time_of_touch(m, g, R, t, p, line, path)
        if time != NEVER:
            _edge_at(m, d, g, o, R, t, edge, path, time, place, feature)
        if d.ncon > first or dist < 0.0:
            return


@kernel
def _time_of_touch(m, g, R, t, p, line, path):
    """Return the time at which a geometry touches an edge or a corner of the field, or NEVER.

    The time is 0 if the geometry hardly moves in the step.
    """
    (v, w), radius, flush = path, m.geom_rbound[g], flush_depth(m)
    way = m.opt.timestep * (np.sqrt(dot3(v, v)) + np.sqrt(dot3(w, w)) * radius)
    if way < still_way(m):
        return 0.0
    search = begin_search(way, flush, v)
    while goes_on(search):
        q, T = moved_by(t, R, v, w, time_of_look(search))
        place = _deepest(m, g, T, q, p, line, 0.0, np.inf)
        x = add_scaled3(p, line, place)
        dist, away = _solid(m, g, T, q, x)
        rate = dot3(away, add3(v, cross3(w, sub3(x, q))))
        search = look(m, search, dist, rate, away)
    return time_of_points(m, search)


@kernel
def _edge_at(m, d, g, o, R_0, t_0, edge, path, time, place, feature):
    """Add the contacts at an edge of the terrain, at a time of a path from t_0, R_0.

    `place` (0 to 1) is the deepest point of the edge at the start of the step.
    """
    p, line = edge[0], edge[1]
    length = np.sqrt(dot3(line, line))
    t, R = moved_by(t_0, R_0, path[0], path[1], max(time, 0.0))
    if time > 0.0:
        place = _deepest(m, g, R, t, p, line, 0.0, np.inf)
    low = high = place
    there, _away = _solid(m, g, R, t, add_scaled3(p, line, place))
    before, _away = _solid(m, g, R, t, add_scaled3(p, line, place - POINT_LENGTH))
    after, _away = _solid(m, g, R, t, add_scaled3(p, line, place + POINT_LENGTH))
    tilt = LEVEL_SLOPE * length
    if min(before, after) - there < POINT_LENGTH * tilt:  # the edge lies along a face
        low = _deepest(m, g, R, t, p, line, tilt, np.inf)
        high = _deepest(m, g, R, t, p, line, -tilt, np.inf)
        # exactly at the ends of the line another face is equally near
        inside = END_MARGIN * (high - low)
        low, high = low + inside, high - inside
    if low > NO_END and low < 1.0 - NO_END:
        _edge_point(m, d, g, o, R_0, t_0, R, t, edge, low, path, time, feature)
    if high > max(low, NO_END) and high < 1.0 - NO_END:
        _edge_point(m, d, g, o, R_0, t_0, R, t, edge, high, path, time, feature + 1)


@kernel
def _deepest(m, g, R, t, p, line, tilt, reach):
    """Return the point (0 to 1) of a line nearest to a geometry; the far end is raised by `tilt`.

    If the line is farther away than `reach`, return -1. The distance to a convex body is convex
    along a line: it is above its tangents, and its minimum is between two tangents of opposite
    slope.

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
    """Return the distance at a point (0 to 1) of a line, and its slope there."""
    dist, away = _solid(m, g, R, t, add_scaled3(p, line, place))
    return dist + tilt * place, dot3(away, line) + tilt


@kernel
def _edge_point(m, d, g, o, R_0, t_0, R, t, edge, place, path, time, feature):
    """Add the contact of a point of an edge, unless other terrain is nearer there.

    If an edge of the geometry crosses the terrain's edge, the normal n is the weighted mean of the
    normals on both sides that is perpendicular to the terrain's edge, w n = w1 n1 + w2 n2. The
    distance along n is 1 / w times the distance along n1 and n2. In the middle of a thin geometry
    the two normals are opposite; the normal that leads down is used, so that the terrain pushes
    upwards.
    """
    p, line, wing, other, up = edge
    x = add_scaled3(p, line, place)
    dist, away = _solid(m, g, R, t, x)
    _b, before = _solid(m, g, R, t, add_scaled3(p, line, place - BESIDE_POINT))
    _a, after = _solid(m, g, R, t, add_scaled3(p, line, place + BESIDE_POINT))
    slope1, slope2 = dot3(before, line), dot3(after, line)
    if slope1 < 0.0 and slope2 > 0.0:
        share = slope2 / (slope2 - slope1)
        away = add3(scaled3(before, share), scaled3(after, 1.0 - share))
        if dot3(away, away) < OPPOSITE * OPPOSITE:
            away = before if dot3(before, up) < dot3(after, up) else after
    size = np.sqrt(dot3(away, away))
    normal, dist = scaled3(away, -1.0 / size), dist / size
    if dot3(normal, up) < LEAST_UP:
        return
    for side in range(2):
        way = sub3(wing if side == 0 else other, p)
        way = add_scaled3(way, line, -dot3(way, line) / dot3(line, line))
        if _is_above(normal, way):
            return
    x = add_scaled3(x, normal, dist)
    _list_carried(m, d, g, o, R_0, t_0, t, R, path, time, x, normal, dist, feature)


@inline
def _solid(m, g, R, t, x):
    """Return the distance from a field point to a geometry at R, t, and the direction outwards."""
    local = mat_vec(transposed(R), sub3(x, t))
    if m.geom_type[g] == MESH:
        dist, away = _from_hull(m, g, local)
    else:
        dist, away = distance(m.geom_type[g], load3(m.geom_size, g), local)
    return dist, mat_vec(R, away)


@kernel
def _from_hull(m, g, x):
    """Return the largest signed distance of a point to the planes of a hull, and the normal.

    Inside the hull this is the signed distance; outside it is a positive lower bound of the
    distance. Without faces it is infinity.
    """
    most, best = -np.inf, (0.0, 0.0, 1.0)
    for f in range(m.geom_faceadr[g], m.geom_faceadr[g] + m.geom_facenum[g]):
        corner = m.geom_vertadr[g] + m.face_vert[m.face_vertadr[f]]
        normal = load3(m.face_normal, f)
        dist = dot3(normal, sub3(x, load3(m.vert_pos, corner)))
        if dist > most:
            most, best = dist, normal
    return (np.inf, best) if most == -np.inf else (most, best)
