# SPDX-License-Identifier: Apache-2.0
"""The velocity by which an arm is braked after a fault: the median of three.

    measured   the velocity of the newest state
    moved      the change of the positions over the last WINDOW, per time
    due        the velocity REACH before, plus the change by the efforts sent since then

So a single wrong source is outvoted: velocities of a wrong sign or scale, positions that drift, a
clock at another rate, a model without the payload. If states repeat, `measured` is the old
velocity and `moved` is 0, and the result lies between them. If a joint is really blocked, both are
0 and outvote the model, in which the joint moves on.
"""

from __future__ import annotations

from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.base.state_kernels import LONGEST
from rbdyn_ros.control.blind.state import REMEMBERED, BlindState
from rbdyn_ros.control.blind.witness import hears_nothing
from rbdyn_ros.control.states.clock import seconds
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.nanoseconds import NANOSECONDS

#: Times over which positions and efforts are compared with velocities [s].
WINDOW, REACH = 0.015, 0.1
#: Shortest time between two remembered states [s].
SPACING = 0.004


@kernel
def forget(s: BlindState) -> None:
    """Drop all states: until new states come, the measured velocity counts alone."""
    s.remembered = s.newest = 0


@kernel
def remember(s: BlindState, time: int, qpos: Vector, qvel: Vector) -> None:
    """Store a state, unless it follows the last stored state too soon; restart after a pause.

    `time` is the time of measurement [ns].
    """
    step = seconds(s.newest, time)
    if not 0.0 <= step <= LONGEST:
        forget(s)
    s.newest = time
    last = s.past_time[(s.remembered - 1) % REMEMBERED]
    if s.remembered > 0 and seconds(last, time) < SPACING:
        return
    i = s.remembered % REMEMBERED
    s.past_time[i] = time
    for k in range(len(qpos)):
        s.past_qpos[i, k], s.past_qvel[i, k], s.past_due[i, k] = qpos[k], qvel[k], s.due[k]
    s.remembered += 1


@kernel
def vote(s: BlindState, time: int, qpos: Vector, qvel: Vector) -> None:
    """Write s.voted, the median of three velocities, for a state, stored or not.

    The arguments are those of `remember`.

    If the state is certainly old, the model alone decides.
    """
    near, far = before(s, time, WINDOW), before(s, time, REACH)
    passed = seconds(s.past_time[near], time)
    old = hears_nothing(s)
    for k in range(len(qpos)):
        s.voted[k] = qvel[k]
        if s.remembered > 0:
            due = s.past_qvel[far, k] + s.due[k] - s.past_due[far, k]
            moved = (qpos[k] - s.past_qpos[near, k]) / passed if passed > 0.0 else qvel[k]
            low, high = min(qvel[k], moved), max(qvel[k], moved)
            s.voted[k] = due if old else max(low, min(high, due))


@kernel
def before(s: BlindState, time: int, age: float) -> int:
    """Return the index of the newest state at least `age` [s] before `time`, or of the oldest."""
    oldest, number = max(0, s.remembered - REMEMBERED), max(0, s.remembered - 1)
    while number > oldest and (
        float(s.past_time[number % REMEMBERED]) > float(time) - age * NANOSECONDS
    ):
        number -= 1
    return number % REMEMBERED  # type: ignore[no-any-return]
