# SPDX-License-Identifier: Apache-2.0
"""Bodies in flight that are hit within a step keep their old velocity until the impact.

If the normal between two bodies rotates while they approach, a contact acts with the arms at the
time t of the impact, from the positions of the bodies at that time. The body moves with its old
velocity until t, and with its new velocity from then on, so the position after the step is

    x' = x + t v + (h - t) v' = x + h (v' - t a)

So the impulses J and -J act at one point, and angular momentum is conserved: about a fixed point,
the moment of m v' at x' changes by (x + t v) x J. For bodies in flight (flight.py) only the centre
of mass moves in this manner; they rotate with their new angular velocity.

A body has only one such time, so only its first impact acts in this manner. A later impact without
restitution acts as well, with the arms at its own time, but its bodies move with their new
velocity from the start of the step: its contact_time is negative. The same holds for impacts that
begin because of the forces of the step; their arms are for the paths with the new velocities. An
impact after the end of the step is left to the next step.

After a rebound a body can reach another body within the same step. If this pair has restitution,
it is not listed (contact_list.py). Both bodies stop where they touch, but keep their velocities,
and the impact acts in the next step. The omitted motion is along their velocities, so momentum and
angular momentum are conserved. Their common centre of mass still falls or rises under gravity as
without the stop, so energy is conserved too.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    add_scaled3,
    dot3,
    load3,
    load6,
    load9,
    mat_vec,
    scaled3,
    store3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.surfaces import restitution_of
from rbdyn_ros.engine.contact.points.contact_list import (
    append,
    change_of_velocity,
    copy_contact,
    velocity_in_step,
)
from rbdyn_ros.engine.tree.flight import PLAIN, has_drive
from rbdyn_ros.engine.tree.points import point_velocity
from rbdyn_ros.model.declared.contact_arrays import AT_END, NORMAL
from rbdyn_ros.model.declared.options import EULER


@kernel
def flies(m, d, body):
    """Return whether a body is a single body in flight (flight.py)."""
    if m.opt.integrator_id == EULER:
        return False
    low, high = 0, m.nflight  # flight_bodyid ascends
    last = m.nflight - m.nbody + body  # index of the body if all later bodies fly
    if last >= 0 and m.flight_bodyid[last] == body:
        low = high = last
    while low < high:
        middle = (low + high) // 2
        if m.flight_bodyid[middle] < body:
            low = middle + 1
        else:
            high = middle
    return low < m.nflight and m.flight_bodyid[low] == body and not has_drive(m, d, body)


@inline
def centre_velocity(m, d, body):
    """Return the velocity of the centre of mass of the body's tree."""
    return point_velocity(m, d, body, load3(d.subtree_com, m.body_rootid[body]))


@inline
def _place_at_start(m, d, body, x, t, late):
    """Return the position, at the step's start, of a flying body's point that is at x at time t.

    The arm from the centre of mass to the point is the same at both times.
    """
    centre = load3(d.subtree_com, m.body_rootid[body])
    return add_scaled3(x, velocity_in_step(m, d, body, centre, late), -t)


@kernel
def list_hit(m, d, pair, geom1, geom2, body1, body2, x, normal, dist, feature, t, late):
    """List a contact of bodies in flight that touch at the time t of a path of the step.

    The arm of each body leads from its position at that time to the point. Nothing is listed if
    the impact is after the step, or if the bodies are apart at the end of the step.
    """
    x1, x2 = _place_at_start(m, d, body1, x, t, late), _place_at_start(m, d, body2, x, t, late)
    h = m.opt.timestep
    leaving, left = dot3(normal, _relative(m, d, body1, body2, x1, x2, late > 0)), h - t
    if left < 0.0 or dist + left * leaving >= 0.0:
        return
    if late > 0:
        dist, t = dist - t * leaving, -t
    else:
        d.hits[0] = 1
    append(m, d, pair, geom1, geom2, body1, body2, x, x1, x2, normal, dist, feature, t)


@kernel
def clear_hits(m, d):
    """Set body_hit and body_shift to zero if they were written."""
    if d.hits[0] != 0:
        d.hits[0] = 0
        for i in range(m.nbody):
            d.body_hit[i] = 0.0
            store3(d.body_shift, i, ZERO3)


@kernel
def keep_first_hits(m, d):
    """Mark later hits: their bodies have an earlier hit, or another contact with a body.

    The contact_time of a later hit becomes negative. If its pair bounces, the bodies stop where
    they touch instead, and the hit leaves the list.
    """
    kept = 0
    for c in range(d.ncon):
        if d.contact_time[c] > 0.0 and not _is_first(d, c):
            d.contact_dist[c] = _gap_at_start(m, d, c)
            d.contact_time[c] = -d.contact_time[c]
    for c in range(d.ncon):
        if d.contact_time[c] > 0.0:
            d.contact_dist[c] = max(d.contact_dist[c], 0.0)
        elif d.contact_time[c] < 0.0 and restitution_of(m, d, c) > 0.0:
            _stop_bodies(m, d, c)
            continue
        copy_contact(d, c, kept)
        kept += 1
    d.ncon = kept


