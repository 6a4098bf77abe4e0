# SPDX-License-Identifier: Apache-2.0
"""Forward, step, forward_dynamics and inverse: the sequences of stages in a tick."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.actuators import actuators  # noqa: F401  stages
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage
from rbdyn_ros.engine.constraints import coupled, equations, report, share  # noqa: F401  stages
from rbdyn_ros.engine.contact.points import (  # noqa: F401  stages
    memory,
    obstacles,
    pairs,
    terrain,
)
from rbdyn_ros.engine.contact.solve import (  # noqa: F401  stages
    coupled_bodies,
    motion_forces,
    solve_step,
)
from rbdyn_ros.engine.joints.follow import expand, follow_acceleration
from rbdyn_ros.engine.step import (  # noqa: F401  stages
    implicit,
    locks,
    momentum,
)
from rbdyn_ros.engine.step.accelerate import (
    accelerate,
    find_contacts,
    forces_at_qacc,
    keep_solved_state,
    solved_here,
    solves,
    write_acceleration,
)
from rbdyn_ros.engine.step.integrate import (
    complete_tick,
    integrate,
    motion_stages,
    smooth_stages,
    velocity_stages,
)
from rbdyn_ros.engine.step.passive import passive
from rbdyn_ros.engine.step.too_much import overloaded_contacts, overloaded_joints, too_fast
from rbdyn_ros.engine.stops import stop_solver  # noqa: F401  a stage
from rbdyn_ros.engine.tree.aba import articulated, count_bad
from rbdyn_ros.engine.tree.crb import crb, fill_dense
from rbdyn_ros.engine.tree.flight import exchange_bias, land, start_flight, write_kick_bias
from rbdyn_ros.engine.tree.kinematics import com_pos, kinematics, poses
from rbdyn_ros.engine.tree.loads import subtract_xfrc
from rbdyn_ros.engine.tree.rne import body_accelerations, rne, rne_acc

#: Warnings of `step`, besides the warnings in too_much.py: a joint came near its singularity;
#: contact forces often do not converge; contacts did not fit in the list. `step` gives the first
#: two only once.
SINGULAR, UNSOLVED, DROPPED = 1, 2, 4

#: Up to this many timesteps without convergence are normal, for example the impacts of a fall.
FEW_UNSOLVED = 1000

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Matrix
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def fwd_position(m: Model, d: Data) -> None:
    """Compute everything that depends on qpos: kinematics, com_pos, crb."""
    kinematics(m, d)
    com_pos(m, d)
    if m.nM > 0:
        crb(m, d)


@kernel
def fwd_velocity(m: Model, d: Data) -> None:
    """Run the stages that need qvel: com_vel, passive, bias_force, contacts, constraint, rne."""
    velocity_stages(m, d)
    rne(m, d)


@kernel
def make_constraint(m: Model, d: Data) -> None:
    """Write efc_pos, efc_vel, efc_aref and efc_J. Call `com_vel` and `bias_force` first.

    The name is MuJoCo's, but here all constraints are equations. Source: RBDA eq 3.11.
    """
    if m.nefc > 0:
        call_stage(m.constraint_stage, m, d)


@kernel
def fwd_acceleration(m: Model, d: Data) -> None:
    """Solve for qacc together with all forces of the next step. Call `fwd_velocity` first.

    Source: engine/step/accelerate.py.
    """
    passive(m, d)  # an earlier call left the forces of its solution in qfrc_passive
    find_contacts(m, d)
    _accelerate(m, d)


@kernel
def _accelerate(m, d):
    unsolved = d.nunsolved
    accelerate(m, d, not solves(m, d))
    d.nunsolved = unsolved  # nunsolved counts timesteps, not calls
    write_acceleration(m, d)
    keep_solved_state(m, d)
    count_bad(m, d)


@kernel
def aba(m: Model, d: Data) -> None:
    """Write qacc by the articulated-body algorithm. Call `fwd_position` and `fwd_velocity` first.

    For a Model with mimic joints, constraints or drive modes, M is factored instead.

    qacc is the acceleration in continuous time under the forces in d: M qacc = qfrc_applied +
    qfrc_passive - qfrc_bias plus the effect of xfrc_applied, cfrc_contact and the constraint
    forces, K^T lambda with K qacc = k. After `forward` these are the forces of the next step.
    After `fwd_velocity` there are no contact forces, and qfrc_passive is the passive force at
    qvel. Source: RBDA table 7.1, eq 3.17.
    """
    stopped, d.nstopped = d.nstopped, 0  # qfrc_passive already has the forces of stops
    articulated(m, d, 0.0, 1.0, d.qacc)
    d.nstopped = stopped
    if m.nmimic > 0:
        follow_acceleration(m, d)
    if d.report_stage != 0:
        call_stage(d.report_stage, m, d)
    count_bad(m, d)


@kernel
def forward(m: Model, d: Data) -> None:
    """Run a tick without integration: write every field that qpos, qvel and forces determine.

    qacc and the forces are those of the next step. Separate functions write qLD (factor_m), cacc
    and qfrc_inverse (inverse), and energy.
    """
    fwd_position(m, d)
    fwd_velocity(m, d)
    _accelerate(m, d)


@kernel
def forward_dynamics(m: Model, d: Data) -> None:
    """Write qacc, the acceleration of the next step, with as few stages as possible."""
    smooth_stages(m, d)
    _accelerate(m, d)


@kernel
def inverse(m: Model, d: Data) -> None:
    """Write qfrc_inverse and cacc from qpos, qvel and qacc.

    As in MuJoCo's mj_inverse, xfrc_applied is not read: qfrc_inverse is the sum of the actuator
    forces and the effect of xfrc_applied that cause qacc. RBDA table 5.1 subtracts external
    forces, as does inverse_with_xfrc.

    Source: RBDA table 5.1; MuJoCo mj_inverse.
    """
    _inverse_of_tree(m, d)
    if m.nefc > 0:
        call_stage(m.share_stage, m, d)


@kernel
def inverse_with_xfrc(m: Model, d: Data) -> None:
    """Write qfrc_inverse and cacc from qpos, qvel, qacc and xfrc_applied.

    Unlike in inverse, qfrc_inverse holds only the forces of actuators, which cause qacc together
    with xfrc_applied. With the qacc of forward it equals qfrc_applied.

    Source: RBDA table 5.1.
    """
    _inverse_of_tree(m, d)
    subtract_xfrc(m, d)
    if m.nefc > 0:
        call_stage(m.share_stage, m, d)


@kernel
def _inverse_of_tree(m, d):
    poses(m, d)
    com_pos(m, d)
    motion_stages(m, d)
    listed = m.ncontact > 0 and solved_here(m, d)
    if not listed:
        find_contacts(m, d)
    if m.nflight == 0:
        _inverse_of_kick(m, d)
        return
    h = m.opt.timestep
    if listed:
        write_kick_bias(m, d, h)
    else:
        start_flight(m, d, h, not solves(m, d))
    for k in range(m.nv):
        d.Dinv_u[k] = d.qacc[k]
    land(m, d, h)
    exchange_bias(m, d)
    _inverse_of_kick(m, d)
    exchange_bias(m, d)
    for k in range(m.nv):
        d.qacc[k] = d.Dinv_u[k]
    body_accelerations(m, d)


@kernel
def _inverse_of_kick(m, d):
    """Write qfrc_inverse and cacc; qacc belongs to a kick (flight.py), without drift."""
    if m.ncontact > 0:
        if m.nmimic > 0:
            follow_acceleration(m, d)
        body_accelerations(m, d)
    forces_at_qacc(m, d)
    rne_acc(m, d)


@kernel
def mass_matrix(m: Model, d: Data, dense: Matrix) -> None:
    """Write the dense (nv, nv) joint-space inertia matrix at qpos.

    Source: RBDA table 6.2.
    """
    poses(m, d)
    com_pos(m, d)
    crb(m, d)
    if 2 * m.nM < m.nv * (m.nv + 1):  # M has no entry for dofs in different branches
        for i in range(m.nv):
            for k in range(m.nv):
                dense[i, k] = 0.0
    fill_dense(m, d, dense)


@kernel
def advance(m: Model, d: Data, nstep: int) -> None:
    """Advance nstep timesteps; the last timestep runs the full tick.

    Every timestep runs the same code, so one call with n steps and n calls with one step give the
    same bits.
    """
    complete = nstep == 0
    for n in range(nstep):
        smooth_stages(m, d)
        if d.lock_stage != 0:
            call_stage(d.lock_stage, m, d)
        complete = integrate(m, d, n == nstep - 1)
    if not complete:
        _forward_at_start(m, d)
    if m.nvall > m.nv:
        expand(m, d)  # then qpos_all and qvel_all also have the new state


@kernel
def step(m: Model, d: Data, nstep: int) -> int:
    """Advance nstep timesteps; return the sum of their warnings, see SINGULAR and too_much.py."""
    regular, solved = d.nsingular == 0, not _often_unsolved(m, d)
    too_much = overloaded_joints(m) if d.time == 0.0 else 0
    advance(m, d, nstep)
    if m.ncontact > 0 and nstep > 0:
        too_much += overloaded_contacts(m, d)
    singular = SINGULAR if regular and d.nsingular > 0 else 0
    unsolved = UNSOLVED if solved and _often_unsolved(m, d) else 0
    dropped = DROPPED if m.ngeom > 0 and d.ndropped > 0 else 0
    return singular + unsolved + dropped + too_much + too_fast(m, d)


@inline
def _often_unsolved(m, d):
    """Return whether more than FEW_UNSOLVED timesteps and more than a tenth did not converge."""
    return d.nunsolved > FEW_UNSOLVED and 10.0 * d.nunsolved * m.opt.timestep > d.time


@kernel
def _forward_at_start(m, d):
    """Write the fields at the start of a Runge-Kutta step again: trial states overwrote them."""
    end, singular, unsolved = d.time, d.nsingular, d.nunsolved
    d.time = d.rk_time[0]
    _swap(d.qpos, d.rk_qpos)
    _swap(d.qvel, d.rk_qvel)
    smooth_stages(m, d)
    complete_tick(m, d)
    _swap(d.qpos, d.rk_qpos)
    _swap(d.qvel, d.rk_qvel)
    d.time = end
    d.nsingular, d.nunsolved = singular, unsolved  # the step has already counted this state


@kernel
def _swap(x, y):
    for k in range(len(x)):
        x[k], y[k] = y[k], x[k]


@kernel
def substep(m, d):
    """Advance one timestep with only the stages that the motion needs, or with specialised code.

    It does not sum the contact forces of the step; `sum_contacts` does.
    """
    if d.step_stage != 0:
        call_stage(d.step_stage, m, d)
    else:
        smooth_stages(m, d)
        if d.lock_stage != 0:
            call_stage(d.lock_stage, m, d)
        integrate(m, d, False)
