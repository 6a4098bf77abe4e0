# SPDX-License-Identifier: Apache-2.0
"""Kernels that only a generated controller uses: start, modes, references, and one update.

They call the kernels of control/. A reference is the desired motion of the controlled joints, from
another controller or a topic; without a reference the target comes to rest. `m` and `d` are the
arm. `bare` and `own` are the arm without payloads, whose gravity the robot itself may compensate.
`b` is the memory of control/blind, `s` the memory of the loop, and `c` the memory of this file.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rbdyn_ros.control.arm.actuation import Actuation, hold, to_command
from rbdyn_ros.control.arming.effort_check import FASTEST, TOLERATED
from rbdyn_ros.control.arming.start_up_kernels import (
    APART,
    CLEAR,
    LATE,
    StartUp,
    advance,
    choose_ways,
)
from rbdyn_ros.control.arming.start_up_kernels import begin as begin_test
from rbdyn_ros.control.arming.start_up_reply import Reply
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.base.limits import EFFORT, LOWER, MARGIN, POWER, UPPER, VELOCITY
from rbdyn_ros.control.base.record import Record
from rbdyn_ros.control.base.state_kernels import AGE, LONGEST
from rbdyn_ros.control.blind.state import BlindState
from rbdyn_ros.control.blind.velocity_vote import forget
from rbdyn_ros.control.blind.witness import begin as begin_witness
from rbdyn_ros.control.laws.sampled import LARGEST as FASTEST_GAINS
from rbdyn_ros.control.loop_kernels import (
    BRAKE,
    COAST,
    FOLLOW,
    STOP_BLINDLY,
    TEST,
    WAIT,
    answer_blindly,
    brake,
    coast,
    follow,
    judge_target,
    notice_pause,
    see,
    watch,
)
from rbdyn_ros.control.motion.tracking import ROUNDING, stopping_time
from rbdyn_ros.control.states.clock import BEGUN
from rbdyn_ros.control.states.gate_kernels import admit, age, begin, release
from rbdyn_ros.control.states.loop_state import RELEASED, ArmLoopState
from rbdyn_ros.control.states.measured import LARGEST, store
from rbdyn_ros.dynamics.laws import computed_torque, damped_gravity, joint_impedance, pd_gravity
from rbdyn_ros.engine.compiler.jit import Matrix
from rbdyn_ros.engine.quantities.inverse_mass import reflected_inertia
from rbdyn_ros.engine.quantities.terms import gravity_term
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.fields import Field
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS

#: Modes of the controller.
GRAVITY, PD_GRAVITY, COMPUTED_TORQUE, IMPEDANCE = range(4)
#: Outcomes of an update: new efforts, the last efforts again, or no more efforts.
EFFORTS, KEEP, SILENT = range(3)
#: Reasons why the arm does not start or refuses a request; 0: no reason.
LATCHED, UNREADABLE, BEYOND, FAST, MOVING, UNMEASURED, MISMATCH, TOO_HEAVY, SHAKES = range(1, 10)
REFERENCE, ROOM, FOUND, STOPPED = range(10, 14)
#: The texts of these reasons.
REFUSALS = {
    LATCHED: "a fault is latched; call clear_fault first",
    UNREADABLE: "a position, velocity or effort is not a finite number",
    BEYOND: "joint '{joint}' is at {value}, beyond its limit {bound}",
    FAST: "joint '{joint}' moves at {value}; its limit is {bound}",
    MOVING: "joint '{joint}' moves at {value}; the arm must rest (below {bound}) so that its "
    "efforts can be compared with the model",
    UNMEASURED: "joint '{joint}' measures no effort; set arm_without_effort to start without this "
    "check",
    MISMATCH: "joint '{joint}' measures an effort that differs by {value} from what the model "
    "needs to hold the arm; allowed is {bound}. Check the model, the mounting and the payload",
    TOO_HEAVY: "joint '{joint}' would need {value} to hold the arm; its effort limit is {bound}",
    SHAKES: "the gains of the mode would shake joint '{joint}' at {value} updates a second; they "
    "need {bound}",
    REFERENCE: "a reference is not followed: it is not finite, beyond the limits, or more than "
    "start_tolerance from where the target can be",
    ROOM: "joint '{joint}' is at {value}; the start-up test needs {bound} of room to a limit on "
    "one side",
    FOUND: "the start-up test found: ",
    STOPPED: "the start-up test was stopped: ",
}


class ArmState(Record):
    """The memory of these kernels.

    Angles are in rad and lengths in m; velocities and efforts have the corresponding units.
    """

    FIELDS: ClassVar[tuple[Field, ...]] = (
        # settings
        Field("floating", (2, "nv"), "gains of mode gravity: 0, and the rate of decay [1/s]"),
        Field("springs", (2, "nv"), "gains of impedance and pd_gravity; 0: by inertia"),
        Field("tracking_tolerance", (), "largest distance from the target in computed_torque"),
        Field("start_tolerance", (), "largest `ahead` of a new reference"),
        Field("target_timeout", (), "longest wait for another reference; 0: unlimited [s]"),
        Field("arm_tolerance", ("n",), "largest effort error at the start; 0: by the limits"),
        Field(
            "includes_gravity", (), "1: measured efforts include the robot's own gravity", "int"
        ),
        Field("tests", (), "1: the start-up test comes first", "int"),
        Field("slides", ("n",), "1: the joint is prismatic", "int"),
        Field("all_dofs", ("nv",), "all degrees of freedom", "int"),
        Field("simulated", (), "1: the clock of the updates may run at any speed", "int"),
        # inputs of an update
        Field("given", (3, "nv"), "positions, velocities, measured efforts (NaN: none)"),
        Field("reference", (3, "n"), "positions, velocities and accelerations"),
        Field("refers", (), "1: there is a reference", "int"),
        Field("ticking", (), "1: there was an update", "int"),
        Field("time", (), "time of the update by its clock [ns]", "int"),
        Field("now", (), "time by the steady or simulated clock [ns]", "int"),
        Field("ended", (), "1: the start-up test failed, and nothing more is sent", "int"),
        # the law
        Field("mode", (), "mode: GRAVITY, PD_GRAVITY, COMPUTED_TORQUE or IMPEDANCE", "int"),
        Field("soft", (2, "nv"), "gains of impedance and pd_gravity in the present state"),
        Field("judged", (2, "nv"), "the same gains while a mode is judged"),
        Field("inertia", ("nv",), "inertia at each motor, with all other joints free"),
        Field("gravity", ("nv",), "efforts that hold the arm"),
        Field("first", ("n",), "efforts sent at the start"),
        Field("target", (3, "nv"), "desired positions, velocities and accelerations"),
        Field("begun", (3, "nv"), "the target when it began to decelerate"),
        Field("left", (), "time until the target rests [s]"),
        Field("stopping", (), "time in which the target decelerates [s]"),
        Field("follows", (), "1: the target follows references", "int"),
        Field("idle", (), "time since the last reference; infinite: there was none [s]"),
        Field("ahead", ("n",), "distance of the target ahead of a motion at its velocity limit"),
        # a refusal
        Field("refusal", (), "the reason, see LATCHED", "int"),
        Field("joint", (), "number of the controlled joint of the refusal", "int"),
        Field("value", (), "measured value"),
        Field("bound", (), "allowed value"),
        Field("found", (), "what the start-up test found", "int"),
    )


#: A longer period between updates is treated like NaN [s].
LONGEST_PERIOD = 1e6


@kernel
def refuse(c: ArmState, refusal: int, joint: int, value: float, bound: float) -> None:
    c.refusal, c.joint, c.value, c.bound = refusal, joint, value, bound


@kernel
def take(s: ArmLoopState, c: ArmState) -> bool:
    """Store the state of an update; return False if a number is not a possible measurement."""
    return store(s, c.given, c.all_dofs, c.all_dofs)


# settings


@kernel
def tighten(
    s: ArmLoopState, effort_scale: float, velocity_scale: float, inset: float, power: float
) -> int:
    """Tighten limits as Limits.tightened does; return the last joint without a range, or -1."""
    narrow = -1
    for i in range(len(s.dofs)):
        s.limits[EFFORT, i] *= effort_scale
        s.limits[VELOCITY, i] *= velocity_scale
        s.limits[LOWER, i] += inset
        s.limits[UPPER, i] -= inset
        most = s.limits[EFFORT, i] * s.limits[VELOCITY, i]
        s.limits[POWER, i] = min(most, power) if power > 0.0 else most
        if not s.limits[LOWER, i] < s.limits[UPPER, i]:
            narrow = i
    return narrow


@kernel
def compensate(a: Actuation, share: float) -> None:
    """Make the arm compensate a share of the friction in the robot's description."""
    a.rubs = 1 if share > 0.0 else 0
    for k in range(len(a.viscous)):
        a.viscous[k] *= share
        a.coulomb[k] *= share


