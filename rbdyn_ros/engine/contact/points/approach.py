# SPDX-License-Identifier: Apache-2.0
"""The time in a step at which two geometries first touch; contact points are computed for it.

A body that moves far in a step touches the bodies on its path, with the normal at the time of
impact. Bodies that only pass each other do not touch. On a straight path the gap is convex in
time, so its tangents lead to the first time at which the depth is FLUSH, or to the time of the
least gap. For a body that rotates, an upper bound of the closing speed replaces the slope of the
tangent while the gap is open, so the search never passes the first impact. With this bound the
search can be too slow to reach the impact, or the end of the step, in LOOKS iterations. Then it
ends at once, and the two bodies count as touching at that time.

The normal is computed at the depth FLUSH, because an edge or a corner has no unique normal when it
begins to touch. For example, a box that slides, 1 nm deep, from one tile to the next touches the
side of the next tile first, but reaches the depth FLUSH at this side only if the tile is higher.

Points found at that time are moved back with their geometry to the start of the step. Their gap at
the start is the distance that they close along the normal until they touch.

Source: Mirtich, Impulse-based dynamic simulation of rigid body systems, 1996 (conservative
advancement); Kelley, The cutting-plane method for solving convex programs, 1960 (tangents).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    add_scaled3,
    cross3,
    dot3,
    load3,
    mat_mul,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.contact_constants import DEEPEST
from rbdyn_ros.engine.contact.law.masses import SHARE
from rbdyn_ros.engine.contact.law.surfaces import is_rigid
from rbdyn_ros.engine.contact.points.contact_list import (
    FLAT,
    SLOWLY,
    flush_depth,
    near,
    still_way,
)
from rbdyn_ros.engine.joints.frames import turn

#: Upper limit of the depth at which a search ends, as a part of the thicker geometry's thickness.
FLUSH_PART = 0.1

#: Largest number of iterations of a search; each computes a distance of the pair.
LOOKS = 16

#: An impact still belongs to the step if it is beyond the end of the step by at most this multiple
#: of the depth.
LATER = 3.0

#: A contact area narrower than this multiple of the depth can come from two edges.
SLIVER = 3.0

#: Returned instead of a time of impact if the geometries do not touch: NEAR if their gap is small.
NEVER, NEAR = -1.0, -2.0


@inline
def touch_depth(m, g, o):
    """Return the depth at which the normal is computed: FLUSH plus the deflection of the springs.

    The deflection of a spring is at most twice that of a single contact under the tree's weight.
    """
    depth = flush_depth(m) + 2.0 * max(_give(m, g, o), _give(m, o, g))
    half, other = load3(m.geom_half, g), load3(m.geom_half, o)
    thick = max(min(half[0], half[1], half[2]), min(other[0], other[1], other[2]))
    return min(depth, FLUSH_PART * thick) if thick > 0.0 else flush_depth(m)


@inline
def _give(m, g, o):
    """Return the deflection of g's spring under the weight of g's or o's tree, the heavier one."""
    if is_rigid(m, g):
        return 0.0
    body, other = m.body_rootid[m.geom_bodyid[g]], m.body_rootid[m.geom_bodyid[o]]
    mass = max(m.body_subtreemass[body] if body > 0 else 0.0, m.body_subtreemass[other])
    up = (m.opt.gravity[0], m.opt.gravity[1], m.opt.gravity[2])
    gravity, k = np.sqrt(dot3(up, up)), m.geom_stiffness[g]
    if k > 0.0:
        return mass * gravity / k
    t = m.geom_solref[g, 0] * m.geom_solref[g, 1]
    return min(gravity * t * t / SHARE, max(DEEPEST, near(m)))


@inline
def moved_by(p, R, v, w, t):
    """Return the pose p, R after the time t at the velocities v and w."""
    rate = np.sqrt(dot3(w, w))
    if rate * t > 0.0:
        R = mat_mul(turn(scaled3(w, 1.0 / rate), rate * t), R)
    return add_scaled3(p, v, t), R


@inline
def carried_back(x, p, R, q, T):
    """Return where a body at the pose p, R has the point that is at x if its pose is q, T."""
    return add3(p, mat_vec(R, mat_vec(transposed(T), sub3(x, q))))


@inline
def begin_search(way, flush, v):
    """Return the initial state of a search for the time of impact.

    The state is: the tangents (see next_look); the path length in the step; the depth at which the
    search ends; the number of iterations; 1 if the search is over, else 0; the gap and the normal
    at the start; and the normal at the deepest iteration. Both normals are v before the first
    iteration.
    """
    return _first_tangents(np.inf), way, flush, 0.0, 0.0, 0.0, v, v


@inline
def is_still(m, state):
    """Return whether two geometries move so little in the step that no search is needed."""
    return state[1] < still_way(m)


@inline
def looks_of(state):
    """Return the gap and normal at the start, and the normal of the deepest iteration."""
    return state[5], state[6], state[7]


@inline
def goes_on(state):
    """Return whether a search needs one more iteration."""
    return state[4] == 0.0 and state[3] < LOOKS


@inline
def time_of_look(state):
    """Return the time at which a search evaluates the distance next."""
    return state[0][0]


