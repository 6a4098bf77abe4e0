"""The force at a contact point: a spring, a damper and friction.

A point at depth p with outward normal velocity v is pushed by k p - b v, never pulled.
Friction is Coulomb's, mu times that force against the sliding, viscous below SLIP_SPEED; or
purely viscous. With (t, z) = geom_solref and the mass that the point moves, m = geom_mass0,
k = m / (t z)^2 and b = 2 z sqrt(k m): a penetration decays in t for robots of any size. But k is
large enough to carry the whole robot at depth DEEPEST, as its weight may rest on a light finger
at its stop, or at the depth of a fall of two steps if that is more.

Source: Kajita et al., Introduction to Humanoid Robotics, section 6.3.4 (the law with viscous
friction); MuJoCo's solref.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.aba import add21, load21, outer21, rigid_inertia, store21
from rbdyn_ros.engine.constraints.wrenches import point_velocity
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import (
    add6,
    add_scaled6,
    cross3,
    dot3,
    load3,
    load6,
    scaled3,
    store3,
    store6,
    sub3,
)

DEEPEST = 1e-3  # [m]

#: Below this sliding speed [m/s] friction is viscous: a body at rest under a load T less than the
#: friction F creeps at SLIP_SPEED T / F. Steps stay stable, as they are implicit.
SLIP_SPEED = 1e-4


@kernel
def touch(m, d, g, o, x, normal, dist):
    """Add the contact force of obstacle o on geometry g at x, at distance `dist` along `normal`.

    A point that would hit the obstacle within the step is braked in the step. The force and its
    rates with time and velocity are added to the sums of the body.
    """
    i, h = m.geom_bodyid[g], m.opt.timestep
    v = point_velocity(m, d, i, x)
    leaving = dot3(normal, v)
    later = dist + h * leaving
    if dist >= 0.0 and later >= 0.0:
        return
    d.nnear = d.nnear + 1
    sliding = sub3(v, scaled3(normal, leaving))
    k, b = _spring(m, g, i, h)
    force = max(0.0, -k * dist - b * leaving) if dist < 0.0 else 0.0
    force_later = max(0.0, -k * later - b * leaving)
    rub = _friction(m, g, o, force, np.sqrt(dot3(sliding, sliding))) if dist < 0.0 else 0.0
    f = sub3(scaled3(normal, force), scaled3(sliding, rub))
    if dist < 0.0:
        _list(m, d, g, o, x, normal, dist, f)

    arm = sub3(x, load3(d.subtree_com, m.body_rootid[i]))
    store6(d.cfrc_contact, i, add6(load6(d.cfrc_contact, i), _wrench(arm, f)))
    W = _wrench(arm, normal)
    rate = add_scaled6(load6(d.contact_rate, i), W, (force_later - force) / h)
    store6(d.contact_rate, i, rate)
    # -df / dv = rub (1 - n n^T) + (b + h k) n n^T; the first is like a mass at the point
    along = b + h * k if force_later > 0.0 else 0.0
    A = add21(rigid_inertia(_point_mass(rub, arm)), outer21(W, along - rub))
    store21(d.contact_slope, i, add21(load21(d.contact_slope, i), A))


@inline
def _spring(m, g, i, h):
    """Return stiffness and damping; a spring faster than two steps would not be resolved."""
    slowest, ratio = m.geom_solref[g, 0], m.geom_solref[g, 1]
    t, mass = max(slowest, 2.0 * h), m.geom_mass0[g]
    k, b = m.geom_stiffness[g], m.geom_damping[g]
    if k == 0.0:
        k = max(mass / (t * t * ratio * ratio), _least_stiffness(m, i, h))
    return k, b if b >= 0.0 else 2.0 * ratio * np.sqrt(k * mass)


@inline
def _least_stiffness(m, i, h):
    """Return the force that carries the weight of the tree of body i."""
    g = (m.opt.gravity[0], m.opt.gravity[1], m.opt.gravity[2])
    strength = np.sqrt(dot3(g, g))
    return m.body_subtreemass[m.body_rootid[i]] * strength / max(DEEPEST, 2.0 * strength * h * h)


@inline
def _friction(m, g, o, force, speed):
    """Return the factor of the sliding velocity in the friction force."""
    if m.geom_viscosity[g] >= 0.0:
        return m.geom_viscosity[g]
    coefficient = min(m.geom_friction[g], m.obstacle_friction[o])
    return coefficient * force / max(speed, SLIP_SPEED)


@inline
def _wrench(arm, f):
    n = cross3(arm, f)
    return n[0], n[1], n[2], f[0], f[1], f[2]


@inline
def _point_mass(mass, r):
    # as cinert
    x, y, z = r
    mx, my, mz = mass * x, mass * y, mass * z
    return (
        my * y + mz * z, mx * x + mz * z, mx * x + my * y, -mx * y, -mx * z, -my * z,
        mx, my, mz, mass,
    )  # fmt: skip


@inline
def _list(m, d, g, o, x, normal, dist, f):
    c = d.ncon
    d.ncon = c + 1
    if c < m.ncontact:
        d.contact_geom[c, 0], d.contact_geom[c, 1] = g, o
        store3(d.contact_pos, c, x)
        store3(d.contact_normal, c, normal)
        d.contact_dist[c] = dist
        store3(d.contact_force, c, f)
