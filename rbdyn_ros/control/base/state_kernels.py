# SPDX-License-Identifier: Apache-2.0
"""Kernels that judge a state: limits of the joints, and whether positions and velocities agree.

The rows of `rows` (6, n) are the lower and upper position limits, the velocity limits, the effort
limits, the power limits and the limits of the gain of speed of the n controlled joints, whose
degrees of freedom are `dofs`.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.arrays import Ints
from rbdyn_ros.control.base.faults import (
    ACCELERATION,
    ALLOWED,
    BLIND,
    GAIN,
    JOINT,
    KIND,
    MOVED,
    POSITION,
    POWER,
    UNLIKE,
    VALUE,
    VELOCITY,
)
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.base.limits import MARGIN
from rbdyn_ros.engine.compiler.jit import Matrix, Vector

#: Bounds of the time between two states, for rates and paths [s].
SHORTEST, LONGEST = 1e-5, 0.02
#: Positions and velocities are compared over three intervals [s]. The short intervals soon show
#: large errors, and the long interval shows slow errors. Displacements may differ by BRIEF_GAP,
#: RECENT_GAP and LONG_GAP [rad or m].
BRIEF, RECENT, LONG = 0.04, 0.25, 10.0
BRIEF_GAP, RECENT_GAP, LONG_GAP = 0.03, 0.1, 0.05
#: Positions must follow a velocity that jumped by JOLT between two states [rad/s or m/s]: over the
#: shortest interval they may then differ by JOLTED [rad or m].
JOLT, JOLTED = 0.5, 0.01
#: Over the longest interval, positions and velocities may also differ by this share of the
#: distance travelled.
SHARE = 0.05
#: A large motion that the velocities explain counts as overspeed, up to this multiple of the
#: velocity limit.
EXPLAINED = 2.0
#: Shortest time over which accelerations are measured [s], because velocities are noisy.
MEASURING = 0.005
#: Gains of speed are measured over the time in which a limit allows this gain [rad/s or m/s],
#: because velocities are noisy.
GAINED = 0.5

#: Rows of the memory (ROWS, n): deviations over the three intervals, and the distance over the
#: longest interval; the velocity from which the acceleration is measured, and its age; the time
#: for which a jump of the velocity is still remembered; the velocity from which a gain is
#: measured, and its age.
WAY, REFERENCE, AGE, JUMP, SLOW, SINCE, ROWS = 3, 4, 5, 6, 7, 8, 9


@kernel
def inspect(
    qpos: Vector,
    qvel: Vector,
    last_qpos: Vector,
    last_qvel: Vector,
    dofs: Ints,
    rows: Matrix,
    acceleration: float,
    effort: Vector,
    step: float,
    memory: Matrix,
    found: Vector,
) -> None:
    """Write the first fault of a state into `found`.

    Positions are checked before velocities. `step` is the time since the previous state, infinite
    for the first state; `effort` (n,) acted since then. `last_qpos` and `last_qvel` are the
    previous state, `acceleration` is the limit of accelerations, and `memory` has the rows WAY to
    SINCE.
    """
    found[KIND] = found[BLIND] = 0.0
    for i in range(len(dofs)):
        q = qpos[dofs[i]]
        if found[KIND] == 0.0 and not rows[0, i] - MARGIN <= q <= rows[1, i] + MARGIN:
            report(POSITION, i, q, rows[0, i] if q < rows[0, i] else rows[1, i], found)
    for i in range(len(dofs)):
        v = qvel[dofs[i]]
        if found[KIND] == 0.0 and not abs(v) <= rows[2, i]:
            report(VELOCITY, i, v, rows[2, i], found)
    for i in range(len(dofs)):
        k = dofs[i]
        travelled = 0.5 * step * (qvel[k] + last_qvel[k])
        moved = qpos[k] - last_qpos[k]
        if step < np.inf and jumped(moved, travelled, qvel[k], rows[2, i], step):
            found[BLIND] = MOVED
            if found[KIND] == 0.0 or found[KIND] == VELOCITY:
                report(MOVED, i, moved, rows[2, i] * step, found)
    if found[BLIND] == 0.0:
        compare(qpos, qvel, last_qpos, last_qvel, dofs, step, memory, found)
        judge_change(qvel, dofs, rows, acceleration, effort, step, memory, found)


@kernel
def report(kind: int, i: int, value: float, allowed: float, found: Vector) -> None:
    """Write a fault of joint i into `found`, with a value and the allowed value."""
    found[KIND], found[JOINT], found[VALUE], found[ALLOWED] = kind, i, value, allowed


@kernel
def jumped(moved: float, travelled: float, speed: float, fastest: float, step: float) -> bool:
    """Return whether a joint moved farther than its velocity limit and measured velocity allow.

    By its measured velocities, the joint `travelled` during the time `step` [s]. Its last velocity
    is `speed`, and its limit is `fastest`.
    """
    if abs(moved) <= fastest * step + MARGIN:
        return False
    explained = abs(moved - travelled) <= MARGIN + 0.1 * abs(travelled)
    return not (explained and abs(speed) <= EXPLAINED * fastest)


@kernel
def compare(
    qpos: Vector,
    qvel: Vector,
    last_qpos: Vector,
    last_qvel: Vector,
    dofs: Ints,
    step: float,
    memory: Matrix,
    found: Vector,
) -> None:
    """Compare displacements with velocities; a pause restarts the two short comparisons.

    With a velocity of the wrong sign, damping would accelerate the arm. Arguments as for
    `inspect`.
    """
    steady = step <= LONGEST
    brief, recent, kept = np.exp(-step / BRIEF), np.exp(-step / RECENT), np.exp(-step / LONG)
    for i in range(len(dofs)):
        k = dofs[i]
        travelled = 0.5 * step * (qvel[k] + last_qvel[k])
        off = qpos[k] - last_qpos[k] - travelled
        memory[0, i] = brief * memory[0, i] + off if steady else 0.0
        memory[1, i] = recent * memory[1, i] + off if steady else 0.0
        if steady:
            memory[2, i] = kept * memory[2, i] + off
            memory[WAY, i] = kept * memory[WAY, i] + abs(travelled)
        jolted = abs(qvel[k] - last_qvel[k]) > JOLT
        memory[JUMP, i] = BRIEF if jolted else memory[JUMP, i] - step
        allowed = JOLTED if memory[JUMP, i] > 0.0 else BRIEF_GAP
        drifted = LONG_GAP + SHARE * memory[WAY, i]
        first, second = abs(memory[0, i]) / allowed, abs(memory[1, i]) / RECENT_GAP
        worst = max(first, second, abs(memory[2, i]) / drifted)
        if not worst <= 1.0:
            found[BLIND] = UNLIKE
            if found[KIND] == 0.0 or found[KIND] == VELOCITY:
                if first == worst:
                    report(UNLIKE, i, abs(memory[0, i]), allowed, found)
                elif second == worst:
                    report(UNLIKE, i, abs(memory[1, i]), RECENT_GAP, found)
                else:
                    report(UNLIKE, i, abs(memory[2, i]), drifted, found)


@kernel
def judge_change(
    qvel: Vector,
    dofs: Ints,
    rows: Matrix,
    acceleration: float,
    effort: Vector,
    step: float,
    memory: Matrix,
    found: Vector,
) -> None:
    """Check accelerations, and the power of the last efforts; arguments as for `inspect`."""
    for i in range(len(dofs)):
        v = qvel[dofs[i]]
        memory[AGE, i] += step
        if not memory[AGE, i] <= LONGEST:  # begin anew at the first state and after a pause
            memory[REFERENCE, i], memory[AGE, i] = v, 0.0
        elif memory[AGE, i] >= MEASURING:
            change = abs(v - memory[REFERENCE, i])
            if change > acceleration * memory[AGE, i] and found[KIND] == 0.0:
                report(ACCELERATION, i, change / memory[AGE, i], acceleration, found)
            memory[REFERENCE, i], memory[AGE, i] = v, 0.0
        if rows[5, i] < np.inf:
            judge_gain(v, i, rows[5, i], step, memory, found)
        if found[KIND] == 0.0 and abs(effort[i] * v) > rows[4, i]:
            report(POWER, i, abs(effort[i] * v), rows[4, i], found)


@kernel
def judge_gain(v: float, i: int, most: float, step: float, memory: Matrix, found: Vector) -> None:
    """Check that joint i, which has velocity v, does not gain speed faster than `most`.

    It may lose speed faster.
    """
    memory[SINCE, i] += step
    if not step <= LONGEST:  # begin anew at the first state and after a pause
        memory[SLOW, i], memory[SINCE, i] = v, 0.0
    elif memory[SINCE, i] >= max(MEASURING, GAINED / most):
        gained = abs(v) - abs(memory[SLOW, i])
        if found[KIND] == 0.0 and gained > most * memory[SINCE, i]:
            report(GAIN, i, gained / memory[SINCE, i], most, found)
        memory[SLOW, i], memory[SINCE, i] = v, 0.0
