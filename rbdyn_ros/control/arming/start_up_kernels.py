# SPDX-License-Identifier: Apache-2.0
"""Kernels of the start-up test of an arm that takes efforts; they also run in generated C++.

First the arm is held by the model alone. Then each joint in turn gets an effort that moves it by
some mrad and back, and the other joints get the efforts at which they stay.

A pulse is computed before it begins. States that arrive during the pulse can only end the test or
slightly change the efforts against gravity, so wrong numbers are not amplified. A stronger pulse
follows if friction may have held the joint, and once after a wrong reply.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from rbdyn_ros.arrays import Ints
from rbdyn_ros.control.arm.actuation import Actuation, add_friction
from rbdyn_ros.control.arming.start_up_reply import (
    LONGEST_DELAY,
    MEASURED,
    MOTION,
    ROWS,
    VELOCITY,
    Reply,
    dot,
    fit,
    remember,
    within,
)
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.base.record import Record
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.engine.forward import mass_matrix
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.fields import Field
from rbdyn_ros.model.model import Model

#: Time before the first pulse [s], and the largest displacement of a joint meanwhile [rad or m].
QUIET, STILL = 0.1, 0.004
#: Largest displacement of a pulse [rad]. A slide moves by the share SLIDING of FARTHEST [m].
FARTHEST, SLIDING = 0.015, 0.25
#: Least distance from a limit during a pulse [rad or m].
CLEAR = 0.002
#: Number of strengths of a pulse. If a joint moves only at strength SIGN_ONLY or above, its
#: friction is so large that only the sign of the reply is judged. If friction held the joint under
#: the first pulse, the tolerance factor is squared.
LEVELS, SIGN_ONLY = 4, 2
#: If a joint's inertia falls by this factor when all other joints are free, it turns about nearly
#: the same axis as another joint: only the sign of its reply is judged.
COUPLED = 15.0
#: A joint counts as moved beyond this share of its commanded displacement.
MOVED = 0.25
#: Largest reported displacement of the driven joint, and of another joint [rad or m].
FAR, OTHERS = 0.06, 0.03
#: Least time from the end of a pulse to the judgement of the reply [s]. A joint rests if it moved
#: by at most the share RESTING of its largest displacement in the last AFTER / 2.
AFTER, RESTING = 0.04, 0.1
#: Largest delay of a reply, as a share of latency_limit.
PROMPT = 0.9
#: States that are further apart end the test: the last effort acted for too long [s].
LATE = 0.03
#: Bounds of the ratios of reported to true velocities, and of measured to sent efforts.
SLOWEST, FASTEST, WEAKEST, STRONGEST = 0.7, 1.4, 0.5, 2.0
#: Share of the known friction that counts as compensated.
SURE = 0.75
#: By Newton's law, friction of the share HOLDS of a pulse's largest effort keeps a joint within
#: MOVED of its displacement. If the pulse moves other joints instead, the share HINDERS is enough.
HOLDS, HINDERS = 0.65, 0.25
#: Largest motion of another joint, as a multiple of its motion if the driven joint were fixed.
DRAGGED = 1.5
#: Pulses get stronger up to this share of the effort limit. A joint that still does not move must
#: have known friction that holds it, or the test ends.
GENTLE = 0.1
#: Largest share of a reply that the model may leave unexplained.
UNLIKE = 0.3
#: Largest speed and acceleration of the pulse sin^4 with the distance 1 and the duration 1.
PEAK_SPEED, PEAK_ACCELERATION = 1.299 * math.pi, 4.0 * math.pi**2
#: Findings; 0: none. Texts are in start_up.py.
APART, LEFT, DRIFTS, OTHER, HELD, SIGN, MISMATCH, SHARE, SLOW, SPEED, EFFORT = range(1, 12)


class StartUp(Record):
    """State of a start-up test, in rad or m, and in the units that follow from them."""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        # inputs
        Field("dofs", ("n",), "controlled degrees of freedom", "int"),
        Field("velocity", ("n",), "velocity limits"),
        Field("effort", ("n",), "effort limits"),
        Field("ways", ("n",), "largest displacements, with the sign of the free side"),
        Field("dry", ("nv",), "dry friction in the robot's description"),
        Field("period", (), "mean time between two states [s]"),
        Field("tolerance", (), "factor by which an acceleration may differ from the model"),
        Field("latency", (), "latency_limit [s]"),
        Field("measures", (), "1: the joints measure their efforts", "int"),
        # progress of the test
        Field("k", (), "number of the driven joint; -1: none yet", "int"),
        Field("level", (), "number of the strength", "int"),
        Field("stuck", (), "1: friction held the joint at first", "int"),
        Field("done", (), "1: every joint has passed", "int"),
        Field("untested", ("n",), "1: by the model, friction holds the joint", "int"),
        Field("way", (), "displacement of the pulse"),
        Field("duration", (), "duration of the pulse [s]"),
        Field("time", (), "time since the pulse began [s]"),
        Field("rest", ("n",), "positions where the joints rested"),
        Field("start", ("n",), "positions when the pulse began"),
        Field("most", ("n",), "largest distances from these positions since then"),
        Field("due_place", ("n",), "displacement since then by the model, without friction"),
        Field("due_speed", ("n",), "velocity by the model, without friction"),
        Field("holding", ("nv",), "commands that hold the arm at the newest state"),
        Field("turning", ("nv",), "velocities of the pulse"),
        Field("rubbing", ("nv",), "known friction of the pulse"),
        Field("mass", ("nv", "nv"), "mass matrix"),
        Field("mobility", ("n", "n"), "inverse of the mass matrix of the controlled joints"),
        Field("rows", ("n", "n"), "work space"),
        # findings
        Field("joint", (), "number of the joint", "int"),
        Field("value", (), "measured value"),
        Field("bound", (), "value to compare with; for OTHER the number of the driven joint"),
    )


@kernel
def choose_ways(
    lower: Vector, upper: Vector, slides: Ints, dofs: Ints, qpos: Vector, ways: Vector
) -> int:
    """Write the largest displacements `ways` (n,), away from near limits.

    `lower` and `upper` are position limits, and slides[i] is 1 for a sliding joint.

    Return the first joint without room for the motion, or -1.
    """
    for i in range(len(dofs)):
        place = qpos[dofs[i]]
        up, down = upper[i] - place, place - lower[i]
        way = SLIDING * FARTHEST if slides[i] > 0 else FARTHEST
        ways[i] = way if up >= down else -way
        if max(up, down) - CLEAR < way:
            return i
    return -1


@kernel
def begin(m: Model, d: Data, s: StartUp, qpos: Vector, holding: Vector) -> None:
    """Begin the test of an arm that rests at qpos (nv,) under the commands `holding` (nv,)."""
    for k in range(m.nv):
        d.qpos[k], s.holding[k], s.rubbing[k] = qpos[k], holding[k], 0.0
    mass_matrix(m, d, s.mass)
    invert(s)
    for i in range(len(s.dofs)):
        s.rest[i] = s.start[i] = qpos[s.dofs[i]]
        s.most[i], s.due_place[i], s.due_speed[i], s.untested[i] = 0.0, 0.0, 0.0, 0
    s.k, s.level, s.stuck, s.done, s.time = -1, 0, 0, 0, 0.0


@kernel
def inertia(s: StartUp, i: int, j: int) -> float:
    """Return the entry i, j of the mass matrix of the controlled joints."""
    return float(s.mass[s.dofs[i], s.dofs[j]])


@kernel
def invert(s: StartUp) -> None:
    """Write the inverse of the mass matrix of the controlled joints, by elimination."""
    n = len(s.dofs)
    for i in range(n):
        for j in range(n):
            s.rows[i, j] = inertia(s, i, j)
            s.mobility[i, j] = 1.0 if i == j else 0.0
    for p in range(n):  # no other pivots are needed: the matrix is positive definite
        pivot = s.rows[p, p]
        for j in range(n):
            s.rows[p, j] /= pivot
            s.mobility[p, j] /= pivot
        for i in range(n):
            if i != p:
                factor = s.rows[i, p]
                for j in range(n):
                    s.rows[i, j] -= factor * s.rows[p, j]
                    s.mobility[i, j] -= factor * s.mobility[p, j]


@kernel
def advance(
    s: StartUp,
    r: Reply,
    a: Actuation,
    qpos: Vector,
    qvel: Vector,
    effort: Vector,
    holding: Vector,
    released: Vector,
    step: float,
    wanted: Vector,
) -> int:
    """Write the commands `wanted` (nv,) after a state; return the finding, or 0.

    A finding ends the test. `effort` are the measured efforts (nv,), `holding` the commands that
    hold the arm here (nv,), `released` the commands that acted since the previous state (n,), and
    `step` the time since then [s].
    """
    if step > LATE + 2.0 * s.period:
        return refuse(s, APART, 0, 1e3 * step, 0.0)
    predict(s, released, step)
    for k in range(len(holding)):
        s.holding[k] = holding[k]
    s.time += step
    found = watch(s, r, a, qpos)
    if found == 0 and s.k < 0:
        if s.time >= QUIET:
            start_pulse(s, r, 0, 0, qpos)
    elif found == 0:
        record(s, r, qpos, qvel, effort, released)
        found = judge_when_due(s, r, a, qpos)
    write_commands(s, a, wanted)
    return found


@kernel
def refuse(s: StartUp, found: int, joint: int, value: float, bound: float) -> int:
    """Store a finding's joint, value and bound for the message; return the finding."""
    s.joint, s.value, s.bound = joint, value, bound
    return found


