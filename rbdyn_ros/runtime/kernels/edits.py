# SPDX-License-Identifier: Apache-2.0
"""Changes that Python requests between two ticks; the loop makes and then acknowledges each.

Python fills the fields `edit_...` and sends the request. It fills them again only after the
acknowledgement.
"""

from __future__ import annotations

from rbdyn_ros.engine.contact.points.contact_list import bodies_of_pair
from rbdyn_ros.engine.joints.coordinates import clear
from rbdyn_ros.engine.joints.follow import expand
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.contact_arrays import FEATURES
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.compiled import copy_memory, kernel, word_at
from rbdyn_ros.runtime.kernels.channel import clear_channel, wait_a_tick
from rbdyn_ros.runtime.kernels.efforts import forget_commands, let_go, release
from rbdyn_ros.runtime.kernels.pushes import forget_pushes, take_pushes
from rbdyn_ros.runtime.kernels.tracking import begin_trajectory
from rbdyn_ros.runtime.kernels.waiting import read_commands
from rbdyn_ros.runtime.shared import Shared

#: Kinds of edits.
RESET, SET_STATE, TRAJECTORY, FAULTS, MODELS, SAVE, LOAD, RELEASE, LET_GO = range(1, 10)
#: Indices in `edit`: kind, scope of a reset or release, whether a seed is given, seed.
KIND, SCOPE, RESEED, SEED = range(4)
#: Bits of the scope of a reset.
TIME, STATE = 1, 2
#: Scope of a release: the dofs are held again.
HELD = 1


@kernel
def perform(m: Model, d: Data, still: Data, s: Shared) -> bool:
    """Make the requested edit; return whether there is a new state to hand over."""
    kind = s.edit[KIND]
    if kind == RESET:
        _reset(m, d, still, s)
    elif kind == SET_STATE:
        return _set_state(m, d, still, s)
    elif kind == TRAJECTORY:
        read_commands(s)
        begin_trajectory(s)
    elif kind == FAULTS:
        _set_faults(s)
    elif kind == MODELS:
        _exchange_models(s)
    elif kind == SAVE:
        _save(s)
    elif kind == LOAD:
        _load(s)
    elif kind == RELEASE:
        read_commands(s)  # the edit must also end commands that were sent before it
        release(s, s.edit[SCOPE] == HELD)
    elif kind == LET_GO:
        let_go(s)
    return kind == RESET or kind == LOAD


@kernel
def _reset(m, d, still, s):
    scope = s.edit[SCOPE]
    _move_everything(s)
    if scope & STATE:
        for n in range(m.nq):
            d.qpos[n] = s.start_qpos[n]
        for k in range(m.nv):
            d.qvel[k] = 0.0
            d.qfrc_applied[k] = 0.0
        _forget_loops(d)
        _forget_loops(still)
        _free_drives(d)
        _forget_friction(m, d, s)
        for n in range(m.na):
            d.act[n] = 0.0
        if m.ndrive > 0:
            d.time = 0.0  # prescribed motions, which depend on this time, start again
        forget_commands(s)
        forget_pushes(d, s)
        s.fault = -1
    # count the reset as a tick, so that the state after it has a stamp of its own
    s.tick += 1
    if scope & TIME:
        until = s.tick
        s.tick = 0
        s.epoch += 1
        d.time = 0.0
        s.traj_start -= until
        for n in range(len(s.push_until)):
            s.push_until[n] -= until
    if s.edit[RESEED]:
        s.seed = s.edit[SEED]
    s.seeded_tick = s.tick
    clear_channel(s)
    _jump(m, d, s)


@kernel
def _move_everything(s):
    for i in range(len(s.edit_moved)):
        s.edit_moved[i] = 1


