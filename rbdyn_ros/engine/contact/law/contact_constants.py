# SPDX-License-Identifier: Apache-2.0
"""The constants of a contact in a step: contact_spring and contact_grip, for force.py.

By default a contact is near-rigid: slope = STIFF m / h, where m is the mass that the point moves
(masses.py), and push = slope OUT (-dist) / h, so that a step removes the part OUT of a
penetration. The stiffer the spring, the faster the implicit step damps its oscillations, so a tall
stack comes to rest. surfaces.py combines the surfaces of the two geometries.

If the user has set geom_solref = (t, z), then k = m / (t z)^2 and b = 2 z sqrt(k m), so that a
penetration decays in the time t for robots of any size. t is at least the shortest time that a
step resolves: h / pi, or h / (2 pi) between two moving bodies. k is at least so large that the
spring carries the weight of the tree at the depth DEEPEST. one_sided.py computes the force of a
spring in a step; the bound of the stiffness there depends on geom_mass0 alone.

A contact with restitution e bounces if it closes faster than after four steps of free fall: it
leaves with e times its closing speed, because slope is nearly rigid and push leads to this
velocity. A contact that separates that fast does not press until it closes again with e times its
speed. So with e = 1 and no friction the forces of a step do no work, for any number of contacts.
For friction, see impacts.py.

Source: Castro et al., An unconstrained convex formulation of compliant contact, 2022 (near-rigid
k); MuJoCo's solref; Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988
(restitution).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import dot3, load6, store6
from rbdyn_ros.engine.compiler.jit import inline
from rbdyn_ros.engine.contact.law.force import is_viscous
from rbdyn_ros.engine.contact.law.masses import mass_of_step, masses_of, turning_size
from rbdyn_ros.engine.contact.law.surfaces import (
    grip_of,
    in_series,
    is_rigid,
    restitution_of,
    spring_of,
    springs_tie,
    viscosity_of,
)
from rbdyn_ros.engine.stops.one_sided import late_slopes, spring_in_step
from rbdyn_ros.engine.stops.stop_law import EMERGE
from rbdyn_ros.model.declared.contact_arrays import (
    EDGE,
    IS_SPRING,
    MASS_BY_H,
    MOST_PUSH,
    MU,
    PENALTY,
    PUSH,
    REBOUNDS,
    ROLLING,
    SIZE,
    SLOPE,
    TORSIONAL,
    TURN_PENALTY,
    WIDTH,
    B,
    K,
)

DEEPEST = 1e-3  # largest depth [m] of contacts whose time constant the user has set

#: D, the slope of friction, is STICK m / h.
STICK = 10.0

#: slope = BOUNCE m / h of a contact that bounces.
BOUNCE = 1e4

#: slope = STIFF m / h of a near-rigid contact, and the part OUT of a penetration that is removed
#: in a step.
STIFF, OUT = 3e4, 0.5

#: slope = SOFT m / h of near-rigid contacts in a step that does not converge with STIFF.
SOFT = 30.0

#: Smallest closing speed at which a contact bounces, in steps of free fall.
SLOWEST_BOUNCE = 4.0


@inline
def prepare(m, d, c, leaving, first):
    """Write the constants of contact c for this step: contact_spring and contact_grip.

    `leaving` is the normal velocity, above 0 if the contact opens; `first` is true for the first
    contact of a pair.
    """
    if first:
        _write_constants(m, d, c)
    else:
        _copy_constants(d, c)
    h, spring = m.opt.timestep, d.contact_spring[c]
    if is_viscous(d, c):
        closed = _is_closed(d, c, h * leaving)
        d.contact_grip[c, PENALTY] = viscosity_of(m, d, c) if closed else 0.0
    spring[WIDTH] = 0.0
    if spring[IS_SPRING] > 0.0:
        push, slope, spring[EDGE], spring[WIDTH] = spring_in_step(
            spring[K], spring[B], spring[MASS_BY_H], h, d.contact_dist[c], leaving
        )
    else:
        push, slope = -spring[K] * d.contact_dist[c], spring[B] + h * spring[K]
    if spring[MOST_PUSH] > 0.0:
        push = min(push, spring[MOST_PUSH])
        spring[WIDTH] = 0.0
    spring[PUSH], spring[SLOPE], spring[REBOUNDS] = push, slope, 0.0
    if bounces(m, d, c, leaving):
        rebound(m, d, c, leaving, 1.0)


@inline
def bounces(m, d, c, leaving):
    """Return whether a contact closes so fast that it bounces.

    `leaving` is its normal velocity.
    """
    if restitution_of(m, d, c) == 0.0:
        return False
    return abs(leaving) > SLOWEST_BOUNCE * m.opt.timestep * _gravity(m)


@inline
def rebound(m, d, c, leaving, share):
    """Write the push and slope of a contact that bounces with a share of its restitution."""
    h, e, spring = m.opt.timestep, share * restitution_of(m, d, c), d.contact_spring[c]
    _, free, _ = masses_of(m, d, c)
    spring[SLOPE] = BOUNCE * free / h
    spring[PUSH] = -spring[SLOPE] * e * leaving
    if leaving < 0.0:  # a free mass then leaves with exactly e times its speed
        spring[PUSH] -= (e + 1.0) * leaving * free / h
    spring[WIDTH], spring[REBOUNDS] = 0.0, 1.0


@inline
def _is_closed(d, c, way):
    """Return whether a contact presses or has no gap, now or after the displacement `way`."""
    return d.contact_pressed[c] > 0.0 or d.contact_dist[c] + min(way, 0.0) <= 0.0


@inline
def _copy_constants(d, c):
    """Copy the constants of contact c - 1 that all contacts of a pair share."""
    s, last = d.contact_spring[c], d.contact_spring[c - 1]
    s[K], s[B], s[MASS_BY_H], s[MOST_PUSH], s[IS_SPRING] = (
        last[K], last[B], last[MASS_BY_H], last[MOST_PUSH], last[IS_SPRING],
    )  # fmt: skip
    store6(d.contact_grip, c, load6(d.contact_grip, c - 1))


@inline
def _write_constants(m, d, c):
    """Write contact_grip, and the columns of contact_spring that all contacts of a pair share."""
    h, g = m.opt.timestep, spring_of(m, d, c)
    (mass, _, tree), shortest, by_h = masses_of(m, d, c), _shortest(m, d, c), 1.0 / h
    k, b = _spring(m, g, shortest, mass, tree, by_h)
    geom1, geom2 = d.contact_geom[c]
    if in_series(m, geom1, geom2):
        k, b = _series(m, geom1, geom2, mass)
    elif springs_tie(m, geom1, geom2):
        _, other = _spring(m, geom1 if g == geom2 else geom2, shortest, mass, tree, by_h)
        b = max(b, other)
    spring, slope, mass_by_h = d.contact_spring[c], b + h * k, mass * by_h
    spring[IS_SPRING] = 0.0 if is_rigid(m, g) else 1.0
    if spring[IS_SPRING] > 0.0:
        mass_by_h = mass_of_step(m, d, c) * by_h
        late, beyond = late_slopes(k, b, mass_by_h, h)
        slope = late + beyond
    spring[K], spring[B], spring[MASS_BY_H] = k, b, mass_by_h
    stiff = m.geom_stiffness[g] == 0.0 and m.geom_solref[g, 0] <= shortest
    spring[MOST_PUSH] = EMERGE * slope if stiff else 0.0
    mu, torsional, rolling, size = grip_of(m, d, c)
    if viscosity_of(m, d, c) >= 0.0:
        d.contact_grip[c, MU] = np.inf
    else:
        d.contact_grip[c, PENALTY], d.contact_grip[c, MU] = STICK * mass * by_h, mu
    d.contact_grip[c, TURN_PENALTY] = 0.0
    if torsional > 0.0 or rolling > 0.0:
        size = turning_size(m, d, c, mass, size)
        d.contact_grip[c, TURN_PENALTY] = STICK * mass * size * size * by_h
    d.contact_grip[c, TORSIONAL], d.contact_grip[c, ROLLING] = torsional, rolling
    d.contact_grip[c, SIZE] = size


@inline
def _shortest(m, d, c):
    """Return the shortest time constant that a contact can have in a step."""
    return (1.0 if d.contact_body[c, 0] == 0 else 0.5) * m.opt.timestep / np.pi


@inline
def _spring(m, g, shortest, mass, tree, by_h):
    """Return stiffness and damping of a contact in which the spring of geometry g acts.

    shortest: least time constant; mass: of the contact; tree: of the heaviest tree; by_h: 1 / h.
    """
    h, ratio = m.opt.timestep, m.geom_solref[g, 1]
    k, b = m.geom_stiffness[g], m.geom_damping[g]
    if is_rigid(m, g):
        slope = STIFF * mass * by_h
        return OUT * slope * by_h, (1.0 - OUT) * slope
    if k == 0.0:
        t = max(m.geom_solref[g, 0], shortest)
        k = max(mass / (t * t * ratio * ratio), _least_stiffness(m, tree, h))
    return k, b if b >= 0.0 else 2.0 * ratio * np.sqrt(k * mass)


@inline
def _series(m, geom1, geom2, mass):
    """Return the stiffness and damping of two springs in series, each with a damper in parallel.

    The damper at the spring k1 moves with the share k / k1 of the contact's speed. A damping ratio
    refers to the whole contact: if both ratios are equal, the contact has this ratio.
    """
    k1, k2 = m.geom_stiffness[geom1], m.geom_stiffness[geom2]
    k = 1.0 / (1.0 / k1 + 1.0 / k2)
    critical = 2.0 * np.sqrt(k * mass)
    b1 = _damping_of_share(m, geom1, k / k1, critical)
    return k, b1 + _damping_of_share(m, geom2, k / k2, critical)


@inline
def _damping_of_share(m, g, share, critical):
    """Return the damping that a geometry adds to a contact; share: its share of the deflection."""
    b = m.geom_damping[g]
    return share * share * b if b >= 0.0 else share * m.geom_solref[g, 1] * critical


@inline
def soften(m, d, c):
    """Make a near-rigid contact softer; leave a contact that bounces or is soft unchanged."""
    spring = d.contact_spring[c]
    # the slope of a contact that bounces is a third of the near-rigid slope
    stiff = spring[B] + m.opt.timestep * spring[K]
    if is_rigid(m, spring_of(m, d, c)) and spring[SLOPE] > 0.5 * stiff:
        push, part = spring[PUSH], SOFT / STIFF
        spring[PUSH] = max(part * push, min(push, d.contact_lagged[c, 0]))
        spring[SLOPE] *= part


@inline
def _gravity(m):
    g = (m.opt.gravity[0], m.opt.gravity[1], m.opt.gravity[2])
    return np.sqrt(dot3(g, g))


@inline
def _least_stiffness(m, tree, h):
    """Return the stiffness with which a mass `tree` sinks by max(DEEPEST, 2 g h^2)."""
    g = _gravity(m)
    return tree * g / max(DEEPEST, 2.0 * g * h * h)