# start and modes


@kernel
def start(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    b: BlindState,
    s: ArmLoopState,
    c: ArmState,
    trial: StartUp,
) -> bool:
    """Start the arm in mode c.mode and state c.given, without a jump of the efforts.

    Return False if the arm may not start; c.refusal is then the reason.
    """
    c.refusal = 0
    if s.faulty > 0:
        refuse(c, LATCHED, 0, 0.0, 0.0)
        return False
    if not (take(s, c) and take(s, c)):  # the first state also counts as the state before it
        refuse(c, UNREADABLE, 0, 0.0, 0.0)
        return False
    hold(m, d, bare, own, a, s.state[0], s.holding)
    weigh(m, d, s, c)
    judge_room(s, c, trial)
    judge_load(s, c)
    judge_gains(b, s, c, c.mode)
    judge_efforts(a, s, c)
    judge_place(s, c)
    if c.refusal > 0:
        return False
    for i in range(s.memory.shape[0]):
        for k in range(s.memory.shape[1]):
            s.memory[i, k] = np.inf if i == AGE else 0.0
    s.times[BEGUN] = s.known = s.lost = c.ticking = c.ended = 0
    run(m, d, b, s, c)
    if c.tests > 0:
        begin_test(m, d, trial, s.state[0], s.holding)
        s.testing, s.armed, s.acts = 1, 0, 0
    return True


