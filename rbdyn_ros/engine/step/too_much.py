# SPDX-License-Identifier: Apache-2.0
"""Detect stiff springs, deep contacts, fast rotations, and velocities that are not finite.

A call of `step` checks springs in joints at its start, and all else after its last timestep.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import dot3, load3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.jcalc import BALL, FREE
from rbdyn_ros.engine.step.passive import NO_TIME
from rbdyn_ros.model.declared.contact_arrays import IS_SPRING, MASS_BY_H, PUSH, REBOUNDS, K
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.options import RK4

#: Warnings, which are summed. FAST and LOST are given only once until a reset.
FAST, LOST, GROWING = 8, 16, 32
STIFF_CONTACT, CRUSHED_CONTACT, STIFF_JOINT, STIFF_LIMIT = 256, 512, 1024, 2048

#: A rigid contact deeper than this [m] is reported.
DEEP = 1e-3

#: A tumbling body is too fast if it rotates by more than this in a step [rad].
TURN_LIMIT = 0.5

#: If the square of a velocity grows by this factor in a step, energy may have doubled.
DOUBLED = 2.0

FREE_CLASS = int(JointClass.FREE)


@kernel
def overloaded_contacts(m, d):
    """Return the sum of the flags STIFF_CONTACT and CRUSHED_CONTACT that any contact has."""
    stiff = crushed = 0
    for c in range(d.ncon):
        normal = load3(d.contact_normal, c)
        force = dot3(normal, load3(d.contact_force, c))
        if d.contact_spring[c, IS_SPRING] > 0.0:
            if force > 0.0 and _is_too_stiff(m, d, c):
                stiff = STIFF_CONTACT
        elif _goes_deeper(d, c, force):
            crushed = CRUSHED_CONTACT
    return stiff + crushed


@inline
def _goes_deeper(d, c, force):
    """Return whether a rigid contact is deep and its force cannot push it out."""
    if d.contact_dist[c] >= -DEEP or force <= d.contact_spring[c, PUSH]:
        return False
    return d.contact_spring[c, REBOUNDS] == 0.0


@inline
def _is_too_stiff(m, d, c):
    """Return whether a contact's stiffness was set by the user and exceeds mass / h^2."""
    if m.opt.timestep * d.contact_spring[c, K] <= d.contact_spring[c, MASS_BY_H]:
        return False
    geom1, geom2 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    given = m.geom_stiffness[geom1] > 0.0 or m.geom_stiffness[geom2] > 0.0
    return given or max(m.geom_solref[geom1, 0], m.geom_solref[geom2, 0]) > NO_TIME


@kernel
def overloaded_joints(m):
    """Return STIFF_JOINT plus STIFF_LIMIT, each only if such a spring exceeds inertia / h^2."""
    h2, spring, limit = m.opt.timestep * m.opt.timestep, 0, 0
    for k in range(m.nv):
        if h2 * m.jnt_stiffness[m.dof_jntid[k]] > m.dof_inertia0[k]:
            spring = STIFF_JOINT
    for j in range(m.njnt):
        t, ratio = m.jnt_solref[j, 0], m.jnt_solref[j, 1]
        if m.jnt_limited[j] and t > NO_TIME and h2 > t * t * ratio * ratio:
            limit = STIFF_LIMIT
    return spring + limit if m.opt.passive else 0


@inline
def too_fast(m, d):
    """Return FAST if a body rotates too fast, LOST if a velocity is not finite, else 0.

    FAST and LOST are returned only for the first time. GROWING is returned if a large velocity has
    grown in the last timestep; `step` then checks the energy.
    """
    return 0 if _is_slow(m, d) else _look_closer(m, d)


@inline
def _is_slow(m, d):
    """Return whether all velocities are finite and far below the limit of fast rotations."""
    most, slow = 0.5 * TURN_LIMIT / m.opt.timestep, True
    for k in range(m.nv):
        slow = slow and abs(d.qvel[k]) < most  # this is also false for NaN
    return slow


@kernel
def _look_closer(m, d):
    """Return the flags of too_fast, found body by body."""
    finite, fastest = True, 0.0
    for k in range(m.nv):
        finite = finite and abs(d.qvel[k]) < np.inf
    for j in range(m.njnt):
        if m.jnt_class[j] == FREE_CLASS and (m.jnt_type[j] == FREE or m.jnt_type[j] == BALL):
            k = m.jnt_dofadr[j] + m.jnt_dofnum[j] - 3
            w = (d.qvel[k], d.qvel[k + 1], d.qvel[k + 2])
            fastest = max(fastest, dot3(w, w))
    if not finite:
        d.nlost = d.nlost + 1
        return LOST if d.nlost == 1 else 0
    if m.opt.timestep * np.sqrt(fastest) > TURN_LIMIT:
        d.nfast = d.nfast + 1
        return (FAST if d.nfast == 1 else 0) + _growing(m, d)
    return _growing(m, d)


@inline
def _growing(m, d):
    h, growing = m.opt.timestep, False
    for k in range(m.nv):
        v = d.qvel[k]
        before = d.rk_qvel[k] if m.opt.integrator_id == RK4 else v - h * d.qacc[k]
        growing = growing or (2.0 * h * abs(v) > TURN_LIMIT and v * v > DOUBLED * before * before)
    return GROWING if growing else 0
