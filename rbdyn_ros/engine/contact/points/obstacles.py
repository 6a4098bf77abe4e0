# SPDX-License-Identifier: Apache-2.0
"""Contact points between geometries of bodies and obstacles in the world.

A geometry makes contact at its corners: the corners of a mesh's convex hull, the centre of a
sphere with its radius, both ends of a capsule. A cylinder touches a plane at the lowest points of
its rims. If the obstacle is a sphere, its centre makes contact with all geometries except meshes.
Two boxes touch at faces and edges (boxes.py). A capsule also touches a box at the point of its
axis nearest to the box. If edges of cylinders or meshes can touch an obstacle, pairs.py finds the
contacts.

Except for planes, the points are computed for the time in the step at which the two touch
(approach.py).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    add_scaled3,
    dot3,
    load3,
    load6,
    load9,
    mat_mul,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.distances import distance
from rbdyn_ros.engine.collision.kinds import BOX, CAPSULE, CYLINDER, MESH, PLANE, SPHERE
from rbdyn_ros.engine.collision.sweep import BOUND_MARGIN, WAY, place_geom
from rbdyn_ros.engine.compiler.jit import apart, inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage, data_at, model_at, optional_stage
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints
from rbdyn_ros.engine.contact.points.approach import (
    NEAR,
    NEVER,
    begin_search,
    carried_back,
    closing_rate,
    gap_before,
    goes_on,
    is_sliver,
    look,
    moved_by,
    time_of_look,
    time_of_points,
    touch_depth,
    touch_time,
)
from rbdyn_ros.engine.contact.points.boxes import BOX_POINTS, box_gap, box_points
from rbdyn_ros.engine.contact.points.contact_list import (
    LEVEL_SLOPE,
    list_obstacle_contact,
    order,
    paths,
    reach_of,
    still_way,
    turn_rate_in_step,
    velocity_in_step,
)
from rbdyn_ros.engine.contact.points.hits import clear_hits, find_hits, keep_first_hits
from rbdyn_ros.engine.contact.points.memory import recall
from rbdyn_ros.engine.contact.points.obstacle_distance import (
    distance_to_obstacle,
    from_obstacle,
    nearest_on_line,
)
from rbdyn_ros.engine.contact.points.rims import lowest_angle, on_rim
from rbdyn_ros.engine.contact.points.start import start_contacts
from rbdyn_ros.model.declared.contact_arrays import AT_END, PREPARE

#: Part of geom_room that a geometry certainly has in spite of rounding errors.
SURE = 0.99

# points within this part of the length count as ends, which have separate contacts
NO_END = 0.01


@optional_stage("contact_stage")
def _by_address(table, row):
    contact(model_at(table), data_at(table, row))


@kernel
def contact(m, d):
    """List the contacts and write the constants of their law. Call `com_vel` first.

    solve_step.py solves for the forces in a separate stage. For contacts that begin within a step
    (late_contacts.py), two calls write the list and the rest, see contact_phase.
    """
    phase = d.contact_phase[0]
    if phase != PREPARE:
        clear_hits(m, d)
        if phase == AT_END:
            find_hits(d)
        list_points(m, d)
        if phase != AT_END and d.hits[0] != 0:
            keep_first_hits(m, d)
    if phase != AT_END:
        recall(d)
        start_contacts(m, d)


@inline
def list_points(m, d):
    """List the contacts, in the order of contact_key: obstacles, moving bodies, height fields."""
    d.ncon = d.ndropped = 0
    for g in range(m.ngeommoving):
        if _stays_away(m, d, g):
            continue
        centre, room = _in_world(d, m.geom_bodyid[g], load3(m.geom_pos, g)), np.inf
        reach = reach_of(m, d, m.geom_bodyid[g], centre, m.geom_rbound[g])
        if m.npush > 0:  # these two are needed for list_pairs too
            place_geom(m, d, g, d.geom_place)
            d.geom_place[g, WAY] = reach
        for o in range(m.ngeomlink, m.ngeom):
            if m.geom_touches[g, o - m.ngeomlink] != 1:
                continue
            gap = distance_to_obstacle(m, o, centre)
            room = min(room, gap - m.geom_rbound[g] - reach)
            if gap < m.geom_rbound[g] + reach:
                _list_obstacle(m, d, g, o, reach)
        arm = sub3(centre, load3(d.subtree_com, m.body_rootid[m.geom_bodyid[g]]))
        d.geom_room[g, 0], d.geom_room[g, 1] = room, dot3(arm, arm)
    if m.npush > 0:
        call_stage(m.pair_stage, m, d)
    if m.nfield + m.ntrimesh > 0:
        call_stage(m.terrain_stage, m, d)


@inline
def _stays_away(m, d, g):
    """Return whether a geometry stays away from all obstacles whatever the forces of the step do.

    At the start of the step the gap between its bounding sphere and the nearest obstacle was
    larger than its reach, by geom_room. The forces change the reach by less than that.
    """
    if d.contact_phase[0] != AT_END or m.npush > 0:
        return False
    a, h = load6(d.iterate_a, m.geom_bodyid[g]), m.opt.timestep
    turn = np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    shift = np.sqrt(a[3] * a[3] + a[4] * a[4] + a[5] * a[5])
    lever = np.sqrt(d.geom_room[g, 1]) + m.geom_rbound[g]
    return h * h * (shift + turn * lever) < SURE * d.geom_room[g, 0]


@inline
def _list_obstacle(m, d, g, o, reach):
    """Find the contacts of a geometry and an obstacle, up to the distance `reach`."""
    kind, other = m.geom_type[g], m.geom_type[o]
    if kind == CYLINDER and other == PLANE:
        _rims(m, d, g, o, reach)
    elif other == PLANE:
        _lowest_corners(m, d, g, o, reach)
    elif other == SPHERE and kind != SPHERE and kind != MESH:
        _solids(m, d, g, o, reach)
    elif other == BOX and kind == BOX:
        first = d.ncon
        _solids(m, d, g, o, reach)
        order(d, first)
    else:
        first, (p, R) = m.geom_vertadr[g], _pose(m, d, g)
        for n in range(m.geom_vertnum[g]):
            _corner(m, d, g, o, add3(p, mat_vec(R, load3(m.vert_pos, first + n))), reach, n)
        if other == BOX and kind == CAPSULE:
            _solids(m, d, g, o, reach)


@apart
def _solids(m, d, g, o, reach):
    """List the points of a geometry and an obstacle where they touch on a path of the step."""
    first, (p, R), body = d.ncon, _pose(m, d, g), m.geom_bodyid[g]
    for late in range(paths(d)):
        v, w = velocity_in_step(m, d, body, p, late), turn_rate_in_step(m, d, body, late)
        t = _time_of_touch(m, g, o, p, R, v, w, reach)
        if t == NEVER or (late > 0 and t == NEAR):
            continue
        q, T = moved_by(p, R, v, w, max(t, 0.0))
        if m.geom_type[g] == CAPSULE and m.geom_type[o] == BOX:
            _middle(m, d, g, o, q, T, t, late, reach)
        elif m.geom_type[o] == BOX:
            _boxes(m, d, g, o, q, T, t, late, reach)
        else:
            _ball(m, d, g, o, q, T, t, late, reach)
        if d.ncon > first:
            return


@kernel
def _time_of_touch(m, g, o, p, R, v, w, reach):
    """Return the time at which a geometry touches an obstacle on its path, or NEVER.

    The time is 0 if the geometry hardly moves in the step.
    """
    radius, flush = m.geom_rbound[g], touch_depth(m, g, o)
    way = m.opt.timestep * (np.sqrt(dot3(v, v)) + np.sqrt(dot3(w, w)) * radius)
    if way < still_way(m):
        return 0.0
    search = begin_search(way, flush, v)
    while goes_on(search):
        q, T = moved_by(p, R, v, w, time_of_look(search))
        dist, normal, x = _gap(m, g, o, q, T, reach)
        rate = closing_rate(dist, normal, v, w, sub3(x, q), radius)
        search = look(m, search, dist, rate, normal)
    return time_of_points(m, search)


@kernel
def _gap(m, g, o, p, R, reach):
    """Return distance, normal and nearest point of a geometry at p, R and an obstacle."""
    q, T, size = load3(m.geom_pos, o), load9(m.geom_mat, o), load3(m.geom_size, o)
    if m.geom_type[o] == SPHERE:
        dist, away = distance(
            m.geom_type[g], load3(m.geom_size, g), mat_vec(transposed(R), sub3(q, p))
        )
        normal = scaled3(mat_vec(R, away), -1.0)
        return dist - size[0], normal, add_scaled3(q, normal, dist)
    if m.geom_type[g] == BOX:
        dist, normal = box_gap(p, R, load3(m.geom_size, g), q, T, size, reach)
        return dist, normal, p
    end, line = _axis(m, g, p, R)
    x = add_scaled3(end, line, nearest_on_line(m, o, end, line, 0.0))
    dist, normal = from_obstacle(m, o, x)
    return dist - m.geom_radius[g], normal, x


@inline
def _axis(m, g, p, R):
    """Return the lower end of the axis of a capsule, and the vector to the other end."""
    half = m.geom_size[g, 1]
    return add3(p, mat_vec(R, (0.0, 0.0, -half))), mat_vec(R, (0.0, 0.0, 2.0 * half))


@inline
def _list_carried(m, d, g, o, q, T, t, late, x, normal, dist, feature):
    """List a contact that a geometry has at the pose q, T at the time t of a path."""
    if t > 0.0:
        body, (p, R) = m.geom_bodyid[g], _pose(m, d, g)
        x = carried_back(x, p, R, q, T)
        dist = gap_before(m, normal, dist, velocity_in_step(m, d, body, x, late), t)
    list_obstacle_contact(m, d, g, o, x, normal, dist, feature, t != NEAR)


@kernel
def _boxes(m, d, g, o, q, T, t, late, reach):
    points, names = stack_floats(BOX_POINTS, 4), stack_ints(BOX_POINTS, 1)
    half, block = load3(m.geom_size, g), load3(m.geom_size, o)
    p, R = load3(m.geom_pos, o), load9(m.geom_mat, o)
    number, normal = box_points(q, T, half, p, R, block, reach, points, names)
    if t == 0.0 and _beside(m, g, o, q, T, normal, reach, points, number):
        return
    for n in range(number):
        x = load3(points, n)
        _list_carried(m, d, g, o, q, T, t, late, x, normal, points[n, 3], names[n, 0])


@kernel
def _beside(m, g, o, p, R, normal, reach, points, number):
    """Return whether two edges overlap side by side by only FLUSH and slide past each other.

    The faces of both sides are then equally near and the normal is arbitrary, so the contact is
    dropped.
    """
    deepest, flush = np.inf, touch_depth(m, g, o)
    for n in range(number):
        deepest = min(deepest, points[n, 3])
    if not abs(deepest) < flush or not is_sliver(points, number, flush):
        return False
    pushed, _normal, _x = _gap(m, g, o, add_scaled3(p, normal, -2.0 * flush), R, reach)
    return pushed > deepest - flush and pushed > -flush


@inline
def _in_world(d, i, x):
    return add3(load3(d.xpos, i), mat_vec(load9(d.xmat, i), x))


@inline
def _pose(m, d, g):
    """Return the position and rotation of a geometry in the world."""
    i = m.geom_bodyid[g]
    return _in_world(d, i, load3(m.geom_pos, g)), mat_mul(load9(d.xmat, i), load9(m.geom_mat, g))


@apart
def _corner(m, d, g, o, x, reach, feature):
    """List the contact of a corner, rounded by its radius, on a path of the step."""
    radius, body, flush, first = m.geom_radius[g], m.geom_bodyid[g], touch_depth(m, g, o), d.ncon
    if not distance_to_obstacle(m, o, x) < radius + reach:
        return
    for late in range(paths(d)):
        v = velocity_in_step(m, d, body, x, late)
        t = _time_of_corner(m, o, x, v, radius, flush)
        if t == NEVER or (late > 0 and t == NEAR):
            continue
        touches, t = t != NEAR, max(t, 0.0)
        dist, normal = from_obstacle(m, o, add_scaled3(x, v, t))
        dist = gap_before(m, normal, dist - radius, v, t)
        at = add_scaled3(x, normal, -radius)
        list_obstacle_contact(m, d, g, o, at, normal, dist, feature, touches)
        if d.ncon > first:
            return


@kernel
def _time_of_corner(m, o, x, v, radius, flush):
    """Return the time at which a sphere at x with velocity v touches an obstacle, or NEVER.

    The time is 0 if the sphere hardly moves in the step.
    """
    way = m.opt.timestep * np.sqrt(dot3(v, v))
    if way < still_way(m):
        return 0.0
    search = begin_search(way, flush, v)
    while goes_on(search):
        dist, normal = from_obstacle(m, o, add_scaled3(x, v, time_of_look(search)))
        search = look(m, search, dist - radius, -dot3(normal, v), normal)
    return touch_time(m, search)


@inline
def _lowest_corners(m, d, g, o, reach):
    """Add the contacts of corners with a plane.

    The test uses the axes of the geometry, because most corners are far away.
    """
    p, R = _pose(m, d, g)
    up = (m.geom_mat[o, 2], m.geom_mat[o, 5], m.geom_mat[o, 8])
    height = dot3(up, sub3(p, load3(m.geom_pos, o)))
    normal = mat_vec(transposed(R), up)
    half, margin = load3(m.geom_half, g), reach + BOUND_MARGIN * m.geom_rbound[g]
    deep = abs(normal[0]) * half[0] + abs(normal[1]) * half[1] + abs(normal[2]) * half[2]
    if height - deep > margin:  # the whole bounding box is above the plane
        return
    first, number = m.geom_vertadr[g], m.geom_vertnum[g]
    corners = m.vert_pos[first : first + number]
    low = m.geom_radius[g] + margin - height
    n = _next_low(corners, 0, normal, low)
    while n < number:
        x = add3(p, mat_vec(R, load3(corners, n)))
        _corner_on_plane(m, d, g, o, x, up, reach, n)
        n = _next_low(corners, n + 1, normal, low)


@kernel
def _next_low(corners, n, normal, low):
    """Return the number of the next corner below a height, from n on, or the number of corners.

    In this separate loop all numbers stay in registers, so a corner takes half the time.
    """
    for k in range(n, len(corners)):
        if dot3(normal, load3(corners, k)) < low:
            return k
    return len(corners)


@inline
def _corner_on_plane(m, d, g, o, x, up, reach, feature):
    """Add the contact of a corner with a plane, like _corner but at less cost."""
    radius = m.geom_radius[g]
    dist = dot3(up, sub3(x, load3(m.geom_pos, o)))
    if dist < radius + reach:
        x = sub3(x, scaled3(up, radius))
        list_obstacle_contact(m, d, g, o, x, up, dist - radius, feature, True)


@kernel
def _ball(m, d, g, o, q, T, t, late, reach):
    """Add the contact of a sphere of the world with a geometry."""
    dist, normal, x = _gap(m, g, o, q, T, reach)
    if dist < reach:
        _list_carried(m, d, g, o, q, T, t, late, x, normal, dist, 0)


@apart
def _rims(m, d, g, o, reach):
    """Add the contacts of a plane with three points of each rim, 120 degrees apart, lowest first.

    Three points resist tilting equally in every direction when an end is on the plane.
    """
    centre, R = _pose(m, d, g)
    up = (m.geom_mat[o, 2], m.geom_mat[o, 5], m.geom_mat[o, 8])
    angle = lowest_angle(R, up)
    for n in range(3):
        a, b = on_rim(m, g, angle, n)
        for end in range(2):
            z = m.geom_size[g, 1] if end == 1 else -m.geom_size[g, 1]
            x = add3(centre, mat_vec(R, (a, b, z)))
            _corner_on_plane(m, d, g, o, x, up, reach, 2 * n + end)


@kernel
def _middle(m, d, g, o, q, T, t, late, reach):
    """Add the contact of a capsule's axis point nearest to a box, unless it is an end point.

    If the axis is parallel to a face, a whole segment is equally near, and both its ends make
    contact. Each end is found as the nearest point of an axis tilted a little to its side.
    """
    p, line = _axis(m, g, q, T)
    tilt = LEVEL_SLOPE * np.sqrt(dot3(line, line))
    low, high = nearest_on_line(m, o, p, line, tilt), nearest_on_line(m, o, p, line, -tilt)
    if high - low < NO_END:
        low = high = nearest_on_line(m, o, p, line, 0.0)
    first = m.geom_vertnum[g]
    if low > NO_END and low < 1.0 - NO_END:
        _on_axis(m, d, g, o, q, T, t, late, add_scaled3(p, line, low), reach, first)
    if high > max(low, NO_END) and high < 1.0 - NO_END:
        _on_axis(m, d, g, o, q, T, t, late, add_scaled3(p, line, high), reach, first + 1)


@inline
def _on_axis(m, d, g, o, q, T, t, late, x, reach, feature):
    """Add the contact of a point on a capsule's axis.

    If the axis extends beyond a face, its point above the edge of the face is used.
    """
    _p, line = _axis(m, g, q, T)
    dist, normal = from_obstacle(m, o, x)
    slope, square = dot3(normal, line), dot3(line, line)
    part = abs(slope) / (LEVEL_SLOPE * np.sqrt(square))
    if dist > 0.0 and part > 0.5 and part < 2.0:  # the foot of the point is on the edge
        # where the distance is largest; its slope changes linearly along the way
        way = -dist * slope / square
        _dist, there = from_obstacle(m, o, add_scaled3(x, line, way))
        x = add_scaled3(x, line, way * slope / (slope - dot3(there, line)))
        dist, normal = from_obstacle(m, o, x)
    dist -= m.geom_radius[g]
    if dist < reach:
        x = add_scaled3(x, normal, -m.geom_radius[g])
        _list_carried(m, d, g, o, q, T, t, late, x, normal, dist, feature)