@kernel
def predict(s: StartUp, released: Vector, step: float) -> None:
    """Predict the motion under the commands `released` (n,), without the known friction."""
    for i in range(len(s.dofs)):
        gain = 0.0
        for j in range(len(s.dofs)):
            k = s.dofs[j]
            gain += s.mobility[i, j] * (released[j] - s.holding[k] - s.rubbing[k])
        s.due_place[i] += step * (s.due_speed[i] + 0.5 * step * gain)
        s.due_speed[i] += step * gain


@kernel
def write_commands(s: StartUp, a: Actuation, wanted: Vector) -> None:
    """Write the commands `wanted` (nv,) of a pulse with the motion way sin^4(pi t / duration)."""
    for k in range(len(wanted)):
        wanted[k], s.rubbing[k], s.turning[k] = s.holding[k], 0.0, 0.0
    if s.k < 0 or s.time <= 0.0 or s.time >= s.duration:
        return
    rate = math.pi / s.duration
    angle = 2.0 * rate * s.time
    speed = s.way * rate * (np.sin(angle) - 0.5 * np.sin(2.0 * angle))
    gain = 2.0 * s.way * rate * rate * (np.cos(angle) - np.cos(2.0 * angle))
    s.turning[s.dofs[s.k]] = speed
    add_friction(a, s.turning, 1.0, s.rubbing)
    for k in range(len(wanted)):
        wanted[k] += s.rubbing[k]
    for i in range(len(s.dofs)):
        wanted[s.dofs[i]] += gain * inertia(s, i, s.k)


