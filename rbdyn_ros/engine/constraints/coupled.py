# SPDX-License-Identifier: Apache-2.0
"""Accelerations with mimic joints, constraints and drive modes, by M = L^T D L.

M already includes mimic joints (crb.py). Dofs with a prescribed acceleration are eliminated from
M, and constraints correct the solution in the metric of M (project.py). Damping is implicit if the
integrator is.

Source: RBDA eq 3.17, 3.20, section 6.5; section 9.1 (hybrid dynamics).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import dot6, load6, store6
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage, data_at, model_at, optional_stage
from rbdyn_ros.engine.constraints.project import bend, respond
from rbdyn_ros.engine.tree.aba import applied_bias, implicit_damping
from rbdyn_ros.engine.tree.contact_damping import add_contact_slopes
from rbdyn_ros.engine.tree.crb import factor, half_solve, mul_triangle, other_half
from rbdyn_ros.engine.tree.loads import reflect, sum_subtrees
from rbdyn_ros.engine.tree.stiffen import add_stops
from rbdyn_ros.model.declared.options import ACCELERATION, FORCE, IMPLICIT, POSITION, VELOCITY

#: Largest displacement in one step that corrects constraints [rad or m]. A larger violation, for
#: example at the start, is corrected in several steps.
LARGEST_SHIFT = 0.1


@optional_stage("accelerate_stage")
def _accelerate_by_address(table, row):
    accelerate(model_at(table), data_at(table, row))


@optional_stage("correct_stage")
def _correct_by_address(table, row):
    correct(model_at(table), data_at(table, row))


@kernel
def accelerate(m, d):
    """Write qacc_step, with implicit damping. Call `crb` and `constraint` first.

    Y and its factors stay in row_response for correct, correct_velocity and report.
    """
    d.drive_number[0] = count_driven(m, d)
    driven = d.drive_number[0] > 0
    if driven and d.drive_held[0] == 0.0:  # a Runge-Kutta step keeps the first accelerations
        prescribe(m, d)
    free_force(m, d)
    inertia_of_step(m, d)
    if driven:
        _give_way(m, d)
    factor(m, d, d.nstopped != 0)
    for k in range(m.nv):
        d.D[k] = d.qLD[m.M_rowadr[k] + m.M_rownnz[k] - 1]
        d.row_scale[k] = np.sqrt(d.qLDiagInv[k])
    x = d.qacc_step
    half_solve(m, d, x)
    if m.nefc > 0:
        call_stage(m.hold_stage, m, d)
    other_half(m, d, x)
    if driven:
        for k in range(m.nv):
            x[k] = d.drive_qacc[k] if d.drive_mode[k] != FORCE else x[k]


@optional_stage("hold_stage")
def _hold_by_address(table, row):
    hold(model_at(table), data_at(table, row))


@kernel
def hold(m, d):
    """Add the effect of the constraints to D^1/2 L qacc in qacc_step."""
    respond(m, d, d.qacc_step)
    bend(m, d, d.row_rest, d.row_shift)
    for k in range(m.nv):
        d.qacc_step[k] += d.row_shift[k]


@optional_stage("correct_velocity_stage")
def _correct_velocity_by_address(table, row):
    correct_velocity(model_at(table), data_at(table, row))


@kernel
def correct_velocity(m, d):
    """Write efc_push: the change of velocities that makes efc_vel zero.

    Call `accelerate` first.
    """
    _displacement(m, d, d.efc_vel, d.efc_push)


@kernel
def correct(m, d):
    """Write efc_shift: the displacement that makes efc_pos zero. Call `accelerate` first.

    It is the shortest such displacement in the metric of M, as constraint forces would cause it.
    No component exceeds LARGEST_SHIFT.
    """
    _displacement(m, d, d.efc_pos, d.efc_shift)
    largest = 0.0
    for k in range(m.nv):
        largest = max(largest, abs(d.efc_shift[k]))
    if largest > LARGEST_SHIFT:
        for k in range(m.nv):
            d.efc_shift[k] *= LARGEST_SHIFT / largest


@inline
def _displacement(m, d, error, x):
    for r in range(m.nefc):
        d.row_rest[r] = -error[r]
    bend(m, d, d.row_rest, x)
    other_half(m, d, x)


@kernel
def prescribe(m, d):
    """Write drive_qacc: the accelerations that move driven dofs to their targets in one step."""
    h = m.opt.timestep
    for k in range(m.nv):
        mode = d.drive_mode[k]
        if m.nefc > 0 and mode != FORCE and d.drive_locked[m.dof_jntid[k]] == 1:
            d.drive_qacc[k] = -d.qvel[k] / h  # the drive has stopped (locks.py) and stays there
        elif mode == ACCELERATION:
            d.drive_qacc[k] = d.drive_target[k]
        elif mode == VELOCITY:
            d.drive_qacc[k] = (d.drive_target[k] - d.qvel[k]) / h
        elif mode == POSITION:
            j = m.dof_jntid[k]
            q = d.qpos[m.jnt_qposadr[j] + k - m.jnt_dofadr[j]]
            d.drive_qacc[k] = ((d.drive_target[k] - q) / h - d.qvel[k]) / h


@kernel
def free_force(m, d):
    """Write to qacc_step the forces: applied, passive and contact forces less the bias force."""
    for i in range(1, m.nbody):
        store6(d.pA, i, applied_bias(m, d, i, d.implicit_step[0]))
    sum_subtrees(m, d.pA)
    for k in range(m.nv):
        d.qacc_step[k] = dot6(load6(d.cdof, k), load6(d.pA, m.dof_bodyid[k]))
    if m.nmimic > 0:
        reflect(m, d, d.pA, d.qacc_step)
    for k in range(m.nv):
        d.qacc_step[k] = d.qfrc_applied[k] + d.qfrc_passive[k] - d.qacc_step[k]


@inline
def count_driven(m, d):
    driven = 0
    for k in range(m.nv):
        driven += d.drive_mode[k] != FORCE
    return driven


@kernel
def inertia_of_step(m, d):
    """Write M plus the terms of forces that are implicit in the step, such as damping, to qLD."""
    step = d.implicit_step[0]
    for e in range(m.nM):
        d.qLD[e] = d.M[e]
    viscosity_step = implicit_damping(m, step)
    if m.opt.integrator_id >= IMPLICIT:
        viscosity_step = step
    for i in range(m.nv):
        d.qLD[m.M_rowadr[i] + m.M_rownnz[i] - 1] += viscosity_step * d.dof_viscosity[i]
    if d.nstopped != 0:
        add_stops(m, d, step)
    if m.ncontact > 0 and d.ncon > 0 and step > 0.0:
        add_contact_slopes(m, d, step)


@kernel
def _give_way(m, d):
    """Subtract the effect of prescribed accelerations from the forces in qacc_step.

    The rows and columns of driven dofs become rows and columns of the identity.
    """
    for k in range(m.nv):
        d.row_shift[k] = d.drive_qacc[k] if d.drive_mode[k] != FORCE else 0.0
    mul_triangle(m, d.qLD, d.row_shift, d.drive_load)
    for k in range(m.nv):
        force = d.qacc_step[k] - d.drive_load[k]
        d.qacc_step[k] = force if d.drive_mode[k] == FORCE else 0.0
    for i in range(m.nv):
        given = d.drive_mode[i] != FORCE
        for e in range(m.M_rowadr[i], m.M_rowadr[i] + m.M_rownnz[i]):
            if given or d.drive_mode[m.M_colind[e]] != FORCE:
                d.qLD[e] = 1.0 if m.M_colind[e] == i else 0.0
