# SPDX-License-Identifier: Apache-2.0
"""Stop a drive at the last state in which its loops were closed, if they can no longer close.

A drive prescribes the motion of a joint. If it moves to where its loops cannot close, such as the
crank of a four-bar linkage beyond its last position, the velocities of the other joints grow
without bound. This stage runs at the start of every step with a drive, and stores the newest state
in which the loops were closed. If the loops open, it searches for a nearby position that closes
them, because a long timestep opens loops as well. If no such position exists, the joints of the
loops return to the stored position and stop. The drives of the open loops hold their position
until reset_data or set_drive, and nlocked counts them.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import dot6, load6
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage, data_at, model_at, optional_stage
from rbdyn_ros.engine.constraints.coupled import correct
from rbdyn_ros.engine.constraints.wrenches import gear_rows
from rbdyn_ros.engine.step.integrate import integrate_pos, smooth_stages
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.options import FORCE

DRIVEN = int(JointClass.DRIVEN)

#: Loops count as open if a constraint error needs a larger displacement [rad or m].
OPEN = 1e-3
#: Loops count as closed again if the errors need a smaller displacement than this.
CLOSED = 1e-6
#: A state is stored if its loops need at most this displacement to close, because just beyond the
#: last position the loops are still nearly closed. If no state was stored for MEMORY timesteps,
#: any state whose loops are not open is stored.
FINE = 1e-5
MEMORY = 20
#: Largest number of corrections that are tried, and the largest sum of their displacements [rad or
#: m].
TRIALS = 10
REACH = 0.3
#: Largest error [rad or m] that `opening` returns, also for an error that is not a number.
LARGE = 1e300


@optional_stage("lock_stage")
def _by_address(table, row):
    stop_locked_drives(model_at(table), data_at(table, row))


@kernel
def stop_locked_drives(m, d):
    """Stop the drives whose loops are open and cannot be closed nearby.

    Call `smooth_stages` first.
    """
    if not _is_moved(m, d):
        return
    error = opening(m, d)
    if error <= OPEN:
        late = d.time - d.closed_time[0] > MEMORY * m.opt.timestep
        if error <= FINE or late or d.closed_known[0] == 0:
            _keep(m, d)
    elif d.closed_known[0] == 1 and not _can_close(m, d):
        _mark(m, d)
        _go_back(m, d)


@kernel
def _keep(m, d):
    for n in range(m.nq):
        d.closed_qpos[n] = d.qpos[n]
    d.closed_time[0] = d.time
    d.closed_known[0] = 1


@kernel
def _is_moved(m, d):
    """Return whether a drive moves a joint."""
    moved = False
    for j in range(m.njnt):
        moved = moved or (_has_drive(m, d, j) and d.drive_locked[j] == 0)
    return moved


@inline
def _has_drive(m, d, j):
    """Return whether joint j itself has a drive: a motion over time, or one by set_drive."""
    if m.jnt_mimic[j] >= 0 or m.jnt_dofnum[j] == 0:
        return False
    k = m.jnt_dofadr_all[j]
    return m.jnt_class[j] == DRIVEN if k >= m.nv else d.drive_mode[k] != FORCE


@kernel
def opening(m, d):
    """Return the least displacement that can remove the largest constraint error [rad or m].

    It is at most LARGE, which is also returned for errors that are not finite.
    """
    most = 0.0
    for r in range(m.nefc):
        if d.row_terms[r] > 0.0:
            error = abs(d.efc_pos[r]) / d.row_terms[r]
            if not error <= LARGE:  # also true for NaN
                return LARGE
            most = max(most, error)
    return most


@kernel
def _can_close(m, d):
    """Return whether a few corrections close the loops; the state is not changed."""
    singular = d.nsingular
    for n in range(m.nq):
        d.rk_qpos[n] = d.qpos[n]
    moved, error = 0.0, LARGE
    for _ in range(TRIALS):
        d.implicit_step[0] = 0.0
        d.efc_share[0] = 1.0
        call_stage(d.accelerate_stage, m, d)
        correct(m, d)
        largest = 0.0
        for k in range(m.nv):
            largest = max(largest, abs(d.efc_shift[k]))
        moved += largest
        integrate_pos(m, d.qpos, d.efc_shift, 1.0)
        smooth_stages(m, d)
        error = opening(m, d)
        if error <= CLOSED or moved > REACH:
            break
    for n in range(m.nq):
        d.qpos[n] = d.rk_qpos[n]
    smooth_stages(m, d)
    d.nsingular = singular
    return error <= CLOSED and moved <= REACH


@kernel
def _mark(m, d):
    """Set drive_locked of the drives that move open constraints, or of all if no drive does."""
    found = 0
    for j in range(m.njnt):
        if _has_drive(m, d, j) and d.drive_locked[j] == 0 and _moves_open_loops(m, d, j):
            _lock(d, j)
            found += 1
    if found == 0:
        for j in range(m.njnt):
            if _has_drive(m, d, j) and d.drive_locked[j] == 0:
                _lock(d, j)


@inline
def _lock(d, j):
    d.drive_locked[j] = 1
    d.drive_stop[j] = d.closed_time[0]
    d.nlocked = d.nlocked + 1


@kernel
def _moves_open_loops(m, d, leader):
    """Return whether joint `leader`, or a joint that mimics it, changes an open constraint."""
    for j in range(m.njnt):
        if j == leader or m.jnt_mimic[j] == leader:
            first = m.jnt_dofadr_all[j]
            for r in range(m.nefc):
                if not abs(d.efc_pos[r]) <= OPEN * d.row_terms[r]:
                    for k in range(first, first + m.jnt_dofnum[j]):
                        if not abs(_influence(m, d, r, j, k)) <= 1e-6 * d.row_terms[r]:
                            return True
    return False


@kernel
def _influence(m, d, r, j, k):
    """Return the rate at which coordinate k of joint j violates constraint r."""
    total = 0.0
    first = m.efc_wrenchadr[r]
    for w in range(first, first + m.efc_wrenchnum[r]):
        body = m.wrench_bodyid[w]
        while body > 0:
            if body == m.jnt_bodyid[j]:
                total += dot6(load6(d.cdof_all, k), load6(d.efc_wrench, w))
            body = m.body_parentid[body]
    i = r - gear_rows(m)
    if 0 <= i < m.ngear:
        for n in range(m.gear_termadr[i], m.gear_termadr[i] + m.gear_termnum[i]):
            if m.jnt_dofadr_all[m.term_jntid[n]] + m.term_coord[n] == k:
                total += m.term_factor[n]
    return total


@kernel
def _go_back(m, d):
    """Set the joints of loops to closed_qpos, at rest; other joints continue to move."""
    singular = d.nsingular
    for j in range(m.njnt):
        if _is_in_loop(m, d, j):
            for k in range(m.jnt_dofadr[j], m.jnt_dofadr[j] + m.jnt_dofnum[j]):
                d.qvel[k] = 0.0
            last = m.nq
            for other in range(m.njnt):
                begin = m.jnt_qposadr_all[other]
                if m.jnt_qposadr[j] < begin < last:
                    last = begin
            for n in range(m.jnt_qposadr[j], last):
                d.qpos[n] = d.closed_qpos[n]
    smooth_stages(m, d)
    d.nsingular = singular


@kernel
def _is_in_loop(m, d, j):
    """Return whether a constraint depends on the dofs of joint j."""
    first = m.jnt_dofadr_all[j]
    if first >= m.nv:
        return False
    for k in range(first, first + m.jnt_dofnum[j]):
        for r in range(m.nefc):
            if d.efc_J[r, k] != 0.0:  # this also catches NaN
                return True
    return False