@kernel
def strength(level: int) -> tuple[float, float, float, float, float]:
    """Return the five numbers that describe the pulses of a strength.

    These are the displacement as a share of the largest displacement, the shortest duration [s]
    and number of states, and the largest effort beyond gravity and the largest speed as shares of
    the limits.
    """
    if level == 0:
        return 0.4, 0.12, 16.0, GENTLE, 0.3
    if level == 1:
        return 0.8, 0.08, 16.0, 0.15, 0.3
    if level == 2:
        return 1.0, 0.06, 12.0, 0.2, 0.3
    return 1.0, 0.02, 6.0, 0.2, 0.6


@kernel
def start_pulse(s: StartUp, r: Reply, k: int, level: int, qpos: Vector) -> None:
    """Begin a pulse of joint k at the strength `level`, within the limits of speed and effort."""
    share, shortest, states, most, fastest = strength(level)
    heaviest = 0.0
    for i in range(len(s.dofs)):
        heaviest = max(heaviest, abs(inertia(s, i, k)) / s.effort[i])
        s.start[i] = qpos[s.dofs[i]]
        s.most[i], s.due_place[i], s.due_speed[i] = 0.0, 0.0, 0.0
    s.k, s.level, s.time, s.way, r.count = k, level, 0.0, share * s.ways[k], 0
    slow = PEAK_SPEED * abs(s.way) / (fastest * s.velocity[k])
    weak = np.sqrt(PEAK_ACCELERATION * abs(s.way) * heaviest / most)
    s.duration = max(shortest, states * s.period, slow, weak)