@kernel
def set_mode(m: Model, d: Data, b: BlindState, s: ArmLoopState, c: ArmState, mode: int) -> None:
    """Change the mode, unless its gains would shake the arm; the arm holds its position."""
    c.refusal = 0
    weigh(m, d, s, c)
    judge_gains(b, s, c, mode)
    if c.refusal > 0:
        return
    c.mode = mode
    if s.testing > 0:
        return
    rest_at(s, c)
    for k in s.dofs:
        c.target[1, k] = s.state[1, k]
    stop(s, c)
    soften(b, c, c.soft)
    begin_efforts(s, c)
    begin(s, s.out[RELEASED])


@kernel
def hold_here(
    m: Model, d: Data, bare: Model, own: Data, a: Actuation, s: ArmLoopState, c: ArmState
) -> None:
    """Write to c.first the efforts that hold the arm at its last measured position."""
    hold(m, d, bare, own, a, s.state[0], s.holding)
    for i in range(len(s.dofs)):
        most = s.limits[EFFORT, i]
        c.first[i] = min(max(s.holding[s.dofs[i]], -most), most)


@kernel
def run(m: Model, d: Data, b: BlindState, s: ArmLoopState, c: ArmState) -> None:
    """Command the arm from now on, beginning with efforts that hold it according to the model."""
    weigh(m, d, s, c)
    soften(b, c, c.soft)
    rest_at(s, c)
    c.idle = np.inf
    s.testing, s.armed, s.acts, s.held = 0, 1, 1, 0.0
    for i in range(len(s.dofs)):
        c.first[i], c.ahead[i] = s.holding[s.dofs[i]], 0.0
    begin_efforts(s, c)
    begin(s, c.first)
    begin_witness(b)
    forget(b)
    b.coasts = 0


@kernel
def begin_efforts(s: ArmLoopState, c: ArmState) -> None:
    """Set the flags of the loop that depend on the mode."""
    s.floats = 1 if c.mode == GRAVITY else 0
    s.soft = 1 if c.mode == IMPEDANCE or c.mode == PD_GRAVITY else 0  # noqa: PLR1714


@kernel
def weigh(m: Model, d: Data, s: ArmLoopState, c: ArmState) -> None:
    """Write the gravity efforts and the inertias of the joints for the last state."""
    for k in range(m.nv):
        d.qpos[k] = s.state[0, k]
    gravity_term(m, d, c.gravity)
    reflected_inertia(m, d, c.inertia)


