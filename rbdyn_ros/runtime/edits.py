"""What Python changes between two ticks: all of it or nothing, answered when it is done.

Python fills the fields `edit_...`, asks, and waits for the answer before it fills them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.follow import expand
from rbdyn_ros.runtime.compiled import kernel
from rbdyn_ros.runtime.efforts import forget_commands
from rbdyn_ros.runtime.follow import begin_trajectory
from rbdyn_ros.runtime.link import forget_line
from rbdyn_ros.runtime.pushes import forget_pushes

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model
    from rbdyn_ros.runtime.shared import Shared

#: Which edit, the first word of `edit`; then reset's scope, whether there is a seed, the seed.
RESET, PLACE, TRAJECTORY, FAULTS, MODELS = range(1, 6)
KIND, SCOPE, RESEED, SEED = range(4)
#: Scopes of a reset, bits.
TIME, STATE = 1, 2


@kernel
def perform(m: Model, d: Data, still: Data, s: Shared) -> bool:
    """Make the edit that is asked for; return whether there is a new state to hand over."""
    kind = s.edit[KIND]
    if kind == RESET:
        _reset(m, d, still, s)
    elif kind == PLACE:
        return _place(m, d, still, s)
    elif kind == TRAJECTORY:
        begin_trajectory(s)
    elif kind == FAULTS:
        _set_faults(s)
    elif kind == MODELS:
        _exchange_models(s)
    return kind == RESET


@kernel
def _reset(m, d, still, s):
    scope = s.edit[SCOPE]
    if scope & STATE:
        for n in range(m.nq):
            d.qpos[n] = s.start_qpos[n]
        for k in range(m.nv):
            d.qvel[k] = 0.0
            d.qfrc_applied[k] = 0.0
        _forget_loops(d)
        _forget_loops(still)
        forget_commands(s)
        forget_pushes(d, s)
        s.fault = -1
    # it takes a tick, so that the state after it has a stamp of its own
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
    forget_line(s)
    _jump(m, d, s)


@kernel
def _place(m, d, still, s):
    """Put some coordinates elsewhere, all at the same time.

    While time runs the tick is made from there; where it stands, or a tick is answered, the new
    state gets a stamp of its own. Return whether it does.
    """
    if s.fault >= 0:
        _forget_loops(d)
        _forget_loops(still)
    for n in range(m.nq):
        if s.edit_qpos_given[n] == 1:
            d.qpos[n] = s.edit_qpos[n]
    for k in range(m.nv):
        if s.edit_qvel_given[k] == 1:
            d.qvel[k] = s.edit_qvel[k]
    s.fault = -1
    _jump(m, d, s)
    stamped = s.paused == 1 or s.locked == 1
    if stamped:
        s.tick += 1
        forget_line(s)  # there is no record of the tick that was left out
    return stamped


@kernel
def _jump(m, d, s):
    """What holds after every jump of the state."""
    for k in range(m.nv):
        s.row_qacc[k] = 0.0
        s.due[k] = -1
        s.servo[k] = 0  # servos lead on from where the joints are now
    if m.nvall > m.nv:
        expand(m, d)


@kernel
def _forget_loops(d):
    """Forget where joints that close loops were: from a NaN they would never be found again."""
    for k in range(len(d.loop_data)):
        d.loop_data[k] = 0.0


@kernel
def _set_faults(s):
    for n in range(len(s.fault_words)):
        s.fault_words[n] = s.edit_fault_words[n]
    for n in range(len(s.fault_floats)):
        s.fault_floats[n] = s.edit_fault_floats[n]
    _exchange_models(s)  # a joint that is stuck is one of another inertia


@kernel
def _exchange_models(s):
    s.plant = s.edit_plant
    s.nominal = s.edit_nominal
