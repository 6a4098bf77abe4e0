# SPDX-License-Identifier: Apache-2.0
"""The contact forces of a step with given accelerations, from the law without a solver.

`inverse` needs these forces. The accelerations determine the velocities at the end of the step.
There the law gives each normal force, and from it the friction. Contacts that begin in the step
because of the accelerations are listed first, unless the list is from the solution of `forward`.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import add_scaled3, load3, store3
from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.contact.law.body_sums import sum_forces
from rbdyn_ros.engine.contact.law.force import friction, has_torque, normal_force
from rbdyn_ros.engine.contact.solve.arcs import follow_arcs
from rbdyn_ros.engine.contact.solve.late_contacts import list_late_contacts
from rbdyn_ros.engine.contact.solve.linearise import torque_at
from rbdyn_ros.engine.contact.solve.passes import moved_contact
from rbdyn_ros.model.declared.contact_arrays import NORMAL


@optional_stage("forces_of_motion_stage")
def _by_address(table, row):
    forces_of_motion(model_at(table), data_at(table, row))


@kernel
def forces_of_motion(m, d):
    """Write the contact forces and their sums for the accelerations qacc. d.a must be set."""
    h = m.opt.timestep
    for k in range(m.nv):
        d.qacc_step[k] = d.qacc[k]
    if d.solved == 0:
        if d.ncon > 0:
            list_late_contacts(m, d)
        follow_arcs(m, d)
    for c in range(d.ncon):
        across, away, turn = moved_contact(d, c, d.a)
        force, _s = normal_force(d, c, d.contact_vel[c, NORMAL] + h * away)
        u = add_scaled3(load3(d.contact_vel, c), across, h)
        rubbing, _s, _t = friction(d, c, u, force)
        store3(d.contact_end, c, rubbing)
        d.contact_end[c, NORMAL] = force
        if has_torque(d, c):
            normal, w = load3(d.contact_normal, c), add_scaled3(load3(d.contact_spin, c), turn, h)
            store3(d.contact_end_torque, c, torque_at(d, c, normal, w, force))
    sum_forces(m, d)
