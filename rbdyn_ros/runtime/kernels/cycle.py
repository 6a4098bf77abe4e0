# SPDX-License-Identifier: Apache-2.0
"""The cycle of the loop: wait, serve requests, read commands, choose efforts, step, hand over.

shared.py declares all memory that the loop shares with Python. The loop never waits for Python,
except in lock-step and in mode fast (waiting.py).
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import add3, cross3, load3, sub3
from rbdyn_ros.engine.compiler.optional import call_stage, data_at, model_at
from rbdyn_ros.engine.forward import substep
from rbdyn_ros.engine.joints.follow import expand
from rbdyn_ros.engine.step.accelerate import sum_contacts
from rbdyn_ros.engine.step.integrate import smooth_stages
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.data_fields import STICK_NUMBERS
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.compiled import (
    kernel,
    load_acquire,
    notify,
    steady_clock,
    store_release,
    wake_at,
)
from rbdyn_ros.runtime.kernels.channel import clear_channel, deliver, measure, pass_commands
from rbdyn_ros.runtime.kernels.edits import perform
from rbdyn_ros.runtime.kernels.efforts import choose_efforts, forget_commands, is_blocked
from rbdyn_ros.runtime.kernels.loads import learn_loads
from rbdyn_ros.runtime.kernels.port import write_port
from rbdyn_ros.runtime.kernels.pushes import apply_pushes, take_pushes
from rbdyn_ros.runtime.kernels.waiting import (
    ages_by_wall_clock,
    may_tick,
    read_commands,
    schedule,
    steps_left,
    wait_for_turn,
)
from rbdyn_ros.runtime.mailbox import post
from rbdyn_ros.runtime.settings import STANDS
from rbdyn_ros.runtime.shared import EDITS, PACE, PAUSE, STEPS, STOP, Shared

#: A state has diverged if it has a larger number [rad, m, rad/s or m/s].
HUGE = 1e6

#: If a drive moves farther than this in one timestep, its closed loops may not close [rad or m].
FAST = 0.05


@kernel
def run(s: Shared) -> None:
    """Run the loop until the word STOP is set."""
    m, d = _plant(s)
    _begin(m, d, s)
    while load_acquire(s.asked, STOP) == 0:
        wait_for_turn(s)
        _wake(s)
        changed = _answer(s)
        m, d = _plant(s)
        nominal, still = _nominal(s)
        ticked = not changed and may_tick(s)
        if ticked:
            s.watch += _ages(s)
            pass_commands(s)
            choose_efforts(m, d, nominal, still, s)
            apply_pushes(m, d, s)
            _advance(m, d, s)
            if s.fault < 0:
                learn_loads(d, nominal, still, s)
            s.ticks += 1
        if changed or ticked:
            _observe(m, d, s)
        if changed or (ticked and (s.fault >= 0 or s.tick % s.every == 0)):
            _hand_over(m, d, s)
        _acknowledge(s, ticked)
        schedule(s, ticked)


@kernel
def _plant(s):
    """Return the simulated Model and its Data."""
    plant = s.braked_plant if s.braked == 1 else s.plant
    return model_at(plant), data_at(plant, s.row_address)


@kernel
def _nominal(s):
    """Return the Model with which efforts are computed, and its Data."""
    return model_at(s.nominal), data_at(s.nominal, s.still_address)


@kernel
def _ages(s):
    """Return the time by which commands age in this tick [ns], at most the period of a tick."""
    return min(s.elapsed, s.period) if ages_by_wall_clock(s) else s.period


@kernel
def _begin(m, d, s):
    s.paused = load_acquire(s.asked, PAUSE)
    if s.loaded == 0:  # otherwise the state was carried over from another Model, see carrying.py
        s.saturated = -1
        s.fault = -1
        clear_channel(s)
        forget_commands(s)
    if m.nvall > m.nv:
        expand(m, d)
    _observe(m, d, s)
    _hand_over(m, d, s)
    store_release(s.done, PAUSE, s.paused)
    s.woken = steady_clock(s.scratch)
    s.deadline = s.woken + load_acquire(s.asked, PACE)


@kernel
def _wake(s):
    now = steady_clock(s.scratch)
    s.elapsed = now - s.woken
    s.woken = now
    if s.halted == 0:
        s.active += s.elapsed


@kernel
def _answer(s):
    """Serve requests; return whether there is a new state to hand over."""
    take_pushes(s)
    changed = False
    edits = load_acquire(s.asked, EDITS)
    if edits != s.performed:
        m, d = _plant(s)
        _, still = _nominal(s)
        changed = perform(m, d, still, s)
        s.performed = edits
    paused = load_acquire(s.asked, PAUSE)
    if s.paused != paused:
        s.paused = paused
        changed = True
    s.halted = s.fault >= 0 or (s.paused and not steps_left(s))
    if s.paused == 1 and s.halted == 0:
        read_commands(s)  # the step uses commands that were sent before the request
    return changed


@kernel
def _acknowledge(s, ticked):
    """Acknowledge requests whose effect is in the last state; ticked: whether a tick was made."""
    store_release(s.done, EDITS, s.performed)
    store_release(s.done, PAUSE, s.paused)
    if steps_left(s):
        if s.fault >= 0:
            store_release(s.done, STEPS, load_acquire(s.asked, STEPS))
        elif ticked:
            store_release(s.done, STEPS, s.done[STEPS] + 1)


@kernel
def _advance(m, d, s):
    """Make the physics steps of a tick.

    If a state diverges or a drive locks, undo the steps of the tick and latch a fault.
    """
    nq = m.nq
    for n in range(nq):
        s.saved[n] = d.qpos[n]
    for k in range(m.nv):
        s.saved[nq + k] = d.qvel[k]
    start = d.time
    for _ in range(s.decimation):
        for k in range(m.nv):
            if s.stuck[k] != 0.0 or (s.braked == 1 and s.dof_held[k] == STANDS):
                d.qvel[k] = 0.0
            s.before[k] = d.qvel[k]
        substep(m, d)
    sum_contacts(m, d)
    if m.nvall > m.nv:
        expand(m, d)
    s.bad = d.nbad
    s.singular = d.nsingular
    s.unsolved = d.nunsolved
    s.dropped = d.ndropped
    s.fault = _diverged(m, d)
    if s.fault < 0 and d.lock_stage != 0 and _is_fast(m, d):
        _stop_locked_drives(m, d)
    if s.fault < 0 and d.nlocked > 0:
        s.fault = _locked(m, d)
    if s.fault < 0:
        s.tick += 1
        for k in range(m.nv):
            s.row_qacc[k] = (d.qvel[k] - s.before[k]) / m.opt.timestep
        return
    d.time = start
    for n in range(nq):
        d.qpos[n] = s.saved[n]
    for k in range(m.nv):
        d.qvel[k] = s.saved[nq + k]
        s.row_qacc[k] = 0.0
    if m.nvall > m.nv:
        expand(m, d)


@kernel
def _diverged(m: Model, d: Data) -> int:
    """Return the first joint whose state is NaN or exceeds HUGE, or -1."""
    for k in range(m.nvall):
        # comparisons with NaN are false, so this also finds NaN
        if not abs(d.qvel_all[k]) <= HUGE:
            return _owner(m, m.jnt_dofadr_all, k)
    for k in range(m.nqall):
        if not abs(d.qpos_all[k]) <= HUGE:
            return _owner(m, m.jnt_qposadr_all, k)
    return -1


@kernel
def _is_fast(m, d):
    fast = False
    for k in range(m.nvall):
        fast = fast or abs(d.qvel_all[k]) * m.opt.timestep > FAST
    return fast


@kernel
def _stop_locked_drives(m, d):
    """Find drives that lock in this tick, so that their absurd velocities are not published."""
    singular = d.nsingular
    smooth_stages(m, d)
    call_stage(d.lock_stage, m, d)
    d.nsingular = singular


@kernel
def _locked(m, d):
    """Return the first joint whose drive is locked by closed loops that cannot follow, or -1."""
    for j in range(len(d.drive_locked)):
        if d.drive_locked[j] == 1:
            return j
    return -1


@kernel
def _owner(m, address, k):
    """Return the joint of entry k of qpos_all or qvel_all; address: first entry of each joint."""
    owner = 0
    nearest = -1
    for j in range(m.njnt):
        if nearest < address[j] <= k and m.jnt_dofnum[j] > 0:
            nearest = address[j]
            owner = j
    return owner


@kernel
def _observe(m, d, s):
    """Write the state and its measurement; the effort of a joint without its own dof is 0."""
    for n in range(m.nqall):
        s.row_qpos[n] = d.qpos_all[n]
    for k in range(m.nvall):
        s.row_qvel[k] = d.qvel_all[k]
    for k in range(m.nv):
        s.row_effort[k] = d.qfrc_applied[k]
        s.row_stick_qfrc[k] = d.stick_qfrc[k]
    for n in range(m.na):
        s.row_act[n] = d.act[n]
    s.row_time = d.time
    measure(m, s)


@kernel
def _hand_over(m, d, s):
    if s.loaded == 0:
        deliver(s)
    s.loaded = 0
    write_port(s)
    for i in range(m.nbody):
        for n in range(6):
            s.row_xfrc[i, n] = d.xfrc_applied[i, n]
    for k in range(m.nv):
        s.row_blocked[k] = is_blocked(s, k)
    row = s.row
    if m.ncontact > 0:
        _write_contact(m, d, s)
        row = row[: _write_stick(d, s)]
    post(s.state_version, s.state_slots, s.state_float_slots, s.state, row)
    s.saturated = -1
    notify(s.states_wakeup, s.scratch)
    wake_at(s.state_version.ctypes.data)  # wake other readers, see Readout.newer


@kernel
def _write_stick(d, s):
    """Write the memory of friction: number of contacts, then the stick_ fields of each contact.

    This memory is the end of the row. Return the length of the row that is in use.
    """
    kept = min(d.nstick, (len(s.row_stick) - 1) // STICK_NUMBERS)
    s.row_stick[0] = kept
    for c in range(kept):
        at = 1 + STICK_NUMBERS * c
        s.row_stick[at], s.row_stick[at + 1] = d.stick_key[c], d.stick_normal[c]
        for n in range(3):
            s.row_stick[at + 2 + n] = d.stick_force[c, n]
            s.row_stick[at + 5 + n] = d.stick_torque[c, n]
    return len(s.row) - len(s.row_stick) + 1 + STICK_NUMBERS * kept


@kernel
def _write_contact(m, d, s):
    """Write contact wrenches about each body's com, from Data's wrenches about the tree's com."""
    for i in range(1, m.nbody):
        about, xipos = load3(d.subtree_com, m.body_rootid[i]), load3(d.xipos, i)
        force = (d.cfrc_contact[i, 3], d.cfrc_contact[i, 4], d.cfrc_contact[i, 5])
        moment = (d.cfrc_contact[i, 0], d.cfrc_contact[i, 1], d.cfrc_contact[i, 2])
        torque = add3(moment, cross3(sub3(about, xipos), force))
        for n in range(3):
            s.row_contact[i, n] = force[n]
            s.row_contact[i, 3 + n] = torque[n]
