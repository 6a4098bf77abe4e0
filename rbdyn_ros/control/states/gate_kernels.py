# SPDX-License-Identifier: Apache-2.0
"""Kernels of the safety gate: which states it admits, and which efforts it releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.control.base.faults import (
    ALLOWED,
    BLIND,
    FINITE,
    FOUND,
    JOINT,
    JUMPED,
    KIND,
    LATE,
    MOVED,
    OLD,
    SLOW,
    TOO_FAST,
    VALUE,
)
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.base.state_kernels import LONGEST, SHORTEST, inspect
from rbdyn_ros.control.states.clock import LATE_SINCE, MOST, SEEN, judge, seconds
from rbdyn_ros.control.states.loop_state import DIFFERENCE, LIMITED, RELEASED, SATURATED, START
from rbdyn_ros.engine.compiler.jit import Matrix, Vector

if TYPE_CHECKING:
    from rbdyn_ros.control.states.loop_state import ArmLoopState

#: Time constant of the mean of the time for which an effort acts [s]. The mean may reach LONGEST,
#: or the value that one pause of state_timeout gives it if that is larger.
HELD = 0.25
#: States count as missing after this many periods without a state, if that exceeds the largest
#: lag.
MISSED = 2.0
#: After a fault efforts may change this many times as fast: they may have to stop an arm that
#: wrong states set in motion.
HASTE = 5.0
#: Joints with a larger effort limit may change their efforts faster, in proportion [N m or N]:
#: with a rate limit that suits a light arm, a heavy arm would oscillate more and more.
STRONG = 150.0

# states


@kernel
def admit(s: ArmLoopState, time: int, arrival: int, stored: bool) -> float:
    """Judge a state; write its fault into s.wrong.

    Args:
        s: the state, and the earlier states.
        time: time of measurement [ns].
        arrival: on the steady clock [ns].
        stored: whether the state is in s.state; False: it was refused.

    Returns:
        The time since the previous state [s], from SHORTEST to LONGEST, or 0 without a new
        credible state.
    """
    if not stored:
        report(s, FINITE, 0, True, 0.0, 0.0)
        return 0.0
    first, waited = s.known == 0, max(seconds(s.arrival, arrival), 0.0)
    verdict = judge(time, arrival, s.latency, s.state_timeout, s.simulated > 0, s.times, s.numbers)
    jumped = verdict == JUMPED or verdict == TOO_FAST  # noqa: PLR1714 - translated to C++
    # only the steady clock measures the time across a jump
    s.passed = waited if jumped else seconds(s.time, time)
    if first:
        s.passed = np.inf
    now, last = s.state, s.before
    inspect(
        now[0],
        now[1],
        last[0],
        last[1],
        s.dofs,
        s.limits,
        s.acceleration,
        s.out[RELEASED],
        s.passed,
        s.memory,
        s.found,
    )
    copy_fault(s.found, s.wrong)
    blind = s.found[BLIND] > 0.0
    if jumped:
        report(s, verdict, 0, blind, s.numbers[SEEN], s.numbers[MOST])
    s.dropped = 1 if s.found[BLIND] == MOVED else 0
    if s.dropped > 0:
        take_back(s)
        return 0.0
    if not first:
        count_held(s, s.passed if s.simulated > 0 else waited)
    s.time, s.arrival, s.known = time, arrival, 1
    if jumped and not blind:
        return SHORTEST
    if verdict == LATE:
        report(s, LATE, 0, True, s.numbers[SEEN], s.numbers[MOST])
    if verdict == LATE or blind:
        return 0.0
    s.step = SHORTEST if first else max(s.passed, SHORTEST)
    return min(s.step, LONGEST)  # type: ignore[no-any-return]


@kernel
def report(s: ArmLoopState, kind: int, joint: int, blind: bool, value: float, most: float) -> None:
    """Write the fault of the newest state, with a value and the largest allowed value."""
    s.wrong[KIND], s.wrong[JOINT], s.wrong[BLIND] = kind, joint, 1.0 if blind else 0.0
    s.wrong[VALUE], s.wrong[ALLOWED] = value, most


@kernel
def copy_fault(source: Vector, target: Vector) -> None:
    for k in range(FOUND):
        target[k] = source[k]


@kernel
def take_back(s: ArmLoopState) -> None:
    """Return to the state before the newest state."""
    for i in range(s.state.shape[0]):
        for k in range(s.state.shape[1]):
            s.state[i, k] = s.before[i, k]


@kernel
def count_held(s: ArmLoopState, time: float) -> None:
    """Update the mean time for which an effort acts; the last effort acted for `time` [s].

    In a burst of states, in practice only the pause before the burst counts. A pause longer than
    state_timeout is a fault by itself, so the mean then starts anew.
    """
    time = max(time, 0.0)
    held = s.held - np.expm1(-time / HELD) * (time - s.held)
    s.held = 0.0 if time > s.state_timeout else held


@kernel
def is_slow(s: ArmLoopState) -> bool:
    """Return whether efforts act for so long that feedback may shake the arm, which is a fault."""
    if s.held <= LONGEST:
        return False
    pause = s.state_timeout
    most = max(LONGEST, -np.expm1(-pause / HELD) * pause)
    if s.held <= most:
        return False
    report(s, SLOW, 0, True, s.held, most)
    return True


@kernel
def is_old(s: ArmLoopState, now: int) -> bool:
    """Return whether the newest state is too old, which is a fault.

    `now` is on the steady clock [ns].
    """
    if age(s, now) <= s.state_timeout:
        return False
    report(s, OLD, 0, True, age(s, now), s.state_timeout)
    return True


@kernel
def is_late(s: ArmLoopState, now: int) -> bool:
    """Return whether the newest state is too old to answer; `now` is on the steady clock [ns]."""
    most = max(min(s.latency, s.state_timeout), MISSED * s.period)
    return bool(s.times[LATE_SINCE] > 0 or age(s, now) > most)


@kernel
def age(s: ArmLoopState, now: int) -> float:
    """Return the time since the newest state arrived [s], infinity before the first state.

    `now` is on the steady clock [ns].
    """
    return seconds(s.arrival, now) if s.known > 0 else np.inf


# efforts


@kernel
def begin(s: ArmLoopState, effort: Vector) -> None:
    """Start without a jump: the next efforts are `effort` (n,), within the limits.

    Their difference from the efforts of the law then decays.
    """
    for i in range(len(s.dofs)):
        cap = s.limits[3, i]
        s.out[START, i] = s.out[RELEASED, i] = min(max(effort[i], -cap), cap)
    s.since_start = 0.0


@kernel
def release(s: ArmLoopState, wanted: Vector, holding: Vector, dt: float, last: bool) -> int:
    """Write the efforts that may be commanded into s.out.

    An effort changes by at most effort_rate, or in proportion more if the joint's limit is above
    STRONG; NaN keeps the last effort. The difference at a bumpless start decays within blend_time.
    At the start itself the rate of the law is not limited.

    Args:
        s: the newest state, and the efforts released before.
        wanted: (nv,) efforts of the law [N m or N].
        holding: (nv,) efforts that hold the arm; only efforts beyond these push it.
        dt: time since the last call, of which at most LONGEST counts [s].
        last: whether these are the last efforts, whose rate is not limited, because the driver may
            repeat them.

    Returns:
        The first joint for which the law is not a number, which is a fault; or -1.
    """
    starts, found, qpos = s.since_start == 0.0, -1, s.state[0]
    rate = s.effort_rate * (HASTE if s.faulty > 0 else 1.0)
    usual = np.inf if last else rate * min(dt, LONGEST)
    share = share_left(s.since_start / s.blend_time)
    for i in range(len(s.dofs)):
        k = s.dofs[i]
        tau, hold, q = wanted[k], holding[k], qpos[k]
        step = usual * max(1.0, s.limits[3, i] / STRONG)
        if not (np.isnan(tau) or np.isnan(hold)):
            limit(tau, hold, q, s.limits, np.inf if starts else step, i, s.out)
        elif found < 0:
            found = i
        if starts:
            s.out[DIFFERENCE, i] = s.out[RELEASED, i] - s.out[LIMITED, i]
        blend(hold, q, s.limits, step, share, i, s.out)
    s.since_start += min(dt, LONGEST)
    return found


@kernel
def share_left(x: float) -> float:
    """Return a share that falls smoothly from 1 to 0 as x increases from 0 to 1."""
    return 0.5 + 0.5 * np.cos(np.pi * x) if x < 1.0 else 0.0


@kernel
def limit(
    tau: float, hold: float, q: float, rows: Matrix, step: float, i: int, out: Matrix
) -> None:
    """Write the effort of a law within its limits, see `allowed`, changed by at most `step`.

    The effort and whether it is saturated are written to column i of `out`.
    """
    out[SATURATED, i] = abs(tau) > rows[3, i]
    before = out[LIMITED, i]
    out[LIMITED, i] = min(max(allowed(tau, hold, q, rows, i), before - step), before + step)


@kernel
def blend(
    hold: float, q: float, rows: Matrix, step: float, share: float, i: int, out: Matrix
) -> None:
    """Add the fraction `share` of the initial difference to the effort of a law, within limits.

    The sum stays between the effort of the law and the initial effort, even if the law changes.
    """
    law, start, before = out[LIMITED, i], out[START, i], out[RELEASED, i]
    tau = law + share * out[DIFFERENCE, i]
    tau = min(max(tau, min(law, start)), max(law, start))
    if share > 0.0 and not np.isnan(hold):
        tau = allowed(tau, hold, q, rows, i)
    out[RELEASED, i] = min(max(tau, before - step), before + step)


@kernel
def allowed(tau: float, hold: float, q: float, rows: Matrix, i: int) -> float:
    """Return an effort `tau` within its limit; at a position limit, at most `hold`.

    `hold` is the effort that holds joint i, q its position, and `rows` are the limits.
    """
    tau = min(max(tau, -rows[3, i]), rows[3, i])
    if q >= rows[1, i]:
        tau = min(tau, max(hold, 0.0))
    if q <= rows[0, i]:
        tau = max(tau, min(hold, 0.0))
    return tau