@kernel
def soften(b: BlindState, c: ArmState, gains: Matrix) -> None:
    """Write the gains (2, nv) of impedance and pd_gravity for the present inertia."""
    for k in range(len(c.inertia)):
        unset = b.gains[0, k] * c.inertia[k]
        gains[0, k] = c.springs[0, k] if c.springs[0, k] > 0.0 else unset
        critical = 2.0 * np.sqrt(gains[0, k] * c.inertia[k])
        gains[1, k] = c.springs[1, k] if c.springs[1, k] > 0.0 else critical


# before the start


@kernel
def judge_room(s: ArmLoopState, c: ArmState, trial: StartUp) -> None:
    """Refuse an arm that has no room for the start-up test; write the test's displacements."""
    lower, upper = s.limits[LOWER], s.limits[UPPER]
    i = choose_ways(lower, upper, c.slides, s.dofs, s.state[0], trial.ways)
    if i >= 0 and c.tests > 0:
        refuse(c, ROOM, i, s.state[0, s.dofs[i]], abs(trial.ways[i]) + CLEAR)


@kernel
def judge_load(s: ArmLoopState, c: ArmState) -> None:
    """Refuse an arm if its gravity efforts exceed limits, even if the robot compensates them."""
    for i in range(len(s.dofs)):
        load = c.gravity[s.dofs[i]]
        if not abs(load) <= s.limits[EFFORT, i]:
            refuse(c, TOO_HEAVY, i, load, s.limits[EFFORT, i])


@kernel
def judge_gains(b: BlindState, s: ArmLoopState, c: ArmState, mode: int) -> None:
    """Refuse gains that are too high for the rate of the updates, see control/laws/sampled.py."""
    soften(b, c, c.judged)  # a refused mode must not change the gains of the present mode
    for i in range(len(s.dofs)):
        k = s.dofs[i]
        stiffness, damping = 0.0, c.floating[1, k]
        if mode == COMPUTED_TORQUE:
            stiffness, damping = b.gains[0, k], b.gains[1, k]
        elif mode != GRAVITY:
            stiffness, damping = c.judged[0, k] / c.inertia[k], c.judged[1, k] / c.inertia[k]
        needed = max(damping, np.sqrt(stiffness)) / FASTEST_GAINS
        if not needed * s.period <= 1.0:
            refuse(c, SHAKES, i, 1.0 / s.period, needed)


@kernel
def judge_efforts(a: Actuation, s: ArmLoopState, c: ArmState) -> None:
    """Refuse an arm whose measured efforts differ from the model's holding efforts."""
    for i in range(len(s.dofs)):
        k = s.dofs[i]
        most = c.arm_tolerance[i] if c.arm_tolerance[i] > 0.0 else TOLERATED * s.limits[EFFORT, i]
        own = c.gravity[k] if a.own_gravity > 0 and c.includes_gravity > 0 else 0.0
        off = s.state[2, k] - own - s.holding[k]
        if s.measures > 0 and np.isnan(off):
            refuse(c, UNMEASURED, i, off, 0.0)
        elif s.measures > 0 and abs(off) > most:
            refuse(c, MISMATCH, i, off, most)


@kernel
def judge_place(s: ArmLoopState, c: ArmState) -> None:
    """Refuse an arm that moves or is beyond its limits."""
    for i in range(len(s.dofs)):
        q, v = s.state[0, s.dofs[i]], abs(s.state[1, s.dofs[i]])
        lower, upper = s.limits[LOWER, i], s.limits[UPPER, i]
        if q < lower - MARGIN or q > upper + MARGIN:
            refuse(c, BEYOND, i, q, lower if q < lower else upper)
        elif v > s.limits[VELOCITY, i]:
            refuse(c, FAST, i, v, s.limits[VELOCITY, i])
        elif v > FASTEST:
            refuse(c, MOVING, i, v, FASTEST)


# updates