@inline
def look(m, state, dist, rate, normal):
    """Return the state of a search after one iteration.

    Args:
        m: the Model.
        state: the state before the iteration.
        dist: the distance at the time of the iteration, negative inside.
        rate: the closing speed, or an upper bound of this speed while the gap is open.
        normal: the normal at the time of the iteration.
    """
    tangents, way, flush, looks, _over, gap, now, then = state
    if looks == 0.0:
        gap, now = dist, normal
        tangents = _first_tangents(_last_time(m, gap, way, flush))
    looked, before = tangents[0], tangents[2]
    tangents, ends = next_look(tangents, dist, rate, flush)
    if tangents[7] == looked:
        then = normal
    pace, closes = LOOKS * (tangents[0] - looked), dist > 0.0 and rate > 0.0 and looks > 0.0
    if closes and before - dist < before / LOOKS and pace < tangents[4] - looked:
        # too slow: the remaining iterations would not reach the impact, so end the search
        looks = LOOKS - 1.0
    return tangents, way, flush, looks + 1.0, 1.0 if ends else 0.0, gap, now, then


@inline
def _first_tangents(last):
    return 0.0, -1.0, 0.0, 0.0, last, np.inf, 0.0, 0.0, np.inf


@inline
def _last_time(m, gap, way, flush):
    """Return the time at which a search ends.

    The search extends beyond the end of the step until the depth can be FLUSH. For near pairs it
    covers several steps.
    """
    last = m.opt.timestep * (1.0 + 2.0 * flush / way)
    return last / SLOWLY if gap < near(m) else last


@inline
def next_look(tangents, gap, rate, flush):
    """Return the tangents of a gap after an iteration, and whether the search is over.

    Args:
        tangents: the time of the present iteration; the last time before the impact, with its gap
            and its largest closing speed; the same three after the least gap; and the time of the
            least gap found, with this gap.
        gap: the distance at the time of the iteration, negative inside.
        rate: the closing speed, or an upper bound of this speed while the gap is open.
        flush: the depth at which the search ends.
    """
    t, low, gap_low, rate_low, high, gap_high, rate_high, best, least = tangents
    # of equal depths the latest counts
    if gap < least + FLAT * flush and (gap <= 0.0 or least > 0.0):
        best, least = t, gap
    if rate > 0.0:
        low, gap_low, rate_low = t, gap, rate
    else:
        high, gap_high, rate_high = t, gap, rate
    over = gap <= -flush or low < 0.0 or gap == np.inf
    if not over:
        t = low + (gap_low + flush) / rate_low
        if not t < high:
            t = high
            if gap_high < np.inf:  # take the intersection of the two tangents
                t = (gap_low - gap_high + rate_low * low - rate_high * high) / (
                    rate_low - rate_high
                )
        reached = gap_low - rate_low * (t - low)  # a lower bound of the gap between the two times
        over = reached > 0.0 or reached > least - FLAT * flush or not (t > low and t <= high)
    return (t, low, gap_low, rate_low, high, gap_high, rate_high, best, least), over


@inline
def touch_time(m, state):
    """Return the time of impact that a search has found.

    Without an impact it is NEVER, or NEAR if the gap at the start is small.
    """
    tangents = state[0]
    if tangents[8] <= 0.0:
        return tangents[7]
    if state[4] == 0.0:  # the search was ended early
        return tangents[0]
    return NEAR if state[5] < near(m) else NEVER


@inline
def time_of_points(m, state):
    """Return the time for which contact points are computed: the time of impact or the start.

    If the normal of near geometries does not change, the points at the start are used, because
    later points can differ, as for a rolling wheel.
    """
    t, way, gap = touch_time(m, state), state[1], state[5]
    turned = sub3(state[7], state[6])
    alike = way * way * dot3(turned, turned) < still_way(m) * still_way(m)
    return 0.0 if t > 0.0 and gap < near(m) and alike else t


@kernel
def is_sliver(points, number, flush):
    """Return whether all contact points are nearly on one line.

    Then two edges overlap side by side by only `flush`, and the choice of the face is arbitrary.
    """
    first, farthest, most = load3(points, 0), (0.0, 0.0, 0.0), 0.0
    for n in range(1, number):
        way = sub3(load3(points, n), first)
        if dot3(way, way) > most:
            farthest, most = way, dot3(way, way)
    for n in range(1, number):
        aside = cross3(sub3(load3(points, n), first), farthest)
        if dot3(aside, aside) > SLIVER * SLIVER * flush * flush * most:
            return False
    return True


@inline
def gap_before(m, normal, dist, v, t):
    """Return the gap, at the start of its path, of a point that has the gap `dist` at the time t.

    If t is clearly after the step and the point would already be inside at the start (as at the
    side of the next tile), there is no contact yet, and the gap is infinite.
    """
    early = (t - m.opt.timestep) * np.sqrt(dot3(v, v)) > LATER * flush_depth(m)
    before = dist - t * dot3(normal, v)
    return np.inf if early and before < 0.0 else before


@inline
def closing_rate(dist, normal, v, w, lever, radius):
    """Return the closing speed of a rotating geometry, or an upper bound while the gap is open.

    `radius` bounds the geometry around its origin, and `lever` leads from there to the nearest
    point.
    """
    if dist > 0.0:
        across = cross3(normal, w)
        return -dot3(normal, v) + np.sqrt(dot3(across, across)) * radius
    return -dot3(normal, v) - dot3(normal, cross3(w, lever))
