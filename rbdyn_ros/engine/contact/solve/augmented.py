# SPDX-License-Identifier: Apache-2.0
"""The law of a contact with velocities and forces as unknowns (newton.py).

A contact presses if

    p = f_n - r (u_n - push / slope + f_n / slope)

is positive, and slips if the force f_t + r (u* - u_t), with u* = (memory - f_t) / D, leaves the
disc of the radius mu p: an augmented Lagrangian. At the solution p is f_n, for any r. These r are
in contact_steep, for the normal force and for friction: 1 / (h w), where w is the acceleration
that a unit force gives its own point, as if nothing else touched its bodies. A larger r turns the
velocity of an iterate into too large a force, and contacts press and slip in turns.

Source: Alart, Curnier, A mixed formulation for frictional contact problems prone to Newton like
solution methods, 1991; Alart, How to overcome indetermination and interpenetration in granular
systems via nonsmooth contact dynamics, 2014 (the choice of r).
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import add_scaled3, dot3, load3, sub3
from rbdyn_ros.engine.compiler.jit import inline
from rbdyn_ros.engine.contact.law.force import friction, is_viscous, normal_force, project_to_disc
from rbdyn_ros.engine.contact.law.masses import LEAST_MOBILITY, mobility
from rbdyn_ros.model.declared.contact_arrays import MU, PENALTY, PUSH, SLOPE, WIDTH

#: Dofs of a free body.
FREE = 6


@inline
def write_steep(m, d, c):
    """Write contact_steep."""
    along1, across1 = _mobilities(m, d, c, 0, load3(d.contact_arm1, c))
    along2, across2 = _mobilities(m, d, c, 1, load3(d.contact_arm2, c))
    h = m.opt.timestep
    d.contact_steep[c, 0] = 1.0 / (h * max(along1 + along2, LEAST_MOBILITY))
    steep = 1.0 / (h * max(across1 + across2, LEAST_MOBILITY))
    d.contact_steep[c, 1] = min(steep, d.contact_grip[c, PENALTY])


@inline
def soften_steep(d, c):
    """Halve contact_steep: another r may allow longer steps."""
    d.contact_steep[c, 0] *= 0.5
    d.contact_steep[c, 1] *= 0.5


@inline
def _mobilities(m, d, c, side, arm):
    """Return the acceleration by a unit force along the normal, and its mean across the normal.

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
def pressed(d, c, leaving, force):
    """Return p of a contact: the normal force of the law at the solution."""
    slope, steep = d.contact_spring[c, SLOPE], d.contact_steep[c, 0]
    if slope <= steep or d.contact_spring[c, WIDTH] != 0.0:
        return normal_force(d, c, leaving)[0]
    ahead = leaving - (d.contact_spring[c, PUSH] - force) / slope
    return max(0.0, force - steep * ahead)


@inline
def gripped(d, c, u, across, pressing):
    """Return the friction of p at the velocity u, its slope and slip, see project_to_disc.

    `across` is f_t. With r = D the results depend on the velocity alone.
    """
    if is_viscous(d, c):
        return friction(d, c, u, pressing)
    penalty = d.contact_grip[c, PENALTY]
    share = d.contact_steep[c, 1] / penalty
    wanted = add_scaled3(load3(d.contact_memory, c), u, -penalty)
    wanted = add_scaled3(across, sub3(wanted, across), share)
    f, part, slip = project_to_disc(wanted, d.contact_grip[c, MU] * pressing, 1.0)
    return f, penalty * share * part / (1.0 - (1.0 - share) * part), slip


@inline
def misses(d, c, u, leaving, across, force):
    """Return the squared difference of a contact's forces from the forces of the law, over r."""
    pressing = pressed(d, c, leaving, force)
    missed = (force - pressing) * (force - pressing) / d.contact_steep[c, 0]
    if is_viscous(d, c):
        return missed
    f, _s, _t = gripped(d, c, u, across, pressing)
    f = sub3(across, f)
    return missed + dot3(f, f) / d.contact_steep[c, 1]
