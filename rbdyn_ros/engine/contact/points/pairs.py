# SPDX-License-Identifier: Apache-2.0
"""Contacts between geometries of two bodies, for each pair of push_geom that is near.

This separate stage is needed only if bodies of a Model can touch each other, or if a cylinder or
mesh can touch an obstacle with an edge. Other contacts with obstacles are found in obstacles.py.
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
)
from rbdyn_ros.engine.collision.clipping import POINTS
from rbdyn_ros.engine.collision.kinds import BOX, SPHERE
from rbdyn_ros.engine.collision.manifold import manifold
from rbdyn_ros.engine.collision.pair import in_order, nearest_points, relative
from rbdyn_ros.engine.collision.rounds import of_spheres
from rbdyn_ros.engine.collision.support import radius_of
from rbdyn_ros.engine.collision.sweep import (
    ASKED,
    WAY,
    bound,
    bounds_near,
    place_geom,
    pose_of,
    sort,
    store_pose,
    sweep,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints
from rbdyn_ros.engine.contact.law.surfaces import is_rigid
from rbdyn_ros.engine.contact.points.approach import (
    NEAR,
    NEVER,
    begin_search,
    carried_back,
    closing_rate,
    gap_before,
    goes_on,
    is_sliver,
    is_still,
    look,
    looks_of,
    moved_by,
    time_of_look,
    time_of_points,
    touch_depth,
)
from rbdyn_ros.engine.contact.points.boxes import BOX_POINTS, box_gap, box_points
from rbdyn_ros.engine.contact.points.contact_list import (
    is_asked,
    list_contact,
    order,
    paths,
    reach_of,
    turn_rate_in_step,
    velocity_in_step,
)
from rbdyn_ros.engine.contact.points.hits import flies, list_hit, stop_before
from rbdyn_ros.model.declared.contact_arrays import AT_END
from rbdyn_ros.model.declared.data_fields import AXIS

#: Up to this number of pairs testing each pair is faster than a sweep.
PAIRS_WITHOUT_SWEEP = 1000

#: Two normals count as similar if the cosine of the angle between them is at least this.
SAME_NORMAL = 0.7

#: Two speeds along the normals count as equal if their ratio is at least this.
SAME_SPEED = 0.5

#: Used in place of the number of a path. AT_TOUCH: the geometries touch on the first path.
#: AT_LATE_TOUCH: they touch on the second path. NEXT_STEP: the contact is left to the next step,
#: because the normal at the impact differs from the present normal.
AT_TOUCH, AT_LATE_TOUCH, NEXT_STEP = 2, 3, 4


@optional_stage("pair_stage")
def _by_address(table, row):
    m = model_at(table)
    list_pairs(m, data_at(table, row), m.ngeommoving)


@kernel
def list_pairs(m, d, placed):
    """List the contacts of the pairs of push_geom, in their order.

    The first `placed` geometries have their pose and WAY in geom_place.
    """
    place, found = d.geom_place, d.push_found
    for g in range(m.nplace):
        if g >= placed:
            place_geom(m, d, g, place)
            place[g, WAY] = reach_of(m, d, m.geom_bodyid[g], load3(place, g), m.geom_rbound[g])
        bound(m, g, place, place[g, WAY])
        place[g, ASKED] = 1.0 if is_asked(m, d, g) else 0.0
    if m.npush > PAIRS_WITHOUT_SWEEP:
        number = sweep(
            m, m.nplace, place, d.sweep_order, m.push_geom, m.push_adr, m.push_num, found
        )
        if number <= len(found):
            sort(found, number)
            for n in range(number):
                if _is_asked(m, place, found[n]):
                    _list_pair(m, d, found[n])
            return
    for pair in range(m.npush):  # there are few pairs, or more near pairs than the sweep can list
        g, h = m.push_geom[pair, 0], m.push_geom[pair, 1]
        if _is_asked(m, place, pair) and bounds_near(m, place, g, h):
            _list_pair(m, d, pair)


@inline
def _is_asked(m, place, pair):
    return place[m.push_geom[pair, 0], ASKED] + place[m.push_geom[pair, 1], ASKED] > 0.0


@kernel
def _list_pair(m, d, pair):
    """List the contacts of a pair, up to the distance by which the two can approach in the step.

    The geometry on the lighter tree (the mover) moves; the other geometry counts as at rest.
    """
    g, h = m.push_geom[pair, 0], m.push_geom[pair, 1]
    reach, first = d.geom_place[g, WAY] + d.geom_place[h, WAY], d.ncon
    mover = _lighter(m, g, h)
    start, fly = _poses(d, g, h, mover), _both_fly(m, d, g, h)
    looked, here = False, (np.inf, ZERO3, ZERO3)
    for late in range(paths(d)):
        v, w = _relative_velocity(m, d, g, h, mover, start[0], late)
        search, t = begin_search(_way(m, mover, v, w), touch_depth(m, g, h), v), 0.0
        if not is_still(m, search):
            if not looked:
                looked, here = True, _gap(m, d, pair, g, h, mover, reach)
            search = _search(m, d, pair, g, h, mover, v, w, late, fly, reach, search, here)
            t = time_of_points(m, search)
        if t == NEVER or (late > 0 and t == NEAR):
            continue
        _list_at(m, d, pair, g, h, mover, v, w, t, late, fly, reach, search)
        _put(d, g, h, mover, start)
        if d.ncon > first:
            break
    order(d, first)


@inline
def _lighter(m, g, h):
    """Return the geometry of a pair that is on the lighter tree; the world counts as heavy."""
    root, other = m.body_rootid[m.geom_bodyid[g]], m.body_rootid[m.geom_bodyid[h]]
    if root == 0 or other == 0:
        return g if other == 0 else h
    return g if m.body_subtreemass[root] < m.body_subtreemass[other] else h


@inline
def _relative_velocity(m, d, g, h, mover, x, late):
    """Return the relative velocity of `mover` at x, and its relative angular velocity."""
    body, other = m.geom_bodyid[mover], m.geom_bodyid[g if mover == h else h]
    v, w = velocity_in_step(m, d, body, x, late), turn_rate_in_step(m, d, body, late)
    if other > 0:
        v = sub3(v, velocity_in_step(m, d, other, x, late))
        w = sub3(w, turn_rate_in_step(m, d, other, late))
    return v, w


@inline
def _poses(d, g, h, mover):
    """Return the poses of the two geometries in a pair, first the mover."""
    (p, R), (q, T) = pose_of(d.geom_place, mover), pose_of(d.geom_place, g if mover == h else h)
    return p, R, q, T


@inline
def _put(d, g, h, mover, poses):
    """Write the poses of the two geometries in a pair, first the mover's."""
    store_pose(d.geom_place, mover, poses[0], poses[1])
    store_pose(d.geom_place, g if mover == h else h, poses[2], poses[3])