@kernel
def watch(s: StartUp, r: Reply, a: Actuation, qpos: Vector) -> int:
    """Return the finding if a joint is reported where it cannot be, or 0."""
    for i in range(len(s.dofs)):
        off = qpos[s.dofs[i]] - s.rest[i]
        if s.k < 0 and not abs(off) <= STILL:
            return refuse(s, DRIFTS, i, off, 0.0)
        if i == s.k and not abs(off) <= FAR:
            return refuse(s, LEFT, i, off, s.way)
        if i != s.k and not abs(off) <= OTHERS:
            found = check_order(s, a)
            if found == 0 and has_moved(s):
                # a wrong reply of the driven joint may explain this motion
                found = judge(s, r)
            return found if found > 0 else refuse(s, DRIFTS, i, off, 0.0)
    return 0


@kernel
def has_moved(s: StartUp) -> bool:
    """Return whether the driven joint has moved."""
    return bool(s.most[s.k] >= MOVED * abs(s.way))


@kernel
def is_coupled(s: StartUp) -> bool:
    """Return whether the driven joint and another joint turn about nearly the same axis.

    Their efforts nearly cancel, so friction decides how far each of them moves.
    """
    return bool(inertia(s, s.k, s.k) * s.mobility[s.k, s.k] > COUPLED)


@kernel
def peak_effort(s: StartUp) -> float:
    """Return the largest effort of the pulse at the driven joint, beyond gravity."""
    k = s.dofs[s.k]
    return float(PEAK_ACCELERATION * abs(s.way) / (s.duration * s.duration) * s.mass[k, k])


@kernel
def is_held(s: StartUp, a: Actuation, share: float) -> bool:
    """Return whether known friction withstands this share of the pulse's largest effort."""
    k = s.dofs[s.k]
    known = a.coulomb[k] + a.stribeck[k]
    return bool(share * peak_effort(s) <= max(known, s.dry[k]) - SURE * known)


@kernel
def dragged(s: StartUp, i: int) -> float:
    """Return how far joint i moves under the efforts of a pulse if the driven joint is fixed.

    It is the larger of two distances: with all other joints free, and with all other joints fixed.
    """
    free = s.mobility[i, s.k] / s.mobility[s.k, s.k]
    alone = inertia(s, i, s.k) / inertia(s, i, i)
    return float(max(abs(free), abs(alone)) * abs(s.way))


@kernel
def check_order(s: StartUp, a: Actuation) -> int:
    """Return OTHER if another joint moved instead of the driven one, or 0.

    The pulse also sends efforts to the other joints. If friction holds the driven joint back,
    these efforts move the other joints, and a stronger pulse decides. No declared friction
    explains a larger motion of another joint.
    """
    other = 0
    for i in range(len(s.dofs)):
        other = i if s.most[i] > s.most[other] else other
    slid = abs(s.ways[s.k] / s.ways[other])
    if is_coupled(s) or has_moved(s) or s.most[other] * slid < MOVED * abs(s.way):
        return 0
    if is_held(s, a, HINDERS) and s.most[other] <= DRAGGED * dragged(s, other):
        return 0
    return refuse(s, OTHER, other, s.most[other], float(s.k))


@kernel
def record(
    s: StartUp, r: Reply, qpos: Vector, qvel: Vector, effort: Vector, released: Vector
) -> None:
    """Add a state to the reply of the driven joint."""
    for i in range(len(s.dofs)):
        s.most[i] = max(s.most[i], abs(qpos[s.dofs[i]] - s.start[i]))
    i, k = s.k, s.dofs[s.k]
    moved, sent = qpos[k] - s.start[i], released[i] - s.holding[k]
    spacing = (s.duration + LONGEST_DELAY) / (float(ROWS) - 10.0)
    remember(r, spacing, s.time, moved, s.due_place[i], qvel[k], sent, effort[k])


