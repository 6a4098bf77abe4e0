# SPDX-License-Identifier: Apache-2.0
"""Kernels of the loop of an arm: its reactions to a state, to a missing state and to a fault.

    notice_pause  before a state is stored
    see           a state was stored, or refused
    watch         no state came
    brake, coast, answer_blindly, follow    write the efforts that answer

They also run in generated controllers of ros2_control. `m, d` is the arm with its payloads,
`bare, own` the robot that compensates its own gravity; `b` is the memory of control/blind.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.control.arm.actuation import Actuation, hold
from rbdyn_ros.control.base.faults import BLIND, FROZEN, IDLE, KIND, STRAYED, UNFIT
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.blind.coasting import coast as coast_on
from rbdyn_ros.control.blind.endings import BLIND as IS_BLIND
from rbdyn_ros.control.blind.endings import (
    NO_REASON,
    PAUSE,
    PAUSED,
    SILENT,
    disbelieves,
    diverge,
    doubt,
    since,
    stop_blindly,
)
from rbdyn_ros.control.blind.endings import begin as begin_ending
from rbdyn_ros.control.blind.endings import see as see_fault
from rbdyn_ros.control.blind.state import BlindState
from rbdyn_ros.control.blind.velocity_vote import remember
from rbdyn_ros.control.blind.witness import ANYTHING, BY_HAND, CONTACT, pause
from rbdyn_ros.control.blind.witness import look as witness
from rbdyn_ros.control.motion.tracking import far_from_target
from rbdyn_ros.control.states.clock import LAG, LATE_SINCE
from rbdyn_ros.control.states.gate_kernels import (
    admit,
    age,
    copy_fault,
    is_late,
    is_old,
    is_slow,
    release,
    report,
)
from rbdyn_ros.control.states.loop_state import RELEASED, ArmLoopState
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: Actions: wait, or one of the answers. FOLLOW applies the law of the mode.
WAIT, STOP_BLINDLY, COAST, TEST, BRAKE, FOLLOW = range(6)


# states


@kernel
def notice_pause(b: BlindState, s: ArmLoopState, now: int) -> bool:
    """Trip if the last state came too long ago; return whether it tripped.

    After a pause of the process nothing is sent any more: the arm may be somewhere else. `now` is
    on the steady clock [ns].
    """
    if (s.armed == 0 and s.testing == 0) or s.known == 0 or not is_old(s, now):
        return False
    trip(b, s)
    if overdue(s, now) > b.blind_time + PAUSE and b.phase != SILENT:
        b.coasts = 0
        diverge(b, NO_REASON if b.phase == IS_BLIND else PAUSED)
    return True


@kernel
def see(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    b: BlindState,
    s: ArmLoopState,
    time: int,
    now: int,
    stored: bool,
) -> int:
    """Judge a state and trip if it is wrong; return the action, see WAIT.

    `time` is the time of the state, `now` is on the steady clock [ns]. A state that is not
    `stored` in s.state was refused.
    """
    s.dt = admit(s, time, now, stored)
    if s.dt == 0.0:
        pause(b)
    elif s.acts > 0:
        look(m, d, bare, own, a, b, s, now)
    s.lost = 1 if s.wrong[BLIND] > 0.0 else 0
    if s.wrong[KIND] > 0.0:
        trip(b, s)
        if s.lost > 0 and s.wrong[KIND] <= FROZEN:
            if b.lied == 0:
                copy_fault(s.wrong, s.lie)
            doubt(b, s.dropped > 0)
    if s.lost > 0:
        return STOP_BLINDLY
    if s.testing > 0:
        return TEST
    if s.acts > 0 and s.times[LATE_SINCE] > 0:
        return COAST
    b.coasts = 0
    return BRAKE if s.armed > 0 and s.faulty > 0 else FOLLOW


@kernel
def watch(b: BlindState, s: ArmLoopState, now: int) -> int:
    """Judge a missing state; return the action, see WAIT.

    `now` is on the steady clock [ns].
    """
    if s.armed == 0 and s.testing == 0:
        return WAIT
    if is_old(s, now):
        s.lost = 1
        trip(b, s)
    if s.lost > 0:
        return STOP_BLINDLY
    if s.faulty == 0 and s.acts > 0 and is_late(s, now):
        s.dt = age(s, now)
        return COAST
    return WAIT


@kernel
def look(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    b: BlindState,
    s: ArmLoopState,
    now: int,
) -> None:
    """Compare the motion with the efforts sent; store the motion and any fault."""
    qpos, qvel = s.state[0], s.state[1]
    if disbelieves(b, now, qpos, qvel):
        copy_fault(s.lie, s.wrong)
        return
    if is_slow(s):
        return
    if s.times[LATE_SINCE] > 0:  # a late state shows nothing about the efforts sent since then
        pause(b)
        return
    recall_command(s)
    contact = s.contact if s.soft > 0 else 0.0
    blocked = BY_HAND if s.floats > 0 else max(CONTACT, contact)
    if s.faulty > 0:
        blocked = ANYTHING
    i = witness(m, d, bare, own, a, b, qpos, qvel, s.command, s.measured, s.step, contact, blocked)
    if i >= 0:
        report(s, FROZEN, i, True, qpos[s.dofs[i]], qvel[s.dofs[i]])
    else:
        remember(b, s.time, qpos, qvel)


@kernel
def recall_command(s: ArmLoopState) -> None:
    """Write the commands sent last and the measured efforts; uncontrolled joints are held."""
    for k in range(len(s.command)):
        s.command[k] = s.holding[k]
        s.measured[k] = s.state[2, k] if s.measures > 0 else np.nan
    for i in range(len(s.dofs)):
        s.command[s.dofs[i]] = s.out[RELEASED, i]


@kernel
def trip(b: BlindState, s: ArmLoopState) -> None:
    """Latch the fault s.wrong.

    The fault ends a start-up test, or begins the stop of an armed arm without an earlier fault.
    """
    if s.testing > 0:
        s.testing = 0
        copy_fault(s.wrong, s.latched)
    elif s.armed > 0 and s.faulty == 0:
        s.faulty, s.since_start = 1, np.inf  # a bumpless start would delay braking
        copy_fault(s.wrong, s.latched)
        begin_ending(b)


@kernel
def overdue(s: ArmLoopState, now: int) -> float:
    """Return for how long the newest state has been too old [s]; 0 if it is not too old.

    `now` is on the steady clock [ns].
    """
    return max(age(s, now) - s.state_timeout, 0.0)  # type: ignore[no-any-return]


# efforts


@kernel
def brake(
    m: Model, d: Data, bare: Model, own: Data, a: Actuation, b: BlindState, s: ArmLoopState
) -> bool:
    """Write the efforts of a faulty arm after a valid state; return False to stay silent."""
    hold(m, d, bare, own, a, s.state[0], s.holding)
    if not see_fault(m, d, bare, own, a, b, s.time, s.state[0], s.state[1], s.dt, s.wanted):
        return False
    release(s, s.wanted, s.holding, s.dt, b.phase == SILENT)
    return True


@kernel
def answer_blindly(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    b: BlindState,
    s: ArmLoopState,
    now: int,
) -> bool:
    """Write the efforts of an arm whose state is unknown; return False to stay silent.

    `now` is on the steady clock [ns].
    """
    dt, late = since(b, now), overdue(s, now)
    if not stop_blindly(
        m, d, bare, own, a, b, now, late, s.time, s.state[0], s.state[1], s.wanted
    ):
        return False
    release(s, s.wanted, s.wanted, dt, b.phase == SILENT)
    return True


@kernel
def coast(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    b: BlindState,
    s: ArmLoopState,
    now: int,
) -> bool:
    """Write the efforts of an arm whose newest state is late; return False to stay silent.

    `now` is on the steady clock [ns].
    """
    if s.faulty > 0:
        return answer_blindly(m, d, bare, own, a, b, s, now)
    recall_command(s)
    late = s.numbers[LAG] + age(s, now)
    dt = coast_on(
        m, d, bare, own, a, b, now, late, s.dt, s.state[0], s.state[1], s.command, s.wanted
    )
    release(s, s.wanted, s.wanted, dt, False)
    return True


@kernel
def follow(b: BlindState, s: ArmLoopState, effort: Vector) -> bool:
    """Limit and write the efforts (nv,) of a law; trip and return True if one is not a number."""
    i = release(s, effort, s.holding, s.dt, False)
    if i < 0:
        return False
    report(s, UNFIT, i, False, effort[s.dofs[i]], 0.0)
    trip(b, s)
    return True


@kernel
def judge_target(
    b: BlindState, s: ArmLoopState, target: Vector, tolerance: float, idle: float, timeout: float
) -> bool:
    """Trip if the target is too far away, or has waited for too long; return whether it tripped.

    `target` are positions (nv,), and `tolerance` is the largest distance from there [rad or m]; 0:
    no limit. `idle` is the time since the last path ended, infinite if there was none, and
    `timeout` the longest such time [s]; 0: no limit.
    """
    i = far_from_target(target, s.state[0], s.dofs, tolerance) if tolerance > 0.0 else -1
    if i >= 0:
        k = s.dofs[i]
        report(s, STRAYED, i, False, abs(target[k] - s.state[0, k]), tolerance)
        trip(b, s)
    waits = timeout > 0.0 and timeout < idle < np.inf
    if waits:
        report(s, IDLE, 0, False, idle, timeout)
        trip(b, s)
    return i >= 0 or waits
