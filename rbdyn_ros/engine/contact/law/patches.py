# SPDX-License-Identifier: Apache-2.0
"""Friction of a patch: the contacts of one pair, with one normal, at corners of an area or line.

The normal forces at the corners determine the centre of pressure, and prevent tilting. The
friction of the patch acts at the centre of pressure instead of the corners, and a torque resists
spin. With u_t the velocity of the centre, w_n the spin about the normal and f_n the sum of the
normal forces, friction is in the ball

    |(f_t, torque / radius)| <= mu f_n,  against the velocity (u_t, radius w_n)

The radius is the mean distance of a uniform pressure from its centre: L / 4 for a line, 2 r / 3
for a disc. It is `share` times the distance of the corners: 1/2 for a line, 2/3 - 2/n^2 for a
regular polygon of n corners (with 4 % error), and in between for an elongated area.

Each contact has the same share of the friction as of the normal force. Its friction is a vector
with the torque / radius along the normal. Its velocity is u_t + w_n lever, where u_t is here the
velocity of the contact's own point, and the lever is radius n + n x (centre - point). A single
point has no radius unless its surface has limit_surface: then the radius is torsional / mu.

The pressure of an impact is not uniform: if a contact of a pair closes fast, friction acts at the
contact points. Simulations with this rule agree better with real tosses of a cube
(benchmarks/tosses.py).

Source: Goyal, Ruina, Papadopoulos, Planar sliding with dry friction, 1991 (limit surface); Howe,
Cutkosky, Practical force-motion models for sliding manipulation, 1996 (an ellipsoid).
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
    load9,
    mat_vec,
    scaled3,
    store3,
    sub3,
)
from rbdyn_ros.engine.collision.kinds import CYLINDER
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import of_one_pair
from rbdyn_ros.engine.contact.law.force import first_lagged, is_viscous
from rbdyn_ros.engine.contact.law.surfaces import has_limit_surface
from rbdyn_ros.engine.tree.points import turn_rate
from rbdyn_ros.model.declared.contact_arrays import MU, NORMAL, SIZE, TORSIONAL

#: A contact counts as an impact if it closes faster than this times the timestep [m/s^2].
IMPACT = 20.0

#: Two normals count as equal if their dot product is less than 1 by at most this.
SAME_NORMAL = 1e-8

#: A pair counts as a single point if the sum of the squared forces of its contacts is at least
#: this part of the squared total force: one contact then carries almost the whole force.
ALMOST_ALL = 1.0 - 1e-6

#: Points of a cylinder count as on the rim if their squared distance from the axis exceeds this
#: part of the squared radius. So the midpoints of an octagon's sides count.
ON_RIM = 0.85


@inline
def spread_friction(m, d):
    """Write contact_lever of the contacts in patches; add spin to their velocity and memory."""
    c = 0
    while c < d.ncon:
        end = c + 1
        while end < d.ncon and of_one_pair(d, c, end):
            end += 1
        if end == c + 1:
            if d.contact_grip[c, TORSIONAL] > 0.0 and has_limit_surface(m, d, c):
                _spread_point(d, c, spin_of(d, c))
        elif _is_patch(d, c, end):
            _spread(m, d, c, end)
        c = end


@inline
def spin_of(d, c):
    """Return the angular velocity of geom2, relative to geom1."""
    w = turn_rate(d, d.contact_body[c, 1])
    return sub3(w, turn_rate(d, d.contact_body[c, 0])) if d.contact_body[c, 0] > 0 else w


@inline
def _is_patch(d, first, end):
    """Return whether contacts `first` to `end` - 1 have Coulomb friction and the same normal."""
    if is_viscous(d, first) or d.contact_grip[first, MU] == 0.0:
        return False
    normal = load3(d.contact_normal, first)
    for c in range(first + 1, end):
        if dot3(normal, load3(d.contact_normal, c)) < 1.0 - SAME_NORMAL:
            return False
    return True


@inline
def _spread(m, d, first, end):
    total, squares, moment, fast = 0.0, 0.0, ZERO3, IMPACT * m.opt.timestep
    xx = yy = zz = xy = yz = zx = 0.0
    origin = load3(d.contact_pos, first)
    for c in range(first, end):
        if d.contact_vel[c, NORMAL] < -fast:
            return
        force = first_lagged(d, c, d.contact_vel[c, NORMAL])
        d.contact_lagged[c, 0] = force
        total, squares = total + force, squares + force * force
        x, y, z = sub3(load3(d.contact_pos, c), origin)
        moment = add_scaled3(moment, (x, y, z), force)
        xx, yy, zz = xx + force * x * x, yy + force * y * y, zz + force * z * z
        xy, yz, zx = xy + force * x * y, yz + force * y * z, zx + force * z * x
    if squares >= ALMOST_ALL * total * total:
        return
    by_total = 1.0 / total
    (p, q, r), (x, y, z) = moment, scaled3(moment, by_total)
    centre = add3(origin, (x, y, z))
    # S = sum f r r^T - sum f c c^T, with r from the first contact and c the centre
    spread = (xx - p * x, yy - q * y, zz - r * z, xy - p * y, yz - q * z, zx - r * x)
    radius = _radius(m, d, first, end, spread, by_total, squares * by_total * by_total)
    if radius == 0.0:
        return
    if d.contact_grip[first, TORSIONAL] > 0.0:
        radius += d.contact_grip[first, TORSIONAL] / d.contact_grip[first, MU]
    w = spin_of(d, first)
    for c in range(first, end):
        # the friction of a contact without a normal force acts at its point
        if d.contact_lagged[c, 0] == 0.0:
            continue
        normal = load3(d.contact_normal, c)
        around = cross3(normal, sub3(centre, load3(d.contact_pos, c)))
        _add_spin(d, c, add_scaled3(around, normal, radius), w)


@inline
def _spread_point(d, c, w):
    """Make friction and torsional friction of a single point share a limit surface."""
    mu = d.contact_grip[c, MU]
    if mu > 0.0 and mu < np.inf:
        radius = d.contact_grip[c, TORSIONAL] / mu
        _add_spin(d, c, scaled3(load3(d.contact_normal, c), radius), w)


@inline
def _add_spin(d, c, lever, w):
    """Write the lever of a contact, and add the spin to its velocity and memory."""
    normal = load3(d.contact_normal, c)
    store3(d.contact_lever, c, lever)
    u = add_scaled3(load3(d.contact_vel, c), lever, dot3(normal, w))
    store3(d.contact_vel, c, u)
    spin = dot3(normal, load3(d.contact_memory_torque, c))
    if spin != 0.0:
        spin /= d.contact_grip[c, SIZE]
        store3(d.contact_memory, c, add_scaled3(load3(d.contact_memory, c), normal, spin))
    d.contact_grip[c, TORSIONAL] = 0.0


@inline
def _radius(m, d, first, end, spread, by_total, by_number):
    """Return the radius of a patch: the mean distance of its pressure from its centre.

    by_total is 1 over the sum of the forces, and by_number is 1 over the effective number of
    corners.

    With S = `spread` the second moments of the corners, 4 det S / (trace S)^2 in their plane is 0
    for a line and 1 for a regular polygon.
    """
    xx, yy, zz, xy, yz, zx = spread
    trace = xx + yy + zz
    if trace <= 0.0:
        return 0.0
    det = xx * yy + yy * zz + zz * xx - xy * xy - yz * yz - zx * zx
    square, inside = trace * by_total, _within_rim(m, d, first, end)
    corner = 0.0 if inside > 0.0 else min(by_number, 1.0 / 3.0)
    share = 0.5 + 4.0 * det / (trace * trace) * (1.0 / 6.0 - 2.0 * corner * corner)
    if inside > 0.0:
        square /= inside
    if by_number > 0.5:  # one corner carries most of the force
        square *= 1.0 / by_number - 1.0
    return share * np.sqrt(square)


@inline
def _within_rim(m, d, first, end):
    """Return the contacts' mean squared distance, weighted by force, from the axis of a cylinder.

    It is divided by radius^2. It is 0 without a cylinder, or if a contact is not on its rim.
    """
    inside = 0.0
    for side in range(2):
        g = d.contact_geom[first, side]
        if m.geom_type[g] == CYLINDER:
            inside = max(inside, _within_rim_of(m, d, first, end, side, g))
    return inside


@kernel
def _within_rim_of(m, d, first, end, side, g):
    body = d.contact_body[first, side]
    R, B = load9(d.xmat, body), load9(m.geom_mat, g)
    axis = mat_vec(R, (B[2], B[5], B[8]))
    middle = add3(load3(d.xpos, body), mat_vec(R, load3(m.geom_pos, g)))
    total = forces = 0.0
    rim = m.geom_size[g, 0] * m.geom_size[g, 0]
    for c in range(first, end):
        r = sub3(load3(d.contact_pos, c), middle)
        along, force = dot3(axis, r), d.contact_lagged[c, 0]
        square = dot3(r, r) - along * along
        if square < ON_RIM * rim:
            return 0.0
        total, forces = total + force * square, forces + force
    return total / (forces * rim)