@kernel
def judge_when_due(s: StartUp, r: Reply, a: Actuation, qpos: Vector) -> int:
    """Judge the reply to a pulse once the joint rests, and go on; return the finding, or 0."""
    over, moved = s.time - s.duration, has_moved(s)
    if over < AFTER or (over < LONGEST_DELAY and not (moved and rests(s, r))):
        return 0
    if not moved:
        return increase(s, r, a, qpos)
    found = judge(s, r)
    if found > 0 and s.level > 0:
        return found
    if found > 0:
        # noise may have spoilt the reply: repeat with a stronger pulse
        start_pulse(s, r, s.k, 1, qpos)
    else:
        start_next(s, r, qpos)
    return 0


@kernel
def start_next(s: StartUp, r: Reply, qpos: Vector) -> None:
    """Go on with the next joint, or end the test after the last joint."""
    s.stuck = 0
    if s.k + 1 < len(s.dofs):
        start_pulse(s, r, s.k + 1, 0, qpos)
    else:
        s.k, s.done = -1, 1


@kernel
def rests(s: StartUp, r: Reply) -> bool:
    """Return whether the driven joint has moved little during the last AFTER / 2."""
    low, high, most = np.inf, -np.inf, 0.0
    for i in range(r.count):
        most = max(most, abs(r.place[i]))
        if r.time[i] >= s.time - 0.5 * AFTER:
            low, high = min(low, r.place[i]), max(high, r.place[i])
    return high - low <= RESTING * most


@kernel
def increase(s: StartUp, r: Reply, a: Actuation, qpos: Vector) -> int:
    """Begin a stronger pulse, or go on if friction holds the joint; return a finding, or 0."""
    found = check_order(s, a)
    if found > 0:
        return found
    peak = peak_effort(s)
    if s.level + 1 < LEVELS and peak < GENTLE * s.effort[s.k] * (1.0 - 1e-9):
        start_pulse(s, r, s.k, s.level + 1, qpos)
        s.stuck = 1
        return 0
    if is_held(s, a, HOLDS):
        s.untested[s.k] = 1
        start_next(s, r, qpos)
        return 0
    return refuse(s, HELD, s.k, s.most[s.k], peak)


@kernel
def judge(s: StartUp, r: Reply) -> int:
    """Return the finding about the reply to a pulse, or 0."""
    tolerance = s.tolerance * s.tolerance if s.stuck > 0 else s.tolerance
    allowed, work = PROMPT * s.latency, 0.0
    for i in range(1, r.count):  # the work is positive, because friction dissipates it
        work += r.sent[i] * (r.place[i] - r.place[i - 1])
    fit(r, MOTION)
    if s.level >= SIGN_ONLY or is_coupled(s) or (work < 0.0 and r.delay <= allowed):
        r.share, r.sigma, r.delay, r.unlike = np.copysign(1.0, work), 0.0, 0.0, 0.0
    if work < 0.0 and not within(r, 1.0 / tolerance, tolerance):
        return refuse(s, SIGN, s.k, r.share, 0.0)
    if r.unlike > UNLIKE:
        return refuse(s, MISMATCH, s.k, r.unlike, UNLIKE)
    if not within(r, 1.0 / tolerance, tolerance):
        return refuse(s, SHARE, s.k, r.share, tolerance)
    if r.delay > allowed:
        return refuse(s, SLOW, s.k, 1e3 * r.delay, 1e3 * allowed)
    return judge_measurements(s, r, allowed)


@kernel
def judge_measurements(s: StartUp, r: Reply, allowed: float) -> int:
    """Return the finding about velocities and measured efforts, or 0.

    `allowed` is the largest delay of velocities [s].
    """
    fit(r, VELOCITY)
    if not within(r, SLOWEST, FASTEST) or r.delay > allowed:
        return refuse(s, SPEED, s.k, r.share, 1e3 * r.delay)
    if s.measures > 0 and not np.isnan(dot(r, r.measured, r.measured)):
        fit(r, MEASURED)
        if not within(r, WEAKEST, STRONGEST):
            return refuse(s, EFFORT, s.k, r.share, 0.0)
    return 0
