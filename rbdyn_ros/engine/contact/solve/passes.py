# SPDX-License-Identifier: Apache-2.0
"""A pass of dynamics with linearised contacts (linearise.py), and the next iterate."""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    ZERO6,
    add_scaled3,
    add_scaled6,
    dot3,
    load3,
    load6,
    scaled6,
    store6,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage
from rbdyn_ros.engine.contact.solve.free_bodies import are_free
from rbdyn_ros.engine.joints.follow import is_driven
from rbdyn_ros.engine.tree.aba import accelerate_step
from rbdyn_ros.engine.tree.points import moved_point
from rbdyn_ros.model.declared.options import IMPLICIT


@kernel
def pass_once(m, d):
    """Write the accelerations of a pass: qacc_step of the dofs and `a` of the bodies."""
    if d.nmutual > 0:
        call_stage(m.coupled_bodies_stage, m, d)
        if not are_free(m, d):
            _spread(m, d)
        return
    accelerate_step(m, d, m.opt.timestep)
    if d.accelerate_stage != 0 or m.opt.integrator_id >= IMPLICIT:
        _spread(m, d)


@kernel
def _spread(m, d):
    store6(d.a, 0, ZERO6)
    for i in range(1, m.nbody):
        a, j = load6(d.a, m.body_parentid[i]), i - 1
        first = m.jnt_dofadr_all[j]
        for k in range(first, first + m.jnt_dofnum[j]):
            if k < m.nv:
                a = add_scaled6(a, load6(d.cdof_all, k), d.qacc_step[k])
            elif not is_driven(m, k):
                follows = m.jnt_mimic_ratio[j] * d.qacc_step[m.jnt_dofadr[j]]
                a = add_scaled6(a, load6(d.cdof_all, k), follows)
        store6(d.a, i, a)


@inline
def moved_contact(d, c, accelerations):
    """Return a contact's acceleration across and along its normal, and angular acceleration."""
    there, turn = relative_acceleration(d, c, accelerations)
    normal = load3(d.contact_normal, c)
    away = dot3(normal, there)
    across = add_scaled3(there, normal, -away)
    return add_scaled3(across, load3(d.contact_lever, c), dot3(normal, turn)), away, turn


@inline
def relative_acceleration(d, c, accelerations):
    """Return the linear and angular acceleration of body 2 relative to body 1 at a contact."""
    a = load6(accelerations, d.contact_body[c, 1])
    there = moved_point(a, load3(d.contact_arm2, c))
    if d.contact_body[c, 0] > 0:
        b = load6(accelerations, d.contact_body[c, 0])
        there = sub3(there, moved_point(b, load3(d.contact_arm1, c)))
        a = add_scaled6(a, b, -1.0)
    return there, (a[0], a[1], a[2])


@kernel
def keep_iterate(m, d):
    """Store the present accelerations as the iterate, in iterate_a and iterate_qacc."""
    for i in range(m.nbody):
        store6(d.iterate_a, i, load6(d.a, i))
    for k in range(m.nv):
        d.iterate_qacc[k] = d.qacc_step[k]


@kernel
def move_iterate(m, d, share):
    """Move iterate_a and iterate_qacc by `share` towards the present accelerations."""
    for i in range(m.nbody):
        kept = scaled6(load6(d.iterate_a, i), 1.0 - share)
        store6(d.iterate_a, i, add_scaled6(kept, load6(d.a, i), share))
    for k in range(m.nv):
        d.iterate_qacc[k] += share * (d.qacc_step[k] - d.iterate_qacc[k])
