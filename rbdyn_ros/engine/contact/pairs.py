"""Contacts between geometries of two bodies: the pairs of push_geom that are near, pair by pair.

A stage of its own, which a Model needs only if bodies push each other, or if a cylinder or mesh
can touch an obstacle with an edge. Other contacts with obstacles are in obstacles.py.
"""

from __future__ import annotations

from rbdyn_ros.engine.collision.clipping import POINTS
from rbdyn_ros.engine.collision.kinds import BOX
from rbdyn_ros.engine.collision.manifold import manifold
from rbdyn_ros.engine.collision.pair import in_order, nearest_points, relative
from rbdyn_ros.engine.collision.sweep import (
    WAY,
    bound,
    bounds_near,
    place_geom,
    pose_of,
    sort,
    sweep,
)
from rbdyn_ros.engine.contact.boxes import BOX_POINTS, box_points
from rbdyn_ros.engine.contact.contact_list import list_contact, order, reach_of
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.spatial import add3, load3, mat_vec, scaled3, sub3
from rbdyn_ros.engine.stack import stack_floats, stack_ints
from rbdyn_ros.model.data_fields import AXIS

#: Up to so many pairs it is faster to test each pair than to sweep.
PAIRS_WITHOUT_SWEEP = 1000


@optional_stage("pair_stage")
def _by_address(table, row):
    list_pairs(model_at(table), data_at(table, row))


@kernel
def list_pairs(m, d):
    """List the contacts of the pairs of push_geom, in their order."""
    place, found = d.geom_place, d.push_found
    for g in range(m.nplace):
        place_geom(m, d, g, place)
        centre, i = load3(place, g), m.geom_bodyid[g]
        place[g, WAY] = reach_of(m, d, i, centre, m.geom_rbound[g])
        bound(m, g, place, place[g, WAY])
    if m.npush > PAIRS_WITHOUT_SWEEP:
        number = sweep(
            m, m.nplace, place, d.sweep_order, m.push_geom, m.push_adr, m.push_num, found
        )
        if number <= len(found):
            sort(found, number)
            for n in range(number):
                _list_pair(m, d, found[n])
            return
    for pair in range(m.npush):  # few pairs, or too many near ones to list
        if bounds_near(m, place, m.push_geom[pair, 0], m.push_geom[pair, 1]):
            _list_pair(m, d, pair)


@kernel
def _list_pair(m, d, pair):
    """List the contacts of a pair, up to the way that the two can close in the step."""
    g, h = m.push_geom[pair, 0], m.push_geom[pair, 1]
    reach = d.geom_place[g, WAY] + d.geom_place[h, WAY]
    first = d.ncon
    if m.geom_type[g] == BOX and m.geom_type[h] == BOX:
        _boxes(m, d, pair, g, h, reach)
    else:
        _hulls(m, d, pair, g, h, reach)
    order(d, first)


@kernel
def _boxes(m, d, pair, g, h, reach):
    points, names = stack_floats(BOX_POINTS, 4), stack_ints(BOX_POINTS, 1)
    p, R = pose_of(d.geom_place, g)
    q, T = pose_of(d.geom_place, h)
    half, other = load3(m.geom_size, g), load3(m.geom_size, h)
    number, normal = box_points(q, T, other, p, R, half, reach, points, names)
    for n in range(number):  # points of h
        x = sub3(load3(points, n), scaled3(normal, 0.5 * points[n, 3]))
        _list_contact(m, d, pair, g, h, x, normal, points[n, 3], names[n, 0])


@kernel
def _hulls(m, d, pair, g, h, reach):
    points, names = stack_floats(POINTS, 4), stack_ints(POINTS, 1)
    nowhere = stack_floats(1, AXIS)
    for k in range(AXIS):
        nowhere[0, k] = 0.0
    axis = d.push_axis[pair] if pair < len(d.push_axis) else nowhere[0]
    a, b, swapped = in_order(m, g, h)
    R, t = relative(d.geom_place, a, b)
    nearest = nearest_points(m, a, b, R, t, reach, axis)
    if not nearest[0] < reach:
        return
    number, normal = manifold(m, a, b, R, t, nearest, reach, points, names)
    p, R_A = pose_of(d.geom_place, a)
    normal = scaled3(mat_vec(R_A, normal), -1.0 if swapped else 1.0)
    for n in range(number):
        x = add3(p, mat_vec(R_A, load3(points, n)))
        _list_contact(m, d, pair, g, h, x, normal, points[n, 3], names[n, 0])


@inline
def _list_contact(m, d, pair, g, h, x, normal, dist, feature):
    """List a contact, whose normal points from g to h; a geometry of the world is geom1."""
    key = m.ngeomlink * m.nobstacle + pair
    body_g, body_h = m.geom_bodyid[g], m.geom_bodyid[h]
    if body_h == 0:
        flipped = scaled3(normal, -1.0)
        list_contact(m, d, key, h, g, body_h, body_g, x, flipped, dist, feature)
    else:
        list_contact(m, d, key, g, h, body_g, body_h, x, normal, dist, feature)