@inline
def _move(m, d, g, h, mover, start, v, w, t, late, fly):
    """Write the poses of two geometries on their paths at the time t.

    Bodies in flight move with their own velocities; otherwise only the mover moves, with its
    velocity relative to the other geometry.
    """
    if fly:
        _fly_on(m, d, mover, start[0], start[1], t, late)
        _fly_on(m, d, g if mover == h else h, start[2], start[3], t, late)
    else:
        q, T = moved_by(start[0], start[1], v, w, t)
        store_pose(d.geom_place, mover, q, T)


@inline
def _fly_on(m, d, g, p, R, t, late):
    v = velocity_in_step(m, d, m.geom_bodyid[g], p, late)
    q, T = moved_by(p, R, v, _turn_rate_of_skin(m, d, g, late), t)
    store_pose(d.geom_place, g, q, T)


@inline
def _way(m, mover, v, w):
    """Return the largest distance that a point of the mover can travel in the step."""
    return m.opt.timestep * (np.sqrt(dot3(v, v)) + np.sqrt(dot3(w, w)) * m.geom_rbound[mover])


@kernel
def _search(m, d, pair, g, h, mover, v, w, late, fly, reach, search, here):
    """Return the final state of a search for the time at which two geometries touch.

    `search` is the initial state, and `here` the result of _gap at the start of their paths.
    """
    start, other = _poses(d, g, h, mover), g if mover == h else h
    dist, normal, x = here
    while True:
        if fly:
            v, w = _velocity_in_flight(m, d, mover, other, start, late)
        lever = sub3(x, load3(d.geom_place, mover))
        rate = closing_rate(dist, normal, v, w, lever, m.geom_rbound[mover])
        search = look(m, search, dist, rate, normal)
        if not goes_on(search):
            break
        _move(m, d, g, h, mover, start, v, w, time_of_look(search), late, fly)
        dist, normal, x = _gap(m, d, pair, g, h, mover, reach)
    _put(d, g, h, mover, start)
    return search


