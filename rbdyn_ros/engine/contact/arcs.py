"""The slip that arcs of bodies add in a step.

A step moves every joint evenly, q' = q + h v', so the relative velocity of the surfaces at a
contact changes on the way by h u'. Friction acts against its mean, u + h/2 u', with

    u' = a + w x s

a is the relative acceleration at constant joint velocities of the two points that touch: a free
body moves along the tangent of its arc, the hand that holds it along the arc. With it alone, what
sticks is still in place at the end of the step. w is the relative angular velocity, and s the
velocity at which a contact that rolls goes on to other points of the surfaces. For a ball on a
plane, s = R w x n and u' = 0.

Only friction needs this. The normal force depends on the distance, so what a step misses does not
add up.

Source: Ryckaert, Ciccotti, Berendsen, Numerical integration of the Cartesian equations of motion
of a system with constraints, 1977 (SHAKE: forces along J(q), constraints satisfied at q');
Montana, The kinematics of contact and grasp, 1988 (s: the curvatures of the surfaces add up).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.collision.kinds import CYLINDER, HFIELD
from rbdyn_ros.engine.contact.body_sums import next_bodies
from rbdyn_ros.engine.contact.law import has_torque
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import (
    ZERO3,
    add3,
    add_scaled3,
    cross3,
    dot3,
    load3,
    load6,
    load9,
    mat_vec,
    scaled3,
    store3,
    sub3,
)

#: Acceleration [m/s^2, rad/s^2, and of (rad/s)^2] below which nothing is added.
STRAIGHT = 1e-12

#: Tilt [rad] of the end of a cylinder below which it does not roll on its rim, but lies.
LIES = 0.05

#: Angle [rad] by which the lowest point of a rim may go on in a step; beyond it, it is anywhere.
FAR = 0.3


@kernel
def follow_arcs(m, d):
    """Add h/2 u' to contact_vel, along the surfaces, and to contact_spin the same of w."""
    c = 0
    while c < d.ncon:
        one, i, end = d.contact_body[c, 0], d.contact_body[c, 1], next_bodies(d, c)
        if not _is_straight(_arc(d, i)) or (one > 0 and not _is_straight(_arc(d, one))):
            _follow(m, d, c, end)
        c = end


@kernel
def _follow(m, d, c, end):
    """Add the arcs' slip to the contacts of one pair of bodies."""
    one, i, half = d.contact_body[c, 0], d.contact_body[c, 1], 0.5 * m.opt.timestep
    arc1, arc2 = _arc(d, one), _arc(d, i)
    w, turning = sub3(arc2[2], arc1[2]), sub3(arc2[1], arc1[1])
    for n in range(c, end):
        normal, a = load3(d.contact_normal, n), _acceleration(arc2, load3(d.contact_arm2, n))
        if one > 0:
            a = sub3(a, _acceleration(arc1, load3(d.contact_arm1, n)))
        a = add3(a, cross3(w, _rolling(m, d, n, normal, cross3(w, normal))))
        a = add_scaled3(a, normal, -dot3(normal, a))
        store3(d.contact_vel, n, add_scaled3(load3(d.contact_vel, n), a, half))
        if has_torque(d, n):
            store3(d.contact_spin, n, add_scaled3(load3(d.contact_spin, n), turning, half))


@inline
def _arc(d, body):
    """Return how a body moves at constant joint velocities, at the com of its tree.

    These are the acceleration there, the angular acceleration and the angular velocity.
    """
    A, V, up = load6(d.cacc_bias, body), load6(d.cvel, body), load6(d.cacc_bias, 0)
    w = (V[0], V[1], V[2])
    a = add3((A[3] - up[3], A[4] - up[4], A[5] - up[5]), cross3(w, (V[3], V[4], V[5])))
    return a, (A[0], A[1], A[2]), w


@inline
def _is_straight(arc):
    """Return whether a body moves on no arc, up to rounding, as at rest."""
    a, turning, w = arc
    return dot3(a, a) + dot3(turning, turning) < STRAIGHT * STRAIGHT and dot3(w, w) < STRAIGHT


@inline
def _acceleration(arc, arm):
    """Return the acceleration of a point of a body."""
    a, turning, w = arc
    return add3(add3(a, cross3(turning, arm)), cross3(w, cross3(w, arm)))


@inline
def _rolling(m, d, c, normal, tilt):
    """Return s of a contact; `tilt` is w x normal.

    On a sphere or the end of a capsule, any other shape counts as flat or as a sphere.
    """
    one, g = d.contact_geom[c, 0], d.contact_geom[c, 1]
    r1, r2 = m.geom_radius[one], m.geom_radius[g]
    if r1 + r2 > 0.0:
        return scaled3(tilt, r1 * r2 / (r1 + r2) if r1 > 0.0 and r2 > 0.0 else r1 + r2)
    side = 1 if m.geom_type[g] == CYLINDER else 0
    rim, body = d.contact_geom[c, side], d.contact_body[c, side]
    if m.geom_type[rim] != CYLINDER:
        return ZERO3
    if one >= m.ngeomlink and m.geom_type[one] > HFIELD:  # its corners touch this obstacle
        return ZERO3
    return _on_rim(m, d, rim, body, normal, tilt)


@inline
def _on_rim(m, d, g, body, normal, tilt):
    """Return s of the lowest point of a cylinder.

    It is opposite to the part of the normal across the axis e. That part turns by tilt . t / sin
    about e, with t = e x n / sin the tangent of the rim and sin the sine of the angle between e
    and n.
    """
    R, B = load9(d.xmat, body), load9(m.geom_mat, g)
    along = cross3(mat_vec(R, (B[2], B[5], B[8])), normal)
    square = dot3(along, along)
    if square < LIES * LIES:
        return ZERO3
    rate = dot3(tilt, along) / square
    if abs(rate) * m.opt.timestep > FAR:
        return ZERO3
    return scaled3(along, rate * m.geom_size[g, 0] / np.sqrt(square))
