"""The loop: wait, read commands, watchdog, clamp, advance, hand the state over. All compiled.

Python writes control words and command records, and reads answers, statistics and state records;
the loop never waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.follow import expand
from rbdyn_ros.engine.forward import substep
from rbdyn_ros.engine.kinematics import com_pos, com_vel, poses
from rbdyn_ros.engine.optional import call_stage
from rbdyn_ros.engine.passive import springs
from rbdyn_ros.engine.rne import bias_force, rne_acc
from rbdyn_ros.runtime.compiled import (
    Floats,
    Words,
    kernel,
    load_acquire,
    notify,
    sleep_until,
    steady_clock,
    store_release,
)
from rbdyn_ros.runtime.mailbox import fetch, post

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

# settings: fixed while the loop runs
PERIOD, TIMEOUT, POLICY, EVENT = range(4)  # [ns], [ns], one of ON_TIMEOUT, an eventfd
NSETTINGS = 4
ON_TIMEOUT = ("zero", "gravity", "hold")
ZERO, GRAVITY, HOLD = range(len(ON_TIMEOUT))

# control: what Python asks for, and in the second half what the loop has done of it
STOP, PAUSE, STEPS, RESETS = range(4)
DONE = 4
NCONTROL = 8

# statistics, each written by the loop only
TICKS, OVERRUNS, LATEST, ACTIVE, MISSED = range(5)  # -, -, worst lateness [ns], run time [ns], -
NSTATISTICS = 5

# words of a state record
TICK, PAUSED, FAULT, SATURATED = range(4)  # -, 0/1, joint or -1, dof or -1
STALE, BAD, SINGULAR = range(4, 7)  # dofs, Data.nbad, Data.nsingular
NSTATE = 7

#: Time constant [s] in which `hold` brakes a joint.
HOLD_TIME = 0.1

#: Beyond this [rad, m, rad/s or m/s] a state has diverged.
HUGE = 1e6


@kernel
def run(
    m: Model,
    d: Data,
    still: Data,
    start: Floats,
    dofs: Floats,
    settings: Words,
    control: Words,
    statistics: Words,
    histogram: Words,
    box_version: Words,
    box_words: Words,
    box_floats: Floats,
    out_version: Words,
    out_words: Words,
    out_floats: Floats,
    arrival: Words,
    seen: Words,
    command: Floats,
    inbox: Floats,
    saved: Floats,
    state: Words,
    row: Floats,
    scratch: Words,
) -> None:
    """Run until control[STOP].

    `m` and `d` are the robot and its state, `still` a second Data for computing efforts; what its
    own Model says of actuators decides who shares them where loops are closed. `start` is the
    (nq,) position after a reset. `dofs` is (2, nv): 1 where an effort acts, effort limit.
    `settings`, `control`, `statistics`: see the constants above. `histogram` counts wake-ups by
    lateness [us]; its last entry holds all that are later. `box_...` is the mailbox of commands,
    arrival [ns] and effort per dof; `out_...` that of states. The rest is work space.
    """
    period = settings[PERIOD]
    state[TICK] = 0
    state[SATURATED] = -1
    state[FAULT] = -1
    _forget_commands(seen, settings[TIMEOUT])
    if m.nvall > m.nv:
        expand(m, d)
    _hand_over(m, d, state, row, out_version, out_words, out_floats, settings[EVENT], scratch)
    last = steady_clock(scratch)
    standing = 0  # how long the watchdog's clock has stood still [ns]
    deadline = last + period
    while load_acquire(control, STOP) == 0:
        sleep_until(deadline, scratch)
        now = steady_clock(scratch)
        _note_lateness(statistics, histogram, now - deadline)
        pause = load_acquire(control, PAUSE)
        steps = load_acquire(control, STEPS)
        resets = load_acquire(control, RESETS)
        halted = state[FAULT] >= 0 or (pause != 0 and steps == control[DONE + STEPS])
        if halted:
            standing += now - last
        else:
            statistics[ACTIVE] += now - last
        last = now
        watch = now - standing
        record = fetch(box_version, box_words, box_floats, 0, arrival, inbox)
        if record > 0:
            _take_commands(arrival, inbox, now, watch, seen, command)
        statistics[MISSED] += record < 0
        changed = state[PAUSED] != pause
        state[PAUSED] = pause
        if resets != control[DONE + RESETS]:
            # a reset takes a tick, so that its state has a stamp of its own
            _reset(m, d, start, state)
            _forget_loops(d)
            _forget_loops(still)
            _forget_commands(seen, settings[TIMEOUT] - watch)
            changed = True
        elif not halted:
            _choose_effort(m, d, still, dofs, settings, command, seen, watch, state)
            _advance(m, d, state, saved)
            statistics[TICKS] += 1
            changed = True
        if changed:
            _hand_over(
                m, d, state, row, out_version, out_words, out_floats, settings[EVENT], scratch
            )
        store_release(control, DONE + PAUSE, pause)
        store_release(control, DONE + RESETS, resets)
        if steps != control[DONE + STEPS]:
            store_release(control, DONE + STEPS, control[DONE + STEPS] + 1)
        deadline += period
        # late by a whole period: start anew from here, never catch up in a burst
        finished = steady_clock(scratch)
        if finished >= deadline:
            statistics[OVERRUNS] += 1
            deadline = finished + period


@kernel
def _note_lateness(statistics: Words, histogram: Words, lateness: int) -> None:
    statistics[LATEST] = max(statistics[LATEST], lateness)
    histogram[min(max(lateness // 1000, 0), len(histogram) - 1)] += 1


@kernel
def _forget_commands(seen: Words, timeout: int) -> None:
    """Make every command too old: seen at -timeout - 1 when the watchdog's clock shows 0."""
    for k in range(len(seen) // 2):
        seen[len(seen) // 2 + k] = -timeout - 1


@kernel
def _take_commands(
    arrival: Words, inbox: Floats, now: int, watch: int, seen: Words, command: Floats
) -> None:
    """Note new commands and when they came, by the watchdog's clock: it stands while paused."""
    nv = len(inbox)
    for k in range(nv):
        if arrival[k] != seen[k]:
            seen[k] = arrival[k]
            seen[nv + k] = watch - (now - arrival[k])
            command[k] = inbox[k]


@kernel
def _choose_effort(
    m: Model,
    d: Data,
    still: Data,
    dofs: Floats,
    settings: Words,
    command: Floats,
    seen: Words,
    watch: int,
    state: Words,
) -> None:
    """Write qfrc_applied: commands, or the policy where they are too old; clamped."""
    nv = m.nv
    timeout, policy = settings[TIMEOUT], settings[POLICY]
    # slow enough for the timestep: a joint must not be thrown back by one brake
    rate = 1.0 / max(HOLD_TIME, 10.0 * m.opt.timestep) if policy == HOLD else 0.0
    state[SATURATED] = -1
    state[STALE] = 0
    for k in range(nv):
        stale = dofs[0, k] != 0.0 and watch - seen[nv + k] > timeout
        state[STALE] += stale
        still.qvel[k] = d.qvel[k] if policy == HOLD else 0.0
        # joints that close loops cannot brake one without the other, nor those without effort
        still.qacc[k] = -rate * d.qvel[k] if stale or m.nefc > 0 else 0.0
    if state[STALE] > 0 and policy != ZERO:
        _carry(m, d, still)
    for k in range(nv):
        effort = command[k]
        if watch - seen[nv + k] > timeout:
            effort = 0.0 if policy == ZERO else still.qfrc_inverse[k]
        clamped = min(max(effort, -dofs[1, k]), dofs[1, k])
        if clamped != effort and dofs[0, k] != 0.0:
            state[SATURATED] = k
        d.qfrc_applied[k] = dofs[0, k] * clamped


@kernel
def _carry(m: Model, d: Data, still: Data) -> None:
    """Write still.qfrc_inverse: what carries the robot at still.qvel and causes still.qacc.

    Springs carry their part. Of what else is passive nothing is counted: damping and friction may
    help to brake. Where loops are closed the joints that take efforts share what is left for all
    by least squares, and qacc need not agree with the loops: what happens is the motion nearest
    to it (Gauss's principle of least constraint).
    """
    for k in range(m.nq):
        still.qpos[k] = d.qpos[k]
    still.time = d.time
    poses(m, still)
    com_pos(m, still)
    com_vel(m, still)
    for k in range(m.nv):
        still.qfrc_passive[k] = 0.0
    if m.nstiff + m.nspring > 0 and m.opt.passive:
        springs(m, still)
    bias_force(m, still)
    rne_acc(m, still)
    if m.nefc > 0:
        call_stage(m.constraint_stage, m, still)
        call_stage(m.share_stage, m, still)


@kernel
def _advance(m: Model, d: Data, state: Words, saved: Floats) -> None:
    """One timestep; a diverged one is undone and latches a fault."""
    nq = m.nq
    for k in range(nq):
        saved[k] = d.qpos[k]
    for k in range(m.nv):
        saved[nq + k] = d.qvel[k]
    start = d.time
    substep(m, d)
    if m.nvall > m.nv:
        expand(m, d)
    state[BAD] = d.nbad
    state[SINGULAR] = d.nsingular
    state[FAULT] = _diverged(m, d)
    if state[FAULT] < 0:
        state[TICK] += 1
        return
    d.time = start
    for k in range(nq):
        d.qpos[k] = saved[k]
    for k in range(m.nv):
        d.qvel[k] = saved[nq + k]
    if m.nvall > m.nv:
        expand(m, d)


@kernel
def _diverged(m: Model, d: Data) -> int:
    """Return the first joint whose state is not a number or huge, or -1."""
    for k in range(m.nvall):
        if not abs(d.qvel_all[k]) <= HUGE:  # a NaN passes no comparison
            return _owner(m, m.jnt_dofadr_all, k)
    for k in range(m.nqall):
        if not abs(d.qpos_all[k]) <= HUGE:
            return _owner(m, m.jnt_qposadr_all, k)
    return -1


@kernel
def _owner(m: Model, address: Words, k: int) -> int:
    """Return the joint whose entries, beginning at its address, hold entry k."""
    owner = 0
    nearest = -1
    for j in range(m.njnt):
        if nearest < address[j] <= k and m.jnt_dofnum[j] > 0:
            nearest = address[j]
            owner = j
    return owner


@kernel
def _reset(m: Model, d: Data, start: Floats, state: Words) -> None:
    for k in range(m.nq):
        d.qpos[k] = start[k]
    for k in range(m.nv):
        d.qvel[k] = 0.0
        d.qfrc_applied[k] = 0.0
    if m.nvall > m.nv:
        expand(m, d)
    state[TICK] += 1
    state[FAULT] = -1
    state[SATURATED] = -1


@kernel
def _forget_loops(d: Data) -> None:
    """Forget where joints that close loops were: from a NaN they would never be found again."""
    for k in range(len(d.loop_data)):
        d.loop_data[k] = 0.0


@kernel
def _hand_over(
    m: Model,
    d: Data,
    state: Words,
    row: Floats,
    version: Words,
    words: Words,
    floats: Floats,
    event: int,
    scratch: Words,
) -> None:
    """Post qpos_all, qvel_all, effort and time.

    The effort is 0 where a joint is driven over time or follows another.
    """
    nq, nv = m.nqall, m.nvall
    for k in range(nq):
        row[k] = d.qpos_all[k]
    for k in range(nv):
        row[nq + k] = d.qvel_all[k]
    for k in range(m.nv):
        row[nq + nv + k] = d.qfrc_applied[k]
    row[nq + 2 * nv] = d.time
    post(version, words, floats, state, row)
    notify(event, scratch)