@inline
def _gap_at_start(m, d, c):
    """Return the gap that the points of a hit close along its normal until they touch."""
    body1, body2, x1, x2 = _places(m, d, c)
    leaving = dot3(load3(d.contact_normal, c), _relative(m, d, body1, body2, x1, x2, False))
    return d.contact_dist[c] - d.contact_time[c] * leaving


@inline
def _stop_bodies(m, d, c):
    """Stop the bodies of a hit where they touch."""
    body1, body2, x1, x2 = _places(m, d, c)
    stop_before(m, d, body1, body2, x1, x2, load3(d.contact_normal, c), d.contact_dist[c])


@inline
def _places(m, d, c):
    """Return the bodies of a hit, and its point on each of them at the start of the step."""
    body1, body2 = d.contact_body[c, 0], d.contact_body[c, 1]
    x1 = add3(load3(d.subtree_com, m.body_rootid[body1]), load3(d.contact_arm1, c))
    x2 = add3(load3(d.subtree_com, m.body_rootid[body2]), load3(d.contact_arm2, c))
    return body1, body2, x1, x2


@inline
def _is_first(d, c):
    """Return whether the bodies of a hit have no other contact with a body and no earlier hit."""
    (body1, body2), t, first = d.contact_body[c], abs(d.contact_time[c]), True
    for n in range(d.ncon):
        one, other, time = d.contact_body[n, 0], d.contact_body[n, 1], abs(d.contact_time[n])
        shares = one > 0 and (one in (body1, body2) or other in (body1, body2))
        same = one == body1 and other == body2 and time == t
        if shares and not same:
            first = first and time > 0.0 and (time > t or (time == t and n > c))
    return first


@kernel
def find_hits(d):
    """Write body_hit: the time at which a contact with a force hits a body. Needs the forces."""
    for c in range(d.ncon):
        t = d.contact_time[c]
        if t > 0.0 and d.contact_end[c, NORMAL] > 0.0:
            d.hits[0] = 1
            for side in range(2):
                d.body_hit[d.contact_body[c, side]] = t


@kernel
def stop_before(m, d, body1, body2, x1, x2, normal, dist):
    """Stop two bodies where they touch, if they overlap at the ends of their paths.

    x1 and x2 are points of the two bodies with the distance `dist` at the start of the step.
    """
    h = m.opt.timestep
    gap = dist + h * dot3(normal, _relative(m, d, body1, body2, x1, x2, True))
    v1, v2 = _velocity_after(m, d, body1), _velocity_after(m, d, body2)
    closing = dot3(normal, sub3(v1, v2))
    if gap >= 0.0 or -gap > h * closing or not flies(m, d, body1) or not flies(m, d, body2):
        return
    d.hits[0] = 1
    falls, part = _fall(m, body1, body2, v1, v2), -gap / (closing * h)
    _shift(d, body1, scaled3(sub3(falls, v1), part))
    _shift(d, body2, scaled3(sub3(falls, v2), part))


@inline
def _fall(m, body1, body2, v1, v2):
    """Return the velocity of two bodies' common centre of mass along gravity."""
    g, mass1, mass2 = m.opt.gravity, m.body_mass[body1], m.body_mass[body2]
    down = (g[0], g[1], g[2])
    square = dot3(down, down)
    if square == 0.0:
        return ZERO3
    speed = (mass1 * dot3(down, v1) + mass2 * dot3(down, v2)) / (mass1 + mass2)
    return scaled3(down, speed / square)


@inline
def _relative(m, d, body1, body2, x1, x2, after):
    """Return the velocity of x2 on body2 relative to x1 on body1; `after`: at the step's end."""
    v = sub3(point_velocity(m, d, body2, x2), point_velocity(m, d, body1, x1))
    if after:
        v = add3(v, change_of_velocity(m, d, body2, x2))
        v = sub3(v, change_of_velocity(m, d, body1, x1))
    return v


@inline
def _velocity_after(m, d, body):
    """Return the velocity of a body's centre of mass at the end of the step.

    Until the forces are known, the velocity at the start is returned.
    """
    v, a = centre_velocity(m, d, body), load6(d.iterate_a, body)
    at_end = d.contact_phase[0] == AT_END
    return add_scaled3(v, (a[3], a[4], a[5]), m.opt.timestep) if at_end else v


@inline
def _shift(d, body, v):
    store3(d.body_shift, body, add3(load3(d.body_shift, body), v))


@kernel
def hold_back(m, d):
    """Make hit bodies keep their old velocity until the hit: add the difference to body_shift."""
    if d.hits[0] != 0:
        for i in range(m.nbody):
            if d.body_hit[i] > 0.0:
                a = load6(d.a, i)
                _shift(d, i, scaled3((a[3], a[4], a[5]), -d.body_hit[i]))


@kernel
def move_hits(m, d):
    """Add body_shift to the motion of the step, which is in flight_work."""
    if d.hits[0] == 0:
        return
    for n in range(m.nflight):
        i = m.flight_bodyid[n]
        if d.flight_mode[i] != PLAIN:
            shift = mat_vec(transposed(load9(m.body_mat, i)), load3(d.body_shift, i))
            for k in range(3):
                d.flight_work[i, k] += shift[k]