@inline
def _velocity_in_flight(m, d, mover, other, start, late):
    """Return the velocities of two geometries in flight at their present positions.

    The result is as in _relative_velocity, without the spin of spheres.
    """
    body, base = m.geom_bodyid[mover], m.geom_bodyid[other]
    v = velocity_in_step(m, d, body, start[0], late)
    v = sub3(v, velocity_in_step(m, d, base, start[2], late))
    w, turn = _turn_rate_of_skin(m, d, mover, late), _turn_rate_of_skin(m, d, other, late)
    apart = sub3(load3(d.geom_place, mover), load3(d.geom_place, other))
    return sub3(v, cross3(turn, apart)), sub3(w, turn)


@inline
def _turn_rate_of_skin(m, d, g, late):
    """Return a geometry's angular velocity.

    It is 0 for a sphere, whose rotation does not move its surface.
    """
    if m.geom_type[g] == SPHERE:
        return ZERO3
    return turn_rate_in_step(m, d, m.geom_bodyid[g], late)


@kernel
def _gap(m, d, pair, g, h, mover, reach):
    """Return the distance of two geometries, the normal towards the mover, and a near point."""
    other = g if mover == h else h
    p, R = pose_of(d.geom_place, mover)
    if m.geom_type[g] == BOX and m.geom_type[h] == BOX:
        q, T = pose_of(d.geom_place, other)
        half, block = load3(m.geom_size, mover), load3(m.geom_size, other)
        dist, normal = box_gap(p, R, half, q, T, block, reach)
        return dist, normal, p
    if m.geom_type[g] == SPHERE and m.geom_type[h] == SPHERE:
        p, q = load3(d.geom_place, g), load3(d.geom_place, h)
        dist, normal, x, _y = of_spheres(m, g, h, sub3(q, p))
        return dist, scaled3(normal, 1.0 if mover == h else -1.0), add3(p, x)
    a, b, _swapped = in_order(m, g, h)
    dist, normal, x, _y = _nearest(m, d, pair, a, b, reach)
    p, R = pose_of(d.geom_place, a)
    normal = scaled3(mat_vec(R, normal), 1.0 if mover == b else -1.0)
    return dist, normal, add3(p, mat_vec(R, x))


@kernel
def _nearest(m, d, pair, a, b, reach):
    """Return the distance, normal and nearest points of two geometries, in the frame of A."""
    nowhere = stack_floats(1, AXIS)
    for k in range(AXIS):
        nowhere[0, k] = 0.0
    axis = d.push_axis[pair] if pair < len(d.push_axis) else nowhere[0]
    R, t = relative(d.geom_place, a, b)
    return nearest_points(m, a, b, R, t, reach, axis)


@kernel
def _list_at(m, d, pair, g, h, mover, v, w, t, late, fly, reach, search):
    """List the points at which two geometries touch at the time t of a path."""
    start, (p, R) = _poses(d, g, h, mover), pose_of(d.geom_place, mover)
    if t > 0.0:
        moving = m.geom_bodyid[g] > 0 and m.geom_bodyid[h] > 0
        if moving and _as_now(m, d, g, h, mover, v, late, fly, reach, search):
            t = 0.0
        else:
            stops = fly and late > 0 and _bounce(m, g, h)
            _move(m, d, g, h, mover, start, v, w, t, late, fly and not stops)
            if fly:
                late = NEXT_STEP if stops else AT_TOUCH + late
    if m.geom_type[g] == BOX and m.geom_type[h] == BOX:
        _boxes(m, d, pair, g, h, mover, p, R, t, late, reach)
    else:
        _hulls(m, d, pair, g, h, mover, p, R, t, late, reach)


@inline
def _bounce(m, g, h):
    """Return whether the contact of two geometries has restitution."""
    return m.geom_restitution[g] > 0.0 or m.geom_restitution[h] > 0.0


@inline
def _both_fly(m, d, g, h):
    """Return whether two rigid geometries belong to bodies in flight, which hits.py handles.

    Geometries with springs are excluded: they use the gap at the start of the step.
    """
    if not is_rigid(m, g) or not is_rigid(m, h):
        return False
    return flies(m, d, m.geom_bodyid[g]) and flies(m, d, m.geom_bodyid[h])


@inline
def _as_now(m, d, g, h, mover, v, late, fly, reach, search):
    """Return whether two moving geometries touch with about the present normal.

    The contact then has the points at the start of the step. The arms of both bodies are exact
    there, so a central force does not rotate the bodies.
    """
    if fly:
        start = _poses(d, g, h, mover)
        v, _w = _velocity_in_flight(m, d, mover, g if mover == h else h, start, late)
    dist, now, then = looks_of(search)
    same = dot3(now, then) > SAME_NORMAL and dot3(then, v) < SAME_SPEED * dot3(now, v)
    return same and dist < reach


