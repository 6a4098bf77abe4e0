# SPDX-License-Identifier: Apache-2.0
"""Spring-dampers between two points."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    add6,
    add_scaled6,
    cross3,
    dot3,
    load3,
    load6,
    load9,
    mat_vec,
    scaled3,
    store6,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel, select
from rbdyn_ros.engine.tree.loads import push, relieve_drives
from rbdyn_ros.engine.tree.points import NO_LENGTH, point_velocity


@kernel
def spring_forces(m, d):
    """Add J^T f of every spring-damper to qfrc_passive. Call `com_vel` first.

    The force along the line between the ends is k (l - l0) + c dl/dt.
    """
    for n in range(m.nspring):
        body1, body2 = m.spring_bodyid[n, 0], m.spring_bodyid[n, 1]
        p1, p2, f = _pull(m, d, n)
        push(m, d, body1, _wrench(m, d, body1, p1, f), d.qfrc_passive)
        push(m, d, body2, _wrench(m, d, body2, p2, scaled3(f, -1.0)), d.qfrc_passive)


@kernel
def spring_wrenches(m, d, wrenches):
    """Subtract the forces of spring-dampers on bodies from wrenches (nbody, 6)."""
    for n in range(m.nspring):
        body1, body2 = m.spring_bodyid[n, 0], m.spring_bodyid[n, 1]
        p1, p2, f = _pull(m, d, n)
        first, second = _wrench(m, d, body1, p1, f), _wrench(m, d, body2, p2, f)
        store6(wrenches, body1, add_scaled6(load6(wrenches, body1), first, -1.0))
        store6(wrenches, body2, add6(load6(wrenches, body2), second))


@kernel
def spring_loads(m, d):
    """Subtract the contribution of spring-dampers from qfrc_driven."""
    for n in range(m.nspring):
        body1, body2 = m.spring_bodyid[n, 0], m.spring_bodyid[n, 1]
        p1, p2, f = _pull(m, d, n)
        relieve_drives(m, d, body1, _wrench(m, d, body1, p1, f))
        relieve_drives(m, d, body2, _wrench(m, d, body2, p2, scaled3(f, -1.0)))


@inline
def _pull(m, d, n):
    """Return both ends of a spring-damper and the force on the first end."""
    p1, p2 = _end(m, d, n, 0), _end(m, d, n, 1)
    line, length = _between(p1, p2)
    v1 = point_velocity(m, d, m.spring_bodyid[n, 0], p1)
    v2 = point_velocity(m, d, m.spring_bodyid[n, 1], p2)
    rate = dot3(line, sub3(v2, v1))
    pull = m.spring_stiffness[n] * (length - m.spring_length[n]) + m.spring_damping[n] * rate
    return p1, p2, scaled3(line, pull)


@kernel
def spring_energy(m, d):
    """Return the energy k (l - l0)^2 / 2 of all spring-dampers [J]. Call `kinematics` first."""
    total = 0.0
    for n in range(m.nspring):
        _, length = _between(_end(m, d, n, 0), _end(m, d, n, 1))
        stretch = length - m.spring_length[n]
        total += 0.5 * m.spring_stiffness[n] * stretch * stretch
    return total


@inline
def _end(m, d, n, side):
    point = m.spring_pos[n, side]
    body = m.spring_bodyid[n, side]
    return add3(load3(d.xpos, body), mat_vec(load9(d.xmat, body), (point[0], point[1], point[2])))


@inline
def _between(p1, p2):
    """Return the direction from p1 to p2, zero if the points coincide, and the distance."""
    r = sub3(p2, p1)
    length = np.sqrt(dot3(r, r))
    apart = length > NO_LENGTH
    return scaled3(r, select(apart, 1.0 / select(apart, length, 1.0), 0.0)), length


@inline
def _wrench(m, d, body, p, f):
    # [arm x f; f]
    n = cross3(sub3(p, load3(d.subtree_com, m.body_rootid[body])), f)
    return n[0], n[1], n[2], f[0], f[1], f[2]