@kernel
def advance_clock(s: ArmLoopState, c: ArmState, period: float, steady: int) -> None:
    """Advance the clocks by an update; before the first update the arm counts as at rest.

    If the period [s] is not a number, the clock counts as set back, and LONGEST_PERIOD is used.
    """
    is_valid = 0.0 <= period < LONGEST_PERIOD
    step = int((period if is_valid else -1.0) * NANOSECONDS)
    if c.ticking == 0:
        c.ticking, c.time, c.now = 1, steady - step, steady - step
        admit(s, c.time, c.time, True)
    passed = step if is_valid else int(LONGEST * NANOSECONDS)
    c.time += step
    c.now = c.now + passed if c.simulated > 0 else steady


@kernel
def end_test(
    s: ArmLoopState, c: ArmState, refusal: int, joint: int, value: float, bound: float
) -> None:
    """End the start-up test without arming."""
    s.testing, c.ended = 0, 1
    refuse(c, refusal, joint, value, bound)


@kernel
def update(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    b: BlindState,
    s: ArmLoopState,
    c: ArmState,
    trial: StartUp,
    reply: Reply,
    period: float,
    steady: int,
    readable: bool,
) -> int:
    """Compute the efforts for the state in c.given; return EFFORTS, KEEP or SILENT.

    `trial` and `reply` are the memory of the start-up test. `period` is the time since the last
    update by the clock of the updates [s], `steady` the steady clock [ns]. If `readable` is false,
    the state is ignored.
    """
    c.refusal = 0
    advance_clock(s, c, period, steady)
    if c.ended > 0:
        return SILENT
    now, tests, came = c.now, s.testing > 0, readable and c.time != s.time
    notice_pause(b, s, now)
    if tests and not came and age(s, now) > LATE + 2.0 * s.period:
        c.found = APART
        end_test(s, c, FOUND, 0, 1e3 * age(s, now), 0.0)
        return SILENT
    answer = WAIT
    if came:
        answer = see(m, d, bare, own, a, b, s, c.time, now, take(s, c))
    else:
        answer = watch(b, s, now)
    if tests and s.testing == 0:
        end_test(s, c, STOPPED, 0, 0.0, 0.0)
        return SILENT
    sends = True
    if answer == WAIT:
        return KEEP
    if answer == TEST:
        sends = advance_test(m, d, bare, own, a, b, s, c, trial, reply)
    elif answer == FOLLOW:
        follow_target(m, d, bare, own, a, b, s, c)
    elif answer == BRAKE:
        sends = brake(m, d, bare, own, a, b, s)
    elif answer == STOP_BLINDLY:
        sends = answer_blindly(m, d, bare, own, a, b, s, now)
    elif answer == COAST:
        if came:
            move_target(b, s, c)
        sends = coast(m, d, bare, own, a, b, s, now)
    return EFFORTS if sends else SILENT


@kernel
def advance_test(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    b: BlindState,
    s: ArmLoopState,
    c: ArmState,
    trial: StartUp,
    reply: Reply,
) -> bool:
    """Output the efforts of the start-up test, then of the mode; return False if a test fails."""
    qpos, qvel, measured = s.state[0], s.state[1], s.state[2]
    hold(m, d, bare, own, a, qpos, s.holding)
    sent = s.out[RELEASED]
    c.found = advance(trial, reply, a, qpos, qvel, measured, s.holding, sent, s.step, s.wanted)
    if c.found > 0:
        end_test(s, c, FOUND, trial.joint, trial.value, trial.bound)
        return False
    if trial.done > 0:
        run(m, d, b, s, c)
        follow_target(m, d, bare, own, a, b, s, c)
    else:
        release(s, s.wanted, s.holding, s.dt, False)
    return True


@kernel
def follow_target(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    b: BlindState,
    s: ArmLoopState,
    c: ArmState,
) -> None:
    """Advance the target, then output the efforts of the control mode; the state is valid."""
    qpos, qvel = s.state[0], s.state[1]
    hold(m, d, bare, own, a, qpos, s.holding)
    move_target(b, s, c)
    tolerance = c.tracking_tolerance if c.mode == COMPUTED_TORQUE else 0.0
    judge_target(b, s, c.target[0], tolerance, c.idle, c.target_timeout)
    for k in range(m.nv):
        d.qpos[k], d.qvel[k] = qpos[k], qvel[k]
    if c.mode == GRAVITY:
        damped_gravity(m, d, c.target, c.floating, s.wanted)
        to_command(bare, own, a, qpos, qvel, qvel, s.wanted)
    else:
        if c.mode == PD_GRAVITY:
            pd_gravity(m, d, c.target, c.soft, s.wanted)
        elif c.mode == COMPUTED_TORQUE:
            computed_torque(m, d, c.target, b.gains, s.wanted)
        else:
            joint_impedance(m, d, c.target, c.soft, s.wanted)
        to_command(bare, own, a, qpos, qvel, c.target[1], s.wanted)
    follow(b, s, s.wanted)


