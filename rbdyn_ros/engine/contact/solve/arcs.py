# SPDX-License-Identifier: Apache-2.0
"""The slip that arises in a step because bodies move on arcs instead of straight lines.

A step moves every joint at a constant velocity, q' = q + h v'. The relative velocity of the
surfaces at a contact nevertheless changes by h u' during the step. Friction acts against its mean,
u + h/2 u', with

    u' = a + w x s

a is the relative acceleration of the two points in contact at constant joint velocities: a free
body moves along a tangent, but the hand that holds it moves along an arc. With this term sticking
bodies do not slip in the step. w is the relative angular velocity, and s the velocity of the
contact point over the two surfaces (rolling.py). For a ball on a plane, s = R w x n and u' = 0.

Only friction needs this correction: the normal force depends on the distance, so its errors do not
accumulate.

Source: Ryckaert, Ciccotti, Berendsen, Numerical integration of the Cartesian equations of motion
of a system with constraints, 1977 (SHAKE: forces along J(q), constraints satisfied at q').
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    add_scaled3,
    cross3,
    dot3,
    load3,
    load6,
    store3,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import next_bodies
from rbdyn_ros.engine.contact.law.force import has_torque
from rbdyn_ros.engine.contact.solve.rolling import rolling
from rbdyn_ros.engine.tree.flight import is_single

#: Smaller accelerations count as zero [m/s^2, rad/s^2, and (rad/s)^2].
STRAIGHT = 1e-12


@kernel
def follow_arcs(m, d):
    """Add h/2 u' across the normal to contact_vel, and half the change of w to contact_spin."""
    c = 0
    while c < d.ncon:
        body1, body2, end = d.contact_body[c, 0], d.contact_body[c, 1], next_bodies(d, c)
        if not _is_straight(_arc(m, d, body2)) or (
            body1 > 0 and not _is_straight(_arc(m, d, body1))
        ):
            _follow(m, d, c, end)
        c = end


@kernel
def _follow(m, d, c, end):
    """Add the arcs' slip to the contacts of one pair of bodies."""
    body1, body2, half = d.contact_body[c, 0], d.contact_body[c, 1], 0.5 * m.opt.timestep
    arc1, arc2 = _arc(m, d, body1), _arc(m, d, body2)
    w, turning = sub3(arc2[2], arc1[2]), sub3(arc2[1], arc1[1])
    for n in range(c, end):
        normal, lever = load3(d.contact_normal, n), load3(d.contact_lever, n)
        shift = cross3(lever, normal)  # from the contact point to the point at which friction acts
        a = _acceleration(arc2, add3(load3(d.contact_arm2, n), shift))
        if body1 > 0:
            a = sub3(a, _acceleration(arc1, add3(load3(d.contact_arm1, n), shift)))
        a = add3(a, cross3(w, rolling(m, d, n, normal, cross3(w, normal))))
        spin = dot3(lever, normal) * dot3(normal, turning)
        a = add_scaled3(a, normal, spin - dot3(normal, a))
        store3(d.contact_vel, n, add_scaled3(load3(d.contact_vel, n), a, half))
        if has_torque(d, n):
            store3(d.contact_spin, n, add_scaled3(load3(d.contact_spin, n), turning, half))


@inline
def _arc(m, d, body):
    """Return the motion of a body at constant joint velocities, at the com of its tree.

    Returns the acceleration of that point, the angular acceleration and the angular velocity.
    """
    A, V, up = load6(d.cacc_bias, body), load6(d.cvel, body), load6(d.cacc_bias, 0)
    w = (V[0], V[1], V[2])
    a = add3((A[3] - up[3], A[4] - up[4], A[5] - up[5]), cross3(w, (V[3], V[4], V[5])))
    if is_single(m, d, body):
        a = ZERO3  # the centre of mass of a single free body moves along a straight line
    return a, (A[0], A[1], A[2]), w


@inline
def _is_straight(arc):
    """Return whether a body with this _arc is at rest or moves straight, up to rounding."""
    a, turning, w = arc
    return dot3(a, a) + dot3(turning, turning) < STRAIGHT * STRAIGHT and dot3(w, w) < STRAIGHT


@inline
def _acceleration(arc, arm):
    """Return the acceleration of a body's point at `arm`; `arc` is the result of _arc."""
    a, turning, w = arc
    return add3(add3(a, cross3(turning, arm)), cross3(w, cross3(w, arm)))
