"""The list of contacts: who touches where, in the order of geometries, obstacles and features.

A feature is a number of a contact point within its pair of geometry and obstacle: a corner, the
rank of a point on a rim, an edge cut by a side. It is the same from step to step, so contact_key
finds the contact again in the list of the step before.
"""

from __future__ import annotations

from rbdyn_ros.engine.constraints.wrenches import point_velocity
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import dot3, load3, store3

#: Features of a pair; the corners of a mesh are some of them.
FEATURES = 1 << 24


@kernel
def touch(m, d, g, o, x, normal, dist, feature):
    """List the contact of geometry g with obstacle o at x, at distance `dist` along `normal`.

    A point above the obstacle is listed if it would hit the obstacle within the step. What does
    not fit in the list does not act, and is counted.
    """
    leaving = dot3(normal, point_velocity(m, d, m.geom_bodyid[g], x))
    if dist >= 0.0 and dist + m.opt.timestep * leaving >= 0.0:
        return
    c = d.ncon
    if c == m.ncontact:
        d.ndropped = d.ndropped + 1
        return
    d.ncon = c + 1
    d.contact_geom[c, 0], d.contact_geom[c, 1] = g, o
    d.contact_key[c] = (g * m.nobstacle + o) * FEATURES + feature
    store3(d.contact_pos, c, x)
    store3(d.contact_normal, c, normal)
    d.contact_dist[c] = dist


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
    d.contact_key[a], d.contact_key[b] = d.contact_key[b], d.contact_key[a]
    d.contact_dist[a], d.contact_dist[b] = d.contact_dist[b], d.contact_dist[a]
    x, normal = load3(d.contact_pos, a), load3(d.contact_normal, a)
    store3(d.contact_pos, a, load3(d.contact_pos, b))
    store3(d.contact_normal, a, load3(d.contact_normal, b))
    store3(d.contact_pos, b, x)
    store3(d.contact_normal, b, normal)
