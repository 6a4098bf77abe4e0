# SPDX-License-Identifier: Apache-2.0
"""The force of a contact point as a function of velocity: normal force and friction.

With n the normal, u the velocity of geom2 relative to geom1 at the point, at the end of the step,
u_n along n and u_t across it, w the relative angular velocity:

    f_n = max(0, push - slope u_n), near-rigid: push = -k dist, slope = b + h k
    f_t = the part of (memory - D u_t) within the disc of radius mu f_n
    torques along n (limit: torsional f_n) and across n (limit: rolling f_n) likewise, from w

If the contacts of a pair are the corners of a line or a face, u_t is the velocity of their centre
of pressure, and friction has a third component, against spin: the disc becomes a ball
(patches.py).

The memory is the friction of the step before. A step without slip has u_t = (memory - f_t) / D. So
a body that rests under a constant load does not move, for any D, and a change of load moves the
body by h / D per newton. The radius of the disc uses a lagged normal force (lagged.py), so the
friction of a sliding body never lifts it.

A spring-damper has the force of one_sided.py. In the first and the last step of a contact this
force is not linear in u_n. The constants push, slope, D and mu of a contact in a step are in
contact_spring and contact_grip (contact_constants.py).

Source: Cundall, Strack, A discrete numerical model for granular assemblies, 1979 (memory);
Rockafellar, Monotone operators and the proximal point algorithm, 1976 (why rest is exact).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import ZERO3, dot3, load3, scaled3, sub3
from rbdyn_ros.engine.compiler.jit import inline
from rbdyn_ros.engine.stops.one_sided import at_its_edge
from rbdyn_ros.model.declared.contact_arrays import (
    EDGE,
    MASS_BY_H,
    MU,
    PENALTY,
    PUSH,
    ROLLING,
    SLIP,
    SLOPE,
    TORSIONAL,
    TURN_PENALTY,
    WIDTH,
    K,
)


@inline
def has_torque(d, c):
    """Return whether a contact has torsional or rolling friction."""
    return d.contact_grip[c, TURN_PENALTY] > 0.0


@inline
def is_viscous(d, c):
    """Return whether the friction of a contact is viscous instead of Coulomb friction."""
    return d.contact_grip[c, MU] == np.inf


@inline
def slip_of(slope):
    """Return the unit direction of the slip from a contact's slope; zero without slip."""
    return slope[SLIP], slope[SLIP + 1], slope[SLIP + 2]


@inline
def normal_force(d, c, leaving):
    """Return the normal force of a contact at the normal velocity `leaving`, and -df / du_n."""
    slope = d.contact_spring[c, SLOPE]
    force = d.contact_spring[c, PUSH] - slope * leaving
    if d.contact_spring[c, WIDTH] != 0.0:
        spring = -d.contact_spring[c, K] * d.contact_dist[c]
        past = leaving - d.contact_spring[c, EDGE]
        force, slope = at_its_edge(force, slope, spring, past, d.contact_spring[c, WIDTH])
    return (force, slope) if force > 0.0 else (0.0, 0.0)


@inline
def first_lagged(d, c, leaving):
    """Return a guess of the normal force of a step that starts with the velocity `leaving`.

    The guess is the normal force of the step before. For a new contact it is the load that the
    contact carries plus the force that stops a free mass.
    """
    if d.contact_pressed[c] > 0.0:
        return d.contact_pressed[c]
    slope = d.contact_spring[c, SLOPE]
    stops = slope / (1.0 + slope / d.contact_spring[c, MASS_BY_H])
    return max(0.0, d.contact_spring[c, PUSH] - stops * leaving)


@inline
def project_to_disc(wanted, radius, penalty):
    """Return the projection of `wanted` onto the disc, the slope s, and the unit slip direction t.

    -df / du = s (1 - t t^T) in the plane of the disc, or in space for a ball. Inside the disc t is
    zero, and s is `penalty`; if the radius is zero, s is 0.
    """
    length = np.sqrt(dot3(wanted, wanted))
    if length <= radius:
        return wanted, penalty if radius > 0.0 else 0.0, ZERO3
    share = radius / length
    return scaled3(wanted, share), penalty * share, scaled3(wanted, 1.0 / length)


@inline
def friction(d, c, u, lagged):
    """Return the friction at velocity u for a lagged force, its slope and slip direction."""
    penalty = d.contact_grip[c, PENALTY]
    if is_viscous(d, c):
        return scaled3(u, -penalty), penalty, ZERO3
    wanted = sub3(load3(d.contact_memory, c), scaled3(u, penalty))
    return project_to_disc(wanted, d.contact_grip[c, MU] * lagged, penalty)


@inline
def torsional_torque(d, c, memory, w, normal, lagged):
    """Return the torque of torsional friction at the angular velocity w, and its slope.

    lagged: normal force that bounds the torque.
    """
    penalty, most = d.contact_grip[c, TURN_PENALTY], d.contact_grip[c, TORSIONAL] * lagged
    wanted = dot3(normal, memory) - penalty * dot3(normal, w)
    if abs(wanted) <= most:
        return wanted, penalty if most > 0.0 else 0.0
    return np.copysign(most, wanted), 0.0


@inline
def rolling_torque(d, c, memory, w, normal, lagged):
    """Return the rolling torque at the angular velocity w, its slope and its direction.

    lagged: normal force that bounds the torque.
    """
    penalty = d.contact_grip[c, TURN_PENALTY]
    wanted = sub3(memory, scaled3(w, penalty))
    wanted = sub3(wanted, scaled3(normal, dot3(normal, wanted)))
    return project_to_disc(wanted, d.contact_grip[c, ROLLING] * lagged, penalty)
