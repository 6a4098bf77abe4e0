# SPDX-License-Identifier: Apache-2.0
"""The law of a contact with velocities and forces as unknowns (newton.py).

A contact presses if

    p = f_n - r (u_n - push / slope + f_n / slope)

is positive. It slips if the force f_t + r (u* - u_t), with u* = (memory - f_t) / D, leaves the
disc of radius mu p. This is an augmented Lagrangian: at the solution p is f_n, for any r. The two
values of r, for the normal force and for friction, are in contact_steep. They are 1 / (h w), where
w is the acceleration of the contact point by a unit force, as if nothing else touched the bodies.
With a larger r an iterate's velocity would give too large a force, and contacts would press and
open alternately.

If contacts still alternate, the kinks of the law are smoothed over a force e: max(0, x) becomes (x
+ sqrt(x^2 + 4 e^2)) / 2, both for p and for the part of the force beyond the disc. Then all
contacts press a little, and e is reduced to zero (islands.py).

Source: Alart, Curnier, A mixed formulation for frictional contact problems prone to Newton like
solution methods, 1991; Alart, How to overcome indetermination and interpenetration in granular
systems via nonsmooth contact dynamics, 2014 (the choice of r); Chen, Mangasarian, A class of
smoothing functions for nonlinear and mixed complementarity problems, 1996.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import ZERO3, add_scaled3, dot3, load3, scaled3, sub3
from rbdyn_ros.engine.compiler.jit import inline
from rbdyn_ros.engine.contact.law.force import is_viscous, normal_force
from rbdyn_ros.engine.contact.law.masses import LEAST_MOBILITY, mobility
from rbdyn_ros.model.declared.contact_arrays import MU, PENALTY, PUSH, SLOPE, WIDTH

#: Dofs of a free body.
FREE = 6

#: A shorter force has no direction [N].
TINY = 1e-300


@inline
def write_steep(m, d, c):
    """Write contact_steep: the factors r of a contact, for the normal force and for friction."""
    along1, across1 = _mobilities(m, d, c, 0, load3(d.contact_arm1, c))
    along2, across2 = _mobilities(m, d, c, 1, load3(d.contact_arm2, c))
    h = m.opt.timestep
    d.contact_steep[c, 0] = 1.0 / (h * max(along1 + along2, LEAST_MOBILITY))
    steep = 1.0 / (h * max(across1 + across2, LEAST_MOBILITY))
    d.contact_steep[c, 1] = min(steep, d.contact_grip[c, PENALTY])


@inline
def _mobilities(m, d, c, side, arm):
    """Return the acceleration of one side by a unit force: along the normal, and the mean across.

    For a free body the mean of its moments of inertia is used.
    """
    i = d.contact_body[c, side]
    if i == 0 or m.body_dofnum[i] != FREE or m.body_parentid[i] > 0 or m.body_haschild[i] != 0:
        both = mobility(m, d, c, side)
        return both, both
    inertia = load3(m.body_inertia, i)
    by_turn = 3.0 / max(inertia[0] + inertia[1] + inertia[2], LEAST_MOBILITY)
    away = dot3(load3(d.contact_normal, c), arm)
    aside = dot3(arm, arm) - away * away
    by_mass = 1.0 / m.body_mass[i]
    return by_mass + by_turn * aside, by_mass + by_turn * (away * away + 0.5 * aside)


@inline
def presses_by_law(d, c):
    """Return whether p is the law's force at the velocity, as for springs and soft contacts."""
    return d.contact_spring[c, SLOPE] <= d.contact_steep[c, 0] or d.contact_spring[c, WIDTH] != 0.0


@inline
def pressed(d, c, leaving, force, e):
    """Return p of a contact, which is its normal force at the solution, and the slope of p.

    The slope is the derivative of the smoothed maximum by its argument.
    """
    if presses_by_law(d, c):
        return normal_force(d, c, leaving)[0], 1.0
    ahead = leaving - (d.contact_spring[c, PUSH] - force) / d.contact_spring[c, SLOPE]
    return positive_part(force - d.contact_steep[c, 0] * ahead, e)


@inline
def positive_part(x, e):
    """Return max(0, x), smoothed over e, and its derivative."""
    if e == 0.0:
        return (x, 1.0) if x > 0.0 else (0.0, 0.0)
    root = np.sqrt(x * x + 4.0 * e * e)
    part = 2.0 * e * e / (root - x) if x < 0.0 else 0.5 * (x + root)
    return part, part / root


@inline
def gripped(d, c, u, across, pressing, e):
    """Return the friction for the normal force `pressing`, p, at the velocity u.

    `across` is f_t.
    """
    if is_viscous(d, c):
        return scaled3(u, -d.contact_grip[c, PENALTY])
    wanted, _length, radius, reach, _slips = _disc(d, c, u, across, pressing, e)
    return scaled3(wanted, radius / reach if reach > 0.0 else 0.0)


@inline
def _disc(d, c, u, across, pressing, e):
    """Return the force that the disc bounds, its length, and the radius of the disc.

    Two more results are the reach, which is the smoothed maximum of length and radius, and its
    derivative by the length. Friction is the force times radius / reach.
    """
    mu, share = d.contact_grip[c, MU], d.contact_steep[c, 1] / d.contact_grip[c, PENALTY]
    wanted = add_scaled3(load3(d.contact_memory, c), u, -d.contact_grip[c, PENALTY])
    wanted = add_scaled3(across, sub3(wanted, across), share)
    length, radius = np.sqrt(dot3(wanted, wanted)), mu * pressing
    beyond, slips = positive_part(length - radius, mu * e)
    return wanted, length, radius, radius + beyond, slips


@inline
def grip_slopes(d, c, u, across, pressing, e):
    """Return the derivatives of Coulomb friction f by the velocity u and the normal force p.

    Returns a, k, t, rate and f: t is the direction of the slip, -a the derivative across t by u,
    -k the derivative along t by u, and rate the derivative along t by p.
    """
    wanted, length, radius, reach, slips = _disc(d, c, u, across, pressing, e)
    if reach == 0.0:
        return 0.0, 0.0, ZERO3, 0.0, 0.0
    penalty, t = d.contact_grip[c, PENALTY], scaled3(wanted, 1.0 / max(length, TINY))
    share, part = d.contact_steep[c, 1] / penalty, radius / reach
    along = part - length * radius * slips / (reach * reach)
    rate = d.contact_grip[c, MU] * length * (reach - radius * (1.0 - slips)) / (reach * reach)
    rest, left = 1.0 - (1.0 - share) * along, dot3(t, across)
    a = penalty * share * part / (1.0 - (1.0 - share) * part)
    force = left + (part * length - left) / rest
    return a, penalty * share * along / rest, t, rate / rest, force


@inline
def misses(d, c, u, leaving, across, force, e):
    """Return the squared error of a contact's forces against the law, divided by r."""
    pressing, _slope = pressed(d, c, leaving, force, e)
    missed = (force - pressing) * (force - pressing) / d.contact_steep[c, 0]
    if is_viscous(d, c):
        return missed
    f = sub3(across, gripped(d, c, u, across, pressing, e))
    return missed + dot3(f, f) / d.contact_steep[c, 1]
