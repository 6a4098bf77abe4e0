"""The surface of a contact: a mixture of those of its two geometries.

The smaller friction acts, the larger restitution, viscosity, torsional and rolling friction, and
the softer spring: a soft finger stays soft on a hard object. Of two equally soft springs the
larger damping acts. Obstacles are near-rigid, and without friction of its own an obstacle has
infinite friction: the geometry on it decides.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.jit import inline

#: geom_solref of a near-rigid contact, the default.
DEFAULT_SOLREF = (1e-6, 1.0)


@inline
def grip_of(m, d, c):
    """Return the friction coefficient, torsional and rolling friction, and the size."""
    one, g = d.contact_geom[c, 0], d.contact_geom[c, 1]
    mu = min(m.geom_friction[g], m.geom_friction[one])
    torsional = max(m.geom_torsional[g], m.geom_torsional[one])
    rolling = max(m.geom_rolling[g], m.geom_rolling[one])
    size, other = m.geom_rbound[g], m.geom_rbound[one]
    if other > 0.0:  # a plane has none
        size = min(size, other)
    return mu, torsional, rolling, size


@inline
def viscosity_of(m, d, c):
    """Return the coefficient of viscous friction, negative without."""
    one, g = d.contact_geom[c, 0], d.contact_geom[c, 1]
    return max(m.geom_viscosity[g], m.geom_viscosity[one])


@inline
def restitution_of(m, d, c):
    """Return the part of the closing speed after an impact."""
    one, g = d.contact_geom[c, 0], d.contact_geom[c, 1]
    return max(m.geom_restitution[one], m.geom_restitution[g])


@inline
def spring_of(m, d, c):
    """Return the geometry whose spring acts: the softer one.

    A stiffness in N/m is softer than any time constant, and that than a near-rigid geometry.
    """
    one, g = d.contact_geom[c, 0], d.contact_geom[c, 1]
    k, other = _stiffness(m, g), _stiffness(m, one)
    if k != other:
        return g if k < other else one
    if is_rigid(m, one) != is_rigid(m, g):
        return g if is_rigid(m, one) else one
    if springs_tie(m, one, g):
        return g if m.geom_solref[g, 1] >= m.geom_solref[one, 1] else one
    return g if m.geom_solref[g, 0] >= m.geom_solref[one, 0] else one


@inline
def springs_tie(m, g, h):
    """Return whether two geometries have equally soft springs; the larger damping then acts."""
    k = _stiffness(m, g)
    if is_rigid(m, g) or is_rigid(m, h) or k != _stiffness(m, h):
        return False
    return k < np.inf or m.geom_solref[g, 0] == m.geom_solref[h, 0]


@inline
def is_rigid(m, g):
    """Return whether a geometry has no spring of its own."""
    t, ratio = m.geom_solref[g, 0], m.geom_solref[g, 1]
    own = t > DEFAULT_SOLREF[0] or ratio != DEFAULT_SOLREF[1]
    return m.geom_stiffness[g] == 0.0 and m.geom_damping[g] < 0.0 and not own


@inline
def _stiffness(m, g):
    return m.geom_stiffness[g] if m.geom_stiffness[g] > 0.0 else np.inf
