# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations of points on bodies."""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import add3, cross3, load3, load6, sub3
from rbdyn_ros.engine.compiler.jit import inline

#: Two points closer than this [m] have no direction between them.
NO_LENGTH = 1e-12


@inline
def turn_rate(d, body):
    """Return the angular velocity of a body."""
    return d.cvel[body, 0], d.cvel[body, 1], d.cvel[body, 2]


@inline
def point_velocity(m, d, body, x):
    """Return the velocity of the point of a body that is at x in the world."""
    v = load6(d.cvel, body)
    arm = sub3(x, load3(d.subtree_com, m.body_rootid[body]))
    return add3((v[3], v[4], v[5]), cross3((v[0], v[1], v[2]), arm))


@inline
def point_acceleration_bias(m, d, body, x):
    """Return w x v of a point: its acceleration minus the spatial acceleration (RBDA eq 2.48)."""
    return cross3(turn_rate(d, body), point_velocity(m, d, body, x))


@inline
def moved_point(a, arm):
    """Return the linear part of a motion vector at the point displaced by `arm` from its own."""
    return add3((a[3], a[4], a[5]), cross3((a[0], a[1], a[2]), arm))