@kernel
def _boxes(m, d, pair, g, h, mover, p_0, R_0, t, late, reach):
    points, names = stack_floats(BOX_POINTS, 4), stack_ints(BOX_POINTS, 1)
    p, R = pose_of(d.geom_place, g)
    q, T = pose_of(d.geom_place, h)
    half, other = load3(m.geom_size, g), load3(m.geom_size, h)
    number, normal = box_points(q, T, other, p, R, half, reach, points, names)
    if t == 0.0 and _beside(m, d, pair, g, h, mover, normal, reach, points, number):
        return
    for n in range(number):  # the points are on geometry h
        x = sub3(load3(points, n), scaled3(normal, 0.5 * points[n, 3]))
        _list_carried(
            m, d, pair, g, h, mover, p_0, R_0, t, late, x, normal, points[n, 3], names[n, 0]
        )


@kernel
def _hulls(m, d, pair, g, h, mover, p_0, R_0, t, late, reach):
    points, names = stack_floats(POINTS, 4), stack_ints(POINTS, 1)
    a, b, swapped = in_order(m, g, h)
    nearest = _nearest(m, d, pair, a, b, reach)
    if not nearest[0] < reach:
        return
    R, t_AB = relative(d.geom_place, a, b)
    number, normal = manifold(m, a, b, R, t_AB, nearest, reach, points, names)
    p, R_A = pose_of(d.geom_place, a)
    normal = scaled3(mat_vec(R_A, normal), -1.0 if swapped else 1.0)
    round_ones = radius_of(m, a) + radius_of(m, b) > 0.0
    beside = t == 0.0 and not round_ones
    if beside and _beside(m, d, pair, g, h, mover, normal, reach, points, number):
        return
    for n in range(number):
        x = add3(p, mat_vec(R_A, load3(points, n)))
        _list_carried(
            m, d, pair, g, h, mover, p_0, R_0, t, late, x, normal, points[n, 3], names[n, 0]
        )


@kernel
def _beside(m, d, pair, g, h, mover, normal, reach, points, number):
    """Return whether two edges overlap side by side by FLUSH: then they slide past each other.

    The faces of both sides are then equally near. The normal is arbitrary, so the contact is
    dropped.
    """
    deepest, flush = np.inf, touch_depth(m, g, h)
    for n in range(number):
        deepest = min(deepest, points[n, 3])
    if not abs(deepest) < flush or not is_sliver(points, number, flush):
        return False
    p, R = pose_of(d.geom_place, mover)
    towards = 2.0 * flush if mover == g else -2.0 * flush
    store_pose(d.geom_place, mover, add_scaled3(p, normal, towards), R)
    pushed, _normal, _x = _gap(m, d, pair, g, h, mover, reach)
    store_pose(d.geom_place, mover, p, R)
    return pushed > deepest - flush and pushed > -flush


@inline
def _list_carried(m, d, pair, g, h, mover, p, R, t, late, x, normal, dist, feature):
    """List a contact at the time t of a path, at the start of which the mover is at p, R.

    The normal points from g to h. If one geometry belongs to the world, it becomes geom1.
    """
    key, body_g, body_h = m.ngeomlink * m.nobstacle + pair, m.geom_bodyid[g], m.geom_bodyid[h]
    if late == AT_TOUCH or late == AT_LATE_TOUCH:
        path = late - AT_TOUCH
        list_hit(m, d, key, g, h, body_g, body_h, x, normal, dist, feature, t, path)
        return
    if t > 0.0:
        q, T = pose_of(d.geom_place, mover)
        x = carried_back(x, p, R, q, T)
        v, _w = _relative_velocity(m, d, g, h, h, x, late)
        dist = gap_before(m, normal, dist, v, t)
    number = d.ncon
    if late == NEXT_STEP:
        stop_before(m, d, body_g, body_h, x, x, normal, dist)
    elif body_h == 0:
        flipped = scaled3(normal, -1.0)
        list_contact(m, d, key, h, g, body_h, body_g, x, flipped, dist, feature, t != NEAR)
    else:
        list_contact(m, d, key, g, h, body_g, body_h, x, normal, dist, feature, t != NEAR)
        if d.contact_phase[0] == AT_END and d.ncon == number and body_g > 0 and t != NEAR:
            stop_before(m, d, body_g, body_h, x, x, normal, dist)
