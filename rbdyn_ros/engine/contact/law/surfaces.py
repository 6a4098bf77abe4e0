# SPDX-License-Identifier: Apache-2.0
"""The surface of a contact: a combination of the surfaces of its two geometries.

A contact has the smaller friction coefficient of the two geometries, and the larger restitution,
viscosity, torsional and rolling friction. Two springs in N/m act in series. Otherwise the softer
spring acts, so that a soft finger stays soft on a hard object. If two time constants are equal,
the larger damping acts. Obstacles are near-rigid. If an obstacle has no friction coefficient, the
coefficient of the other geometry acts.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.compiler.jit import inline

#: geom_solref of a near-rigid contact, the default.
DEFAULT_SOLREF = (1e-6, 1.0)


@inline
def grip_of(m, d, c):
    """Return the friction coefficient, torsional and rolling friction, and smaller rbound."""
    geom1, geom2 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    mu = min(m.geom_friction[geom2], m.geom_friction[geom1])
    torsional = max(m.geom_torsional[geom2], m.geom_torsional[geom1])
    rolling = max(m.geom_rolling[geom2], m.geom_rolling[geom1])
    size, other = m.geom_rbound[geom2], m.geom_rbound[geom1]
    if other > 0.0:  # a plane has no size
        size = min(size, other)
    return mu, torsional, rolling, size


@inline
def viscosity_of(m, d, c):
    """Return the coefficient of viscous friction; it is negative if friction is not viscous."""
    geom1, geom2 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    return max(m.geom_viscosity[geom2], m.geom_viscosity[geom1])


@inline
def has_limit_surface(m, d, c):
    """Return whether friction and torsional friction of a single point share a limit surface."""
    geom1, geom2 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    return m.geom_limitsurface[geom1] + m.geom_limitsurface[geom2] > 0


@inline
def restitution_of(m, d, c):
    """Return the coefficient of restitution: the speed after an impact over the closing speed."""
    geom1, geom2 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    return max(m.geom_restitution[geom1], m.geom_restitution[geom2])


@inline
def spring_of(m, d, c):
    """Return the geometry of a contact that has the softer spring.

    A stiffness in N/m counts as softer than any time constant, and a time constant as softer than
    a near-rigid geometry.
    """
    geom1, geom2 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    k, other = _stiffness(m, geom2), _stiffness(m, geom1)
    if k != other:
        return geom2 if k < other else geom1
    if is_rigid(m, geom1) != is_rigid(m, geom2):
        return geom2 if is_rigid(m, geom1) else geom1
    if springs_tie(m, geom1, geom2):
        return geom2 if m.geom_solref[geom2, 1] >= m.geom_solref[geom1, 1] else geom1
    return geom2 if m.geom_solref[geom2, 0] >= m.geom_solref[geom1, 0] else geom1


@inline
def in_series(m, geom1, geom2):
    """Return whether both geometries have a stiffness in N/m."""
    return m.geom_stiffness[geom1] > 0.0 and m.geom_stiffness[geom2] > 0.0


@inline
def springs_tie(m, geom1, geom2):
    """Return whether two geometries have equal time constants; the larger damping then acts."""
    if is_rigid(m, geom1) or is_rigid(m, geom2):
        return False
    same = _stiffness(m, geom1) == np.inf and _stiffness(m, geom2) == np.inf
    return same and m.geom_solref[geom1, 0] == m.geom_solref[geom2, 0]


@inline
def is_rigid(m, g):
    """Return whether a geometry has no spring of its own."""
    t, ratio = m.geom_solref[g, 0], m.geom_solref[g, 1]
    own = t > DEFAULT_SOLREF[0] or ratio != DEFAULT_SOLREF[1]
    return m.geom_stiffness[g] == 0.0 and m.geom_damping[g] < 0.0 and not own


@inline
def _stiffness(m, g):
    return m.geom_stiffness[g] if m.geom_stiffness[g] > 0.0 else np.inf
