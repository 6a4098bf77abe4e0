# SPDX-License-Identifier: Apache-2.0
"""The start of a step: velocities and constants of the contacts."""

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
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import clear_sums, of_one_pair
from rbdyn_ros.engine.contact.law.contact_constants import prepare
from rbdyn_ros.engine.contact.law.force import has_torque
from rbdyn_ros.engine.contact.law.masses import find_heaviest, join_trees
from rbdyn_ros.engine.contact.law.patches import spin_of, spread_friction
from rbdyn_ros.engine.tree.points import moved_point
from rbdyn_ros.model.declared.contact_arrays import NORMAL


@kernel
def start_contacts(m, d):
    """Write the velocities and the constants of the contacts. Call `recall` first."""
    clear_sums(m, d)
    d.nmutual = 0
    for c in range(d.ncon):
        if d.contact_body[c, 0] > 0:
            d.nmutual = d.nmutual + 1
    if m.nloop > 0:
        join_trees(m, d)
    if d.nmutual > 0:
        find_heaviest(m, d)
    belts = False
    for c in range(d.ncon):
        first = c == 0 or not of_one_pair(d, c - 1, c)
        if first:
            belts = _has_belt(m, d, c)
        v, normal = _velocity_of_bodies(m, d, c), load3(d.contact_normal, c)
        if belts:
            v = add3(v, _belts(m, d, c))
        leaving = dot3(normal, v)
        prepare(m, d, c, leaving, first)
        store3(d.contact_vel, c, add_scaled3(v, normal, -leaving))
        d.contact_vel[c, NORMAL] = leaving
        store3(d.contact_lever, c, ZERO3)
        store3(d.contact_force, c, ZERO3)
        store3(d.contact_torque, c, ZERO3)
        if has_torque(d, c):
            store3(d.contact_spin, c, spin_of(d, c))
    spread_friction(m, d)


@inline
def velocity_of(m, d, c):
    """Return the velocity of geom2's surface relative to geom1's, at the start of the step."""
    v = _velocity_of_bodies(m, d, c)
    return add3(v, _belts(m, d, c)) if _has_belt(m, d, c) else v


@inline
def _velocity_of_bodies(m, d, c):
    """Return the velocity of body 2 relative to body 1 at a contact, without belts."""
    body1, body2 = d.contact_body[c, 0], d.contact_body[c, 1]
    v = moved_point(load6(d.cvel, body2), load3(d.contact_arm2, c))
    if body1 == 0:
        return v
    return sub3(v, moved_point(load6(d.cvel, body1), load3(d.contact_arm1, c)))


@inline
def _has_belt(m, d, c):
    """Return whether a surface of a contact is a belt, which moves along its geometry."""
    geom1, geom2 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    one, other = load3(m.geom_velocity, geom1), load3(m.geom_velocity, geom2)
    return dot3(one, one) + dot3(other, other) > 0.0


@inline
def _belts(m, d, c):
    """Return the part of the relative surface velocity at a contact that belts cause."""
    return sub3(_belt(m, d, c, 1), _belt(m, d, c, 0))


@inline
def _belt(m, d, c, side):
    """Return the velocity of a geometry's surface relative to its body, along the surface."""
    v = load3(m.geom_velocity, d.contact_geom[c, side])
    if v[0] == 0.0 and v[1] == 0.0 and v[2] == 0.0:
        return ZERO3
    v, normal = mat_vec(load9(d.xmat, d.contact_body[c, side]), v), load3(d.contact_normal, c)
    return sub3(v, scaled3(normal, dot3(normal, v)))
