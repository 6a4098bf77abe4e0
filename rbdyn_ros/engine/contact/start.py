"""The start of a step: velocities, arms and constants of the contacts.

The constants need the mass of the heaviest of the trees that touch each other, directly or through
others: a light body may carry a heavy one, so its contacts with the world are made for it, too.
"""

from __future__ import annotations

from rbdyn_ros.engine.constraints.wrenches import point_velocity, turn_rate
from rbdyn_ros.engine.contact.body_sums import clear_sums
from rbdyn_ros.engine.contact.law import has_torque, prepare
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import (
    ZERO3,
    add3,
    dot3,
    load3,
    load9,
    mat_vec,
    scaled3,
    store3,
    sub3,
)


@kernel
def start_contacts(m, d):
    """Write the velocities and the constants of the contacts; needs recall."""
    clear_sums(m, d)
    d.nmutual = 0
    for c in range(d.ncon):
        if d.contact_body[c, 0] > 0:
            d.nmutual = d.nmutual + 1
    if d.nmutual > 0:
        _find_heaviest(m, d)
    for c in range(d.ncon):
        one, i, x = d.contact_body[c, 0], d.contact_body[c, 1], load3(d.contact_pos, c)
        v = add3(point_velocity(m, d, i, x), _belts(m, d, c))
        store3(d.contact_arm2, c, sub3(x, load3(d.subtree_com, m.body_rootid[i])))
        if one > 0:
            v = sub3(v, point_velocity(m, d, one, x))
            store3(d.contact_arm1, c, sub3(x, load3(d.subtree_com, m.body_rootid[one])))
        prepare(m, d, c, dot3(load3(d.contact_normal, c), v))
        store3(d.contact_vel, c, v)
        store3(d.contact_force, c, ZERO3)
        store3(d.contact_torque, c, ZERO3)
        if has_torque(d, c):
            w = turn_rate(d, i)
            store3(d.contact_spin, c, sub3(w, turn_rate(d, one)) if one > 0 else w)


@inline
def _belts(m, d, c):
    """Return the velocity of the surface of geom2 relative to that of geom1, moved by belts."""
    return sub3(_belt(m, d, c, 1), _belt(m, d, c, 0))


@inline
def _belt(m, d, c, side):
    """Return the velocity of a geometry's surface relative to its body, along the surface."""
    v = load3(m.geom_velocity, d.contact_geom[c, side])
    if v[0] == 0.0 and v[1] == 0.0 and v[2] == 0.0:
        return ZERO3
    v, normal = mat_vec(load9(d.xmat, d.contact_body[c, side]), v), load3(d.contact_normal, c)
    return sub3(v, scaled3(normal, dot3(normal, v)))


@kernel
def _find_heaviest(m, d):
    """Write body_heaviest at the roots of the trees that touch something."""
    for c in range(d.ncon):
        for side in range(2):
            root = m.body_rootid[d.contact_body[c, side]]
            d.body_heaviest[root] = m.body_subtreemass[root]
    while _spread(m, d, 0, 1) and _spread(m, d, d.ncon - 1, -1):
        pass


@inline
def _spread(m, d, first, step):
    """Pass the larger mass on between all pairs once, in one direction of the list.

    Returns whether one changed: chains are sorted along or against the list, mostly.
    """
    changed = False
    for n in range(d.ncon):
        one, two = d.contact_body[first + step * n]
        if one > 0:
            one, two = m.body_rootid[one], m.body_rootid[two]
            if d.body_heaviest[one] != d.body_heaviest[two]:
                most = max(d.body_heaviest[one], d.body_heaviest[two])
                d.body_heaviest[one] = d.body_heaviest[two] = most
                changed = True
    return changed
