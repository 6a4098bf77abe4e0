"""The surface of a contact: that of a geometry on an obstacle, a mixture of two links'.

The smaller friction acts, the larger restitution, viscosity, torsional and rolling friction, and
the softer spring: a soft finger stays soft on a hard object.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.jit import inline


@inline
def grip_of(m, d, c):
    """Return viscosity, friction coefficient, torsional and rolling friction, and the size."""
    one, g = d.contact_geom[c, 0], d.contact_geom[c, 1]
    viscosity, mu, size = m.geom_viscosity[g], m.geom_friction[g], m.geom_rbound[g]
    torsional, rolling = m.geom_torsional[g], m.geom_rolling[g]
    if one < m.ngeom:
        viscosity, mu = max(viscosity, m.geom_viscosity[one]), min(mu, m.geom_friction[one])
        torsional = max(torsional, m.geom_torsional[one])
        rolling, size = max(rolling, m.geom_rolling[one]), min(size, m.geom_rbound[one])
    else:
        mu = min(mu, m.obstacle_friction[one - (m.ngeomall - m.nobstacle)])
    return viscosity, mu, torsional, rolling, size


@inline
def restitution_of(m, d, c):
    """Return the part of the closing speed after an impact."""
    one, e = d.contact_geom[c, 0], m.geom_restitution[d.contact_geom[c, 1]]
    if one < m.ngeom:
        e = max(e, m.geom_restitution[one])
    return e


@inline
def spring_of(m, d, c):
    """Return the geometry whose spring acts: of two links the softer one.

    A stiffness in N/m is softer than any time constant.
    """
    one, g = d.contact_geom[c, 0], d.contact_geom[c, 1]
    if one >= m.ngeom:
        return g
    k, other = _stiffness(m, g), _stiffness(m, one)
    if k == other:
        return g if m.geom_solref[g, 0] >= m.geom_solref[one, 0] else one
    return g if k < other else one


@inline
def _stiffness(m, g):
    return m.geom_stiffness[g] if m.geom_stiffness[g] > 0.0 else np.inf
