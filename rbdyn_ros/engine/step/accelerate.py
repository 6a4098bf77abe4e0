# SPDX-License-Identifier: Apache-2.0
"""The acceleration of the next timestep and the forces that act in it.

Forces of contact, dry friction, limits, constraints, drives and implicit damping depend on the
velocity at the end of the step, so the acceleration and these forces are solved for together.
`forward` and `step` call the same kernels, and `inverse` evaluates the same law for a given qacc.
Only `step` writes the memory of friction (integrate.py), so a second call of `forward` gives the
same result.

There is one exception: if a Model has constraints, but no contact, joint friction or limits act,
qacc satisfies K qacc = k, while a step uses half of k and removes the velocity error
(integrate.py).
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage
from rbdyn_ros.engine.joints.follow import follow_acceleration
from rbdyn_ros.engine.stops.stop_law import exact_stops
from rbdyn_ros.engine.stops.stop_pieces import passes_a_stop, stops_at_end
from rbdyn_ros.engine.tree.aba import accelerate_step, articulated
from rbdyn_ros.engine.tree.flight import fly, is_single, start_flight
from rbdyn_ros.model.declared.contact_arrays import AT_START
from rbdyn_ros.model.declared.options import IMPLICIT, IMPLICIT_DAMPING


@kernel
def find_contacts(m, d):
    """List the contacts of a step. Call `com_vel` first."""
    if m.ncontact > 0:
        d.contact_phase[0] = AT_START
        d.solved = 0
        call_stage(m.contact_stage, m, d)


@kernel
def keep_solved_state(m, d):
    """Store the state for which the list of contacts was completed, see solved_here."""
    if m.ncontact > 0:
        d.solved, d.rk_time[0] = 1, d.time
        for k in range(m.nq):
            d.rk_qpos[k] = d.qpos[k]
        for k in range(m.nv):
            d.rk_qvel[k] = d.qvel[k]


@kernel
def solved_here(m, d):
    """Return whether the list holds the contacts that forward found at this state.

    Contacts that begin within a step because of its forces are listed during the solution, so only
    `forward` finds all contacts.
    """
    same = d.solved == 1 and d.rk_time[0] == d.time
    for k in range(m.nq):
        same = same and d.rk_qpos[k] == d.qpos[k]
    for k in range(m.nv):
        same = same and d.rk_qvel[k] == d.qvel[k]
    return same and _is_list(m, d)


@kernel
def _is_list(m, d):
    """Return whether the list of contacts has valid numbers; a user may have set others."""
    if d.ncon < 0 or d.ncon > m.ncontact:
        return False
    valid = True
    for c in range(d.ncon):
        for side in range(2):
            geom, body = d.contact_geom[c, side], d.contact_body[c, side]
            valid = valid and 0 <= geom < m.ngeom and 0 <= body < m.nbody
    return valid


@inline
def solves(m, d):
    """Return whether the step solves for forces of contact, dry friction or joint limits."""
    return d.nstopped > 0 or (m.ncontact > 0 and d.ncon > 0)


@kernel
def accelerate(m, d, tries):
    """Write qacc_step, the acceleration of a step, and the forces in it.

    Call `smooth_stages` first.

    `tries` is true if the integrator rk4 uses trial states in this step.
    """
    h = m.opt.timestep
    d.efc_rate[0] = 1.0 / h  # the step then removes the velocity error too
    if m.nflight + m.nflighttree > 0:
        start_flight(m, d, h, tries)
    if m.ncontact > 0 and d.ncon > 0:
        call_stage(m.solve_step_stage, m, d)
    elif d.nstopped > 0:
        call_stage(m.opt.stop_stage, m, d)
    else:
        accelerate_step(m, d, h)
        if exact_stops(m, d) and passes_a_stop(m, d):
            call_stage(m.opt.stop_stage, m, d)
    d.efc_rate[0] = 0.0
    if m.nflight > 0:
        fly(m, d, h)


@kernel
def write_acceleration(m, d):
    """Write qacc and the forces of contacts, damping and constraints that act in the step.

    Call `accelerate` first.
    """
    for k in range(m.nv):
        d.qacc[k] = d.qacc_step[k]
    if m.nefc > 0 and not solves(m, d):
        _satisfy_constraints(m, d)
    if m.nmimic > 0:
        follow_acceleration(m, d)
    sum_contacts(m, d)
    damp_at_end(m, d)
    if d.report_stage != 0:
        call_stage(d.report_stage, m, d)


@kernel
def _satisfy_constraints(m, d):
    """Write qacc with K qacc = k; qacc_step keeps the acceleration of the step."""
    articulated(m, d, m.opt.timestep, 1.0, d.efc_shift)
    for k in range(m.nv):
        d.qacc_step[k] = d.qacc[k]
        if not is_single(m, d, m.dof_bodyid[k]):  # bodies in flight are in no loop
            d.qacc[k] = d.efc_shift[k]


@kernel
def sum_contacts(m, d):
    """Write the forces of the contacts of the last solution, and their sums."""
    if m.ncontact > 0:
        call_stage(m.sum_forces_stage, m, d)


@kernel
def damp_at_end(m, d):
    """Compute the damping in qfrc_passive again, with the velocity at the end of the step."""
    d.damped = 1
    if m.opt.integrator_id == IMPLICIT_DAMPING or m.opt.integrator_id >= IMPLICIT:
        for k in range(m.nv):
            d.qfrc_passive[k] -= m.opt.timestep * d.dof_viscosity[k] * d.qacc[k]


@kernel
def forces_at_qacc(m, d):
    """Write the forces that the law gives in a step with the acceleration qacc.

    Call `velocity_stages` first. For contact, d.a must be set.
    """
    if exact_stops(m, d):
        stops_at_end(m, d)
    damp_at_end(m, d)
    if m.ncontact > 0:
        call_stage(m.forces_of_motion_stage, m, d)
