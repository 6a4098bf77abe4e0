# SPDX-License-Identifier: Apache-2.0
"""Integrators: semi-implicit Euler, its implicit variants, and Runge-Kutta of order 4."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage
from rbdyn_ros.engine.joints.manifold import (
    differentiate_joint,
    integrate_joint,
    joint_qpos_dot,
    joint_rate,
)
from rbdyn_ros.engine.joints.ypr import keep_turning, near_singular, resume_turning
from rbdyn_ros.engine.step.accelerate import (
    accelerate,
    find_contacts,
    solves,
    write_acceleration,
)
from rbdyn_ros.engine.step.passive import passive
from rbdyn_ros.engine.stops.stop_law import ends_beyond_limit, exact_stops
from rbdyn_ros.engine.stops.stop_pieces import remember_stops
from rbdyn_ros.engine.tree.aba import articulated, count_bad
from rbdyn_ros.engine.tree.crb import crb
from rbdyn_ros.engine.tree.flight import PLAIN, take_motion
from rbdyn_ros.engine.tree.kinematics import com_pos, com_vel, poses, principal_axes
from rbdyn_ros.engine.tree.rne import bias_force, rne
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.options import IMPLICIT_MIDPOINT, POSITION, RK4

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Vector
    from rbdyn_ros.model.model import Model

FREE = int(JointClass.FREE)


@kernel
def smooth_stages(m, d):
    """Run the stages on qpos and qvel that the articulated-body algorithm needs."""
    poses(m, d)
    com_pos(m, d)
    if d.accelerate_stage != 0:
        call_stage(d.inertia_stage, m, d)
    velocity_stages(m, d)


@kernel
def velocity_stages(m, d):
    """Run those stages of smooth_stages that need qvel."""
    motion_stages(m, d)
    find_contacts(m, d)


@kernel
def motion_stages(m, d):
    """Run the stages that need qvel, without contacts."""
    com_vel(m, d)
    passive(m, d)
    bias_force(m, d)
    if m.nefc > 0:
        call_stage(m.constraint_stage, m, d)


@kernel
def integrate(m, d, complete):
    """Advance qpos, qvel and time by one timestep. Call `smooth_stages` first.

    If `complete`, write the fields of the full tick at the start of the step. Return whether they
    still have these values at the end: trial states of Runge-Kutta overwrite them.
    """
    h = m.opt.timestep
    if m.opt.integrator_id == RK4:
        _keep_start(m, d)
    if m.ncontact > 0 and d.ncon == 0:
        d.nstick = 0  # without contact no friction is remembered
    # contact, dry friction and joint limits are too stiff for trial states, so take an Euler step
    done = apart = False
    if m.opt.integrator_id == RK4 and d.nstopped == 0 and not near_singular(m, d):
        touches = m.ncontact > 0 and d.ncon > 0
        apart = touches and _may_part(m, d)
        if apart or not touches:
            done = _rk4(m, d, h, apart)
    apart = apart and done
    if apart:
        _return_to_start(m, d)
    if apart or not done:
        accelerate(m, d, False)
        if complete:
            _write_tick(m, d)
        _move(m, d, h)
    if apart:
        _move_apart(m, d, h)
    if m.nu > 0:
        call_stage(m.act_stage, m, d)
    count_bad(m, d)
    d.time = d.time + h
    return complete and (apart or not done)


@kernel
def complete_tick(m, d):
    """Write the fields of the full tick that smooth_stages leaves out."""
    accelerate(m, d, not solves(m, d))
    _write_tick(m, d)


@kernel
def _write_tick(m, d):
    """Write the fields of the full tick that the motion does not need. Call `accelerate` first."""
    principal_axes(m, d)
    if m.nM > 0 and d.accelerate_stage == 0:
        crb(m, d)
    rne(m, d)
    write_acceleration(m, d)


@kernel
def _move(m, d, h):
    """Advance qvel and qpos by the acceleration of the step: v <- v + h a, then q <- q (+) h v."""
    integrator = m.opt.integrator_id
    if m.nypr > 0:
        keep_turning(m, d, h)
    for k in range(m.nv):
        d.qvel[k] += h * d.qacc_step[k]
    if exact_stops(m, d):
        remember_stops(m, d)
    if m.ncontact > 0 and d.ncon > 0:
        call_stage(m.remember_stage, m, d)
    if m.nefc > 0:
        _move_onto_constraints(m, d, h)
    elif m.nflight > 0 and d.flight_mode[0] != PLAIN:
        for k in range(m.nv):
            d.row_shift[k] = d.qvel[k]
        take_motion(m, d, d.row_shift)
        integrate_pos(m, d.qpos, d.row_shift, h)
    else:
        integrate_pos(m, d.qpos, d.qvel, h)
    if m.nflighttree > 0 and (integrator == RK4 or integrator == IMPLICIT_MIDPOINT):
        call_stage(m.opt.momentum_stage, m, d)
    if m.nypr > 0:
        resume_turning(m, d)


@kernel
def _move_onto_constraints(m, d, h):
    """Move by qvel, and remove the constraint errors that existed at the start of the step.

    The step has used half of k. So qvel points along the chord to the next position, which
    satisfies the constraint up to O(h^3), and the next step rotates qvel to the tangent. With all
    of k qvel would be tangent at once, but it would become longer with each step, so energy would
    grow.

    Post-stabilisation removes the drift of K qacc = k by displacements, which change no force and
    hardly any energy. It needs only the factors of the step. Source: Ascher, Chin, Reich,
    Stabilization of DAEs and invariant manifolds, 1994; Cline, Pai, Post-stabilization for rigid
    body simulation with contact and constraints, 2003.
    """
    call_stage(m.correct_stage, m, d)
    for k in range(m.nv):
        d.row_shift[k] = d.qvel[k] + d.efc_shift[k] / h
    if m.nflight > 0:
        take_motion(m, d, d.row_shift)
    integrate_pos(m, d.qpos, d.row_shift, h)


@kernel
def integrate_pos(m: Model, qpos: Vector, qvel: Vector, h: float) -> None:
    """Advance qpos by h qvel, each joint on its own manifold."""
    for j in range(m.njnt):
        if m.jnt_class[j] == FREE:
            integrate_joint(m, j, qpos, qvel, h)


@kernel
def differentiate_pos(m: Model, qvel: Vector, h: float, qpos1: Vector, qpos2: Vector) -> None:
    """Write qvel, the velocity that leads from qpos1 to qpos2 in the time h."""
    for j in range(m.njnt):
        if m.jnt_class[j] == FREE:
            differentiate_joint(m, j, qpos1, qpos2, qvel, h)


@kernel
def qpos_dot(m: Model, qpos: Vector, qvel: Vector, out: Vector) -> None:
    """Write the derivative of qpos."""
    for j in range(m.njnt):
        if m.jnt_class[j] == FREE:
            joint_qpos_dot(m, j, qpos, qvel, out)


@kernel
def _keep_start(m, d):
    d.rk_time[0] = d.time
    for k in range(m.nq):
        d.rk_qpos[k] = d.qpos[k]
    for k in range(m.nv):
        d.rk_qvel[k] = d.qvel[k]


@kernel
def _rk4(m, d, h, apart):
    """Take a classical Runge-Kutta step; return whether it is done.

    Each trial state is a displacement from the start of the step.

    Source: Munthe-Kaas, High order Runge-Kutta methods on manifolds, 1999: with the rate of the
    displacement corrected by joint_rate the order is 4 for rotating joints too. Close to the
    singularity of a yaw-pitch-roll joint, or if a trial state makes contact or stops a joint, the
    step is an Euler step instead, and False is returned. If `apart`, contact is ignored.
    """
    for k in range(m.nv):
        d.rk_rate[k] = 0.0
        d.rk_sum[0, k] = 0.0
        d.rk_sum[1, k] = 0.0
    reached = 0.0  # time of the trial state after the start
    for trial in range(4):
        weight = 1.0 / 6.0 if trial == 0 or trial == 3 else 1.0 / 3.0
        articulated(m, d, 0.0, 1.0, d.qacc_step)
        if trial == 0 and m.nefc > 0:
            call_stage(m.correct_stage, m, d)
            call_stage(m.correct_velocity_stage, m, d)
        d.drive_held[0] = 1.0
        for j in range(m.njnt):
            if m.jnt_class[j] == FREE:
                joint_rate(m, j, d.rk_rate, d.qvel, reached)
        for k in range(m.nv):
            d.rk_sum[0, k] += weight * d.rk_rate[k]
            d.rk_sum[1, k] += weight * d.qacc_step[k]
        if trial < 3:
            reached = h if trial == 2 else 0.5 * h
            _move_from_start(m, d, d.rk_rate, d.qacc_step, reached)
            # set the time last, because a trace takes it as the sign that the state is complete
            d.time = d.rk_time[0] + reached
            if apart:
                _stages_apart(m, d)
            else:
                smooth_stages(m, d)
            touches = m.ncontact > 0 and d.ncon > 0 and not apart
            if touches or d.nstopped > 0 or _turned(m, d):
                _return_to_start(m, d)
                return False
    if m.nefc > 0:
        for k in range(m.nv):
            d.rk_sum[0, k] += d.efc_shift[k] / h
            d.rk_sum[1, k] += d.efc_push[k] / h
    _move_from_start(m, d, d.rk_sum[0], d.rk_sum[1], h)
    d.time = d.rk_time[0]  # `integrate` advances the time
    if _turned(m, d) or (exact_stops(m, d) and ends_beyond_limit(m, d)):
        _return_to_start(m, d)
        return False
    d.drive_held[0] = 0.0
    if d.accelerate_stage != 0:
        _reach_targets(m, d, h)
    return True


@kernel
def _stages_apart(m, d):
    """Run `smooth_stages` without the search for contacts. `_may_part` must be true."""
    poses(m, d)
    com_pos(m, d)
    com_vel(m, d)
    passive(m, d)
    bias_force(m, d)


@inline
def _may_part(m, d):
    """Return whether trees without contact can take a separate Runge-Kutta step."""
    tied = m.nefc > 0 or m.nqall > m.nq or d.accelerate_stage != 0
    return not tied and _is_any_apart(m, d)


@kernel
def _is_any_apart(m, d):
    """Mark in chain the roots of trees with contact; return whether a tree has no contact."""
    for i in range(m.nbody):
        d.chain[i] = 0
    for c in range(d.ncon):
        for side in range(2):
            d.chain[m.body_rootid[d.contact_body[c, side]]] = 1
    found = False
    for i in range(1, m.nbody):
        found = found or (m.body_parentid[i] == 0 and d.chain[i] == 0)
    return found


@kernel
def _move_apart(m, d, h):
    """Move the trees without contact by the step that _rk4 wrote to rk_sum."""
    # the trees with contact include those whose contacts begin in the step
    if not _is_any_apart(m, d):
        return
    for j in range(m.njnt):
        if m.jnt_class[j] == FREE and d.chain[m.body_rootid[m.jnt_bodyid[j]]] == 0:
            q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
            end = m.jnt_qposadr[j + 1] if j + 1 < m.njnt else m.nq
            for k in range(q, end):
                d.qpos[k] = d.rk_qpos[k]
            integrate_joint(m, j, d.qpos, d.rk_sum[0], h)
            for k in range(v, v + m.jnt_dofnum[j]):
                d.qvel[k] = d.rk_qvel[k] + h * d.rk_sum[1, k]
                d.qacc_step[k] = d.rk_sum[1, k]


@inline
def _turned(m, d):
    """Return whether a joint with dry friction has stopped or reversed in the step."""
    turned = False
    if exact_stops(m, d):
        for k in range(m.nv):
            turned = turned or (m.dof_frictionloss[k] > 0.0 and d.qvel[k] * d.rk_qvel[k] <= 0.0)
    return turned


@kernel
def _return_to_start(m, d):
    for k in range(m.nq):
        d.qpos[k] = d.rk_qpos[k]
    for k in range(m.nv):
        d.qvel[k] = d.rk_qvel[k]
    d.time = d.rk_time[0]
    d.drive_held[0] = 0.0
    smooth_stages(m, d)


@kernel
def _reach_targets(m, d, h):
    """Set dofs driven by position to their targets, which the step does not meet exactly."""
    for k in range(m.nv):
        j = m.dof_jntid[k]
        locked = m.nefc > 0 and d.drive_locked[j] == 1
        if d.drive_mode[k] == POSITION and not locked:
            q = m.jnt_qposadr[j] + k - m.jnt_dofadr[j]
            d.qvel[k] = (d.drive_target[k] - d.rk_qpos[q]) / h
            d.qpos[q] = d.drive_target[k]


@kernel
def _move_from_start(m, d, rate, acceleration, h):
    for k in range(m.nq):
        d.qpos[k] = d.rk_qpos[k]
    integrate_pos(m, d.qpos, rate, h)
    for k in range(m.nv):
        d.qvel[k] = d.rk_qvel[k] + h * acceleration[k]