# the target


@kernel
def move_target(b: BlindState, s: ArmLoopState, c: ArmState) -> None:
    """Move the target by the time since the last state."""
    dt = min(s.step, s.state_timeout)
    # during dt a target may move at its velocity limit, but only if it follows references
    for i in range(len(s.dofs)):
        passed = s.limits[VELOCITY, i] * dt
        c.ahead[i] = max(c.ahead[i], 0.0 if c.follows > 0 else passed) - passed
    if c.mode == GRAVITY:
        rest_at(s, c)
    elif c.refers > 0 and is_possible(s, c):
        c.follows, c.idle = 1, 0.0
        for i in range(len(s.dofs)):
            c.ahead[i] += abs(c.reference[0, i] - c.target[0, s.dofs[i]])
            for row in range(3):
                c.target[row, s.dofs[i]] = c.reference[row, i]
    else:
        if c.refers > 0:
            refuse(c, REFERENCE, 0, 0.0, 0.0)
        if c.follows > 0:
            stop(s, c)
        if c.left > 0.0:
            c.left = max(c.left - dt, 0.0)
            decelerate(s, c)
        c.idle += dt
    for k in range(len(b.controlled)):
        # joints that are not controlled have no target, which would disturb the other joints
        if b.controlled[k] == 0:
            c.target[0, k], c.target[1, k], c.target[2, k] = s.state[0, k], s.state[1, k], 0.0


@kernel
def is_possible(s: ArmLoopState, c: ArmState) -> bool:
    """Return whether a reference is finite, within the limits, and near enough to the target."""
    fine = True
    for i in range(len(s.dofs)):
        q, v, acceleration = c.reference[0, i], c.reference[1, i], c.reference[2, i]
        fine = fine and c.ahead[i] + abs(q - c.target[0, s.dofs[i]]) <= c.start_tolerance
        fine = fine and s.limits[LOWER, i] <= q <= s.limits[UPPER, i]
        fine = fine and abs(v) <= s.limits[VELOCITY, i] * ROUNDING
        fine = fine and abs(q) < LARGEST and abs(acceleration) < LARGEST
    return fine


@kernel
def rest_at(s: ArmLoopState, c: ArmState) -> None:
    """Set the target to rest at the last measured position."""
    c.left, c.follows = 0.0, 0
    for k in range(len(c.all_dofs)):
        c.target[0, k], c.target[1, k], c.target[2, k] = s.state[0, k], 0.0, 0.0


@kernel
def stop(s: ArmLoopState, c: ArmState) -> None:
    """Begin to decelerate the target, within the position limits."""
    time = stopping_time(c.target, s.dofs, s.limits[LOWER], s.limits[UPPER])
    c.left, c.stopping, c.follows = time, time, 0
    for k in range(len(c.all_dofs)):
        c.target[2, k] = 0.0
        if time == 0.0:
            c.target[1, k] = 0.0
        c.begun[0, k], c.begun[1, k] = c.target[0, k], c.target[1, k]


@kernel
def decelerate(s: ArmLoopState, c: ArmState) -> None:
    """Write the target while it comes to rest.

    A polynomial of degree 5 from a velocity to rest, without acceleration at either end, covers
    half of velocity times time.
    """
    x, time = 1.0 - c.left / c.stopping, c.stopping
    for k in s.dofs:
        v, square = c.begun[1, k], x * x
        way = x - x * square + 0.5 * square * square
        c.target[0, k] = c.begun[0, k] + v * time * way
        c.target[1, k] = v * (1.0 - 3.0 * square + 2.0 * x * square)
        c.target[2, k] = v / time * (6.0 * square - 6.0 * x)
