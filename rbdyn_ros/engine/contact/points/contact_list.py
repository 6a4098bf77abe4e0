# SPDX-License-Identifier: Apache-2.0
"""The list of contacts, sorted by pairs of geometries and features.

A contact is between geom1 and geom2, which are numbers of geometries. geom1 belongs to the world,
or is the lower of the two numbers if both belong to moving bodies. The normal points from geom1 to
geom2, and forces and velocities are those of geom2, relative to geom1.

A feature is the number of a contact point within its pair of geometries: a corner, the rank of a
point on a rim, or an edge cut by a side. It is the same from step to step, so contact_key
identifies the contact in the list of the step before.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    dot3,
    dot6,
    load3,
    load6,
    load9,
    mat_vec,
    scaled3,
    store3,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.tree.points import moved_point, point_velocity, turn_rate
from rbdyn_ros.model.declared.contact_arrays import AT_END, FEATURES

#: A gap up to CLOSED_GAP h^2 counts as closed; a step of fall from rest needs half of it [m/s^2].
CLOSED_GAP = 20.0

#: Adjacent surfaces count as one surface up to a step of FLUSH + FLUSH_FALL h^2 between them [m,
#: m/s^2]. The second term is the depth to which a hundred stacked bodies sink in with near-rigid
#: contacts.
FLUSH, FLUSH_FALL = 1e-6, 0.2

#: Distances below this part of the flush depth count as zero.
FLAT = 0.01

#: Slope [rad] below which a capsule or an edge lies along a face.
LEVEL_SLOPE = 2e-3

#: Bodies with a smaller acceleration [m/s^2, rad/s^2] begin no contact within a step.
MIN_ACCELERATION = 1e-6

#: A point approaches slowly if a step reduces its gap by less than this part.
SLOWLY = 0.25


@inline
def list_obstacle_contact(m, d, g, o, x, normal, dist, feature, touches):
    """List the contact of geometry g with obstacle o at x, at distance `dist` along `normal`.

    `touches` is true if the two touch on their path in the step, see approach.py.
    """
    body = m.geom_bodyid[g]
    if not (touches and dist < 0.0):  # points inside the obstacle are listed at any velocity
        v, change = point_velocity(m, d, body, x), change_of_velocity(m, d, body, x)
        if not _is_listed(m, g, o, dist, dot3(normal, v), dot3(normal, change), touches):
            return
    append(m, d, pair_number(m, g, o), o, g, 0, body, x, x, x, normal, dist, feature, 0.0)


@inline
def pair_number(m, g, o):
    """Return the number of the pair of a geometry and an obstacle."""
    return g * m.nobstacle + o - m.ngeomlink


@inline
def bodies_of_pair(m, pair):
    """Return the two bodies of a pair, by its number; both are -1 for an invalid number.

    Pairs with obstacles come first, then the pairs of push_geom, then pairs with height fields.
    """
    obstacles, others = m.ngeomlink * m.nobstacle, pair - m.ngeomlink * m.nobstacle
    if others >= 0 and others < m.npush:
        return m.geom_bodyid[m.push_geom[others, 0]], m.geom_bodyid[m.push_geom[others, 1]]
    at = pair if others < 0 else others - m.npush
    if at < 0 or at >= obstacles:
        return -1, -1
    return 0, m.geom_bodyid[at // m.nobstacle]


@inline
def list_contact(m, d, pair, geom1, geom2, body1, body2, x, normal, dist, feature, touches):
    """List the contact of two geometries at x, at distance `dist` along `normal`, from 1 to 2.

    `pair` is the number of the pair: pairs come in ascending order. `touches` is as in
    list_obstacle_contact.
    """
    v = sub3(point_velocity(m, d, body2, x), point_velocity(m, d, body1, x))
    change = sub3(change_of_velocity(m, d, body2, x), change_of_velocity(m, d, body1, x))
    if _is_listed(m, geom1, geom2, dist, dot3(normal, v), dot3(normal, change), touches):
        append(m, d, pair, geom1, geom2, body1, body2, x, x, x, normal, dist, feature, 0.0)


@inline
def reach_of(m, d, body, centre, radius):
    """Return the largest gap that the points of a body in a ball can close in the step [m].

    The ball is given by its centre and radius.
    """
    v, w = point_velocity(m, d, body, centre), turn_rate(d, body)
    speed = np.sqrt(dot3(v, v)) + np.sqrt(dot3(w, w)) * radius
    if d.contact_phase[0] == AT_END:
        v = add3(v, change_of_velocity(m, d, body, centre))
        w = add3(w, change_of_turn_rate(m, d, body))
        speed = max(speed, np.sqrt(dot3(v, v)) + np.sqrt(dot3(w, w)) * radius)
    return m.opt.timestep * speed + near(m)


@inline
def is_asked(m, d, g):
    """Return whether the pairs of a geometry with other bodies must be listed.

    In the second listing of a step (late_contacts.py) this is true only for geometries that may
    begin a contact, or bounce (hits.py).
    """
    at_start = d.contact_phase[0] != AT_END
    moves = g < m.ngeommoving
    return at_start or (moves and (m.geom_restitution[g] > 0.0 or may_begin(m, d, g)))


@inline
def may_begin(m, d, g):
    """Return whether the accelerations of the step can begin a contact of a geometry.

    They can if they move it by more than half of the gap that counts as closed.
    """
    i, h = m.geom_bodyid[g], m.opt.timestep
    a = load6(d.a, i)
    if dot6(a, a) < MIN_ACCELERATION * MIN_ACCELERATION:
        return False
    centre = add3(load3(d.xpos, i), mat_vec(load9(d.xmat, i), load3(m.geom_pos, g)))
    there = moved_point(a, sub3(centre, load3(d.subtree_com, m.body_rootid[i])))
    turn = np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    return h * h * (np.sqrt(dot3(there, there)) + m.geom_rbound[g] * turn) > 0.5 * near(m)


@inline
def change_of_velocity(m, d, body, x):
    """Return the change of a point's velocity in the step; zero until the forces are known.

    A body in flight that is hit within the step keeps its old velocity until the hit, so the
    change excludes the time before the hit (hits.py).
    """
    if d.contact_phase[0] != AT_END:
        return ZERO3
    a = load6(d.iterate_a, body)
    arm = sub3(x, load3(d.subtree_com, m.body_rootid[body]))
    change = scaled3(moved_point(a, arm), m.opt.timestep - d.body_hit[body])
    return add3(change, load3(d.body_shift, body))


@inline
def change_of_turn_rate(m, d, body):
    """Return the step's change of a body's angular velocity, see change_of_velocity."""
    if d.contact_phase[0] != AT_END:
        return ZERO3
    return scaled3(load3(d.iterate_a, body), m.opt.timestep)


@inline
def velocity_in_step(m, d, body, x, late):
    """Return the velocity of a body's point at x at the step's start, or at its end if `late`."""
    v = point_velocity(m, d, body, x)
    return add3(v, change_of_velocity(m, d, body, x)) if late > 0 else v


@inline
def turn_rate_in_step(m, d, body, late):
    """Return a body's angular velocity at the step's start, or at its end if `late`."""
    w = turn_rate(d, body)
    return add3(w, change_of_turn_rate(m, d, body)) if late > 0 else w


@inline
def paths(d):
    """Return the number of paths on which geometries may touch.

    The first path has the velocities at the start of the step, the second has the velocities at
    the end of the step.
    """
    return 2 if d.contact_phase[0] == AT_END else 1


@inline
def near(m):
    """Return the largest gap that counts as closed."""
    return CLOSED_GAP * m.opt.timestep * m.opt.timestep


@inline
def still_way(m):
    """Return the largest relative motion in a step of geometries that count as at rest."""
    return FLAT * flush_depth(m)


@inline
def flush_depth(m):
    """Return the depth at which the normal of a contact is computed, see approach.py."""
    return FLUSH + FLUSH_FALL * m.opt.timestep * m.opt.timestep


@inline
def _is_listed(m, geom1, geom2, dist, leaving, change, touches):
    """Return whether a point is listed: it is or ends inside, or the surfaces rest on each other.

    Without restitution a point is also listed if the forces of the step close its gap, or if it
    rests within the gap near(m), so that a push is passed on in the same step. `change` is the
    change of the velocity `leaving` by these forces, see late_contacts.py. If the geometries do
    not touch on their path, a point is listed only if it rests within near(m) and approaches
    slowly (SLOWLY) or not at all.
    """
    way, late = m.opt.timestep * leaving, m.opt.timestep * change
    if touches and (dist < 0.0 or dist + way < 0.0):
        return True
    if m.geom_restitution[geom1] > 0.0 or m.geom_restitution[geom2] > 0.0:
        return False
    if touches and dist + way + late < 0.0:
        return True
    rests = max(dist, abs(way)) < near(m)
    return rests and (touches or way > -max(still_way(m), SLOWLY * dist))


@inline
def append(m, d, pair, geom1, geom2, body1, body2, x, x1, x2, normal, dist, feature, t):
    """Add a contact at x and the time t of the step to the list.

    x1 and x2 are the positions of the point on its two bodies at the start of the step. A contact
    that does not fit in the list has no force; it is counted.
    """
    c = d.ncon
    if c == m.ncontact:
        d.ndropped = d.ndropped + 1
        return
    d.ncon = c + 1
    d.contact_geom[c, 0], d.contact_geom[c, 1] = geom1, geom2
    d.contact_body[c, 0], d.contact_body[c, 1] = body1, body2
    d.contact_key[c] = pair * FEATURES + feature
    store3(d.contact_pos, c, x)
    store3(d.contact_normal, c, normal)
    d.contact_dist[c], d.contact_time[c] = dist, t
    if body1 > 0:
        store3(d.contact_arm1, c, sub3(x1, load3(d.subtree_com, m.body_rootid[body1])))
    store3(d.contact_arm2, c, sub3(x2, load3(d.subtree_com, m.body_rootid[body2])))


@kernel
def order(d, first):
    """Sort the contacts of a pair, from number `first` on, by their keys."""
    for last in range(first + 1, d.ncon):
        c = last
        while c > first and d.contact_key[c] < d.contact_key[c - 1]:
            _exchange(d, c, c - 1)
            c -= 1


@inline
def _exchange(d, a, b):
    """Exchange two contacts of one pair."""
    d.contact_key[a], d.contact_key[b] = d.contact_key[b], d.contact_key[a]
    d.contact_dist[a], d.contact_dist[b] = d.contact_dist[b], d.contact_dist[a]
    x, normal = load3(d.contact_pos, a), load3(d.contact_normal, a)
    store3(d.contact_pos, a, load3(d.contact_pos, b))
    store3(d.contact_normal, a, load3(d.contact_normal, b))
    store3(d.contact_pos, b, x)
    store3(d.contact_normal, b, normal)
    arm1, arm2 = load3(d.contact_arm1, a), load3(d.contact_arm2, a)
    store3(d.contact_arm1, a, load3(d.contact_arm1, b))
    store3(d.contact_arm2, a, load3(d.contact_arm2, b))
    store3(d.contact_arm1, b, arm1)
    store3(d.contact_arm2, b, arm2)


@inline
def copy_contact(d, c, place):
    """Copy the entries of contact c to the index `place` of the list."""
    d.contact_key[place], d.contact_dist[place] = d.contact_key[c], d.contact_dist[c]
    d.contact_time[place] = d.contact_time[c]
    store3(d.contact_pos, place, load3(d.contact_pos, c))
    store3(d.contact_normal, place, load3(d.contact_normal, c))
    store3(d.contact_arm1, place, load3(d.contact_arm1, c))
    store3(d.contact_arm2, place, load3(d.contact_arm2, c))
    for side in range(2):
        d.contact_geom[place, side] = d.contact_geom[c, side]
        d.contact_body[place, side] = d.contact_body[c, side]