@kernel
def _forget_friction(m, d, s):
    """Clear the memory of friction of the contacts and joints of moved bodies."""
    for k in range(m.nv):
        if s.edit_moved[m.dof_bodyid[k]] == 1:
            d.stick_qfrc[k] = 0.0
    kept = 0
    for c in range(min(d.nstick, len(d.stick_key))):
        if not _is_of_moved(m, s, d.stick_key[c] // FEATURES):
            d.stick_key[kept], d.stick_normal[kept] = d.stick_key[c], d.stick_normal[c]
            for n in range(3):
                d.stick_force[kept, n] = d.stick_force[c, n]
                d.stick_torque[kept, n] = d.stick_torque[c, n]
            kept += 1
    d.nstick = kept


@kernel
def _is_of_moved(m, s, pair):
    """Return whether a body of a contact pair was moved, or the pair no longer exists."""
    body1, body2 = bodies_of_pair(m, pair)
    return body1 < 0 or s.edit_moved[body1] == 1 or s.edit_moved[body2] == 1


@kernel
def _set_state(m, d, still, s):
    """Set some coordinates between two ticks; all other coordinates continue.

    While time runs, the next tick starts from the new state: return False. While time is paused or
    in lock-step, the new state has a tick of its own: return True, so that it is handed over.
    """
    if s.fault >= 0:
        _move_everything(s)
        _forget_loops(d)
        _forget_loops(still)
        _free_drives(d)
    for n in range(m.nq):
        if s.edit_qpos_given[n] == 1:
            d.qpos[n] = s.edit_qpos[n]
    for k in range(m.nv):
        if s.edit_qvel_given[k] == 1:
            d.qvel[k] = s.edit_qvel[k]
    s.fault = -1
    _forget_friction(m, d, s)
    _jump(m, d, s)
    stamped = s.paused == 1 or s.locked == 1
    if stamped:
        _skip_tick(s)
    return stamped


@kernel
def _skip_tick(s):
    """Count a tick without a step; this does not shorten trajectories and wrenches."""
    wait_a_tick(s)
    s.tick += 1
    s.traj_start += 1
    for n in range(len(s.push_until)):
        s.push_until[n] += 1
    for k in range(len(s.due)):
        s.due[k] = -1  # let lock-step wait for the answer to the new tick


@kernel
def _save(s):
    """Copy the state, including the commands and wrenches that were sent before the request."""
    read_commands(s)
    take_pushes(s)
    _copy(s)


@kernel
def _load(s):
    """Copy a saved state back; time jumps to its tick, in a new epoch."""
    epoch, paused = s.epoch, s.paused
    _copy(s)
    s.epoch = epoch + 1
    s.paused = paused
    s.loaded = 1


@kernel
def _copy(s):
    for n in range(s.edit_ncopy):
        target, source = word_at(s.edit_copies, 3 * n), word_at(s.edit_copies, 3 * n + 1)
        copy_memory(target, source, word_at(s.edit_copies, 3 * n + 2))


@kernel
def _jump(m, d, s):
    """Reset the data of moved bodies that are valid only after a continuous motion."""
    for k in range(m.nv):
        if s.edit_moved[m.dof_bodyid[k]] == 1:
            s.row_qacc[k] = 0.0
            s.due[k] = -1
            s.servo[k] = 0  # restart servos from the present position
            s.by_dynamics[k] = 0
    if m.nvall > m.nv:
        expand(m, d)


@kernel
def _forget_loops(d):
    """Clear the last positions of loop joints, because the solver never recovers from NaN."""
    clear(d.loop_data)


@kernel
def _free_drives(d):
    """Release drives that have stopped because their closed loops locked."""
    d.nlocked = 0
    d.closed_known[0] = 0
    for j in range(len(d.drive_locked)):
        d.drive_locked[j] = 0


@kernel
def _set_faults(s):
    for n in range(len(s.fault_words)):
        s.fault_words[n] = s.edit_fault_words[n]
    for n in range(len(s.fault_floats)):
        s.fault_floats[n] = s.edit_fault_floats[n]
    _exchange_models(s)  # a stuck joint needs Models with another inertia


@kernel
def _exchange_models(s):
    for n in range(len(s.models)):
        s.models[n] = s.edit_models[n]
