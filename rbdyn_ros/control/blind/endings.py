# SPDX-License-Identifier: Apache-2.0
"""Stop an armed arm after a fault: brake and hold it, or brake it blindly and then stay silent.

With valid states the arm is braked until it rests, and then held. Otherwise the states may be
wrong, or a joint is blocked, so the reaction uses no later state: for blind_time in total, the
efforts remove the momentum that the arm had when it became blind. Then, or if braking does not
work, nothing is published any more, so that the arm's own watchdog takes over. The last efforts
hold the arm against gravity.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.control.arm.actuation import Actuation, to_command
from rbdyn_ros.control.arm.actuation import hold as hold_still
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.blind.coasting import coasted, decay, drive
from rbdyn_ros.control.blind.state import BlindState
from rbdyn_ros.control.blind.velocity_vote import vote
from rbdyn_ros.control.states.clock import seconds
from rbdyn_ros.dynamics.laws import computed_torque
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.engine.forward import inverse
from rbdyn_ros.engine.quantities.terms import gravity_term
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: Phases of an arm.
RUNNING, BRAKED, HOLDING, BLIND, SILENT = range(5)
PHASES = ("running", "braking", "holding", "blind", "silent")
#: Rate at which motion decays while the arm is braked [1/s].
BRAKING = 10.0
#: The arm rests if it stays below the speed REST [rad/s or m/s] for the time RESTING [s].
REST, RESTING = 0.01, 0.1
#: After LONGEST_BRAKING of braking [s] the arm must rest: noisy velocities are averaged over CALM
#: [s].
LONGEST_BRAKING, CALM = 1.0, 0.2
#: Largest mean speed of an arm that rests [rad/s or m/s].
CALM_SPEED = 0.05
#: After GRACE of braking [s] no joint may exceed the robot's velocity limit any more. Before, no
#: joint may exceed the limit times EXCEEDED, and times the largest ratio of speed to limit at the
#: fault if that ratio is above 1.
GRACE, EXCEEDED = 0.2, 1.2
#: For this time after a fault, a push that begins with the fault can accelerate a braked arm,
#: because the brake has not estimated the push yet [s].
LEARNING = 0.1
#: Braking must not increase the kinetic energy above GROWTH times its maximum during LEARNING
#: while a joint is faster than FAST_SHARE of the robot's limit, or than FAST if that is less
#: [rad/s or m/s].
GROWTH, FAST_SHARE, FAST = 1.5, 0.5, 1.5
#: Largest allowed displacement of a joint of a held arm [rad or m].
HELD = 0.3
#: After a wrong state that jumped and was dropped, the next states must be near where a braked arm
#: is: by less than NEAR [rad or m] and ALIKE [rad/s or m/s].
NEAR, ALIKE = 0.03, 0.3
#: Largest unexplained effort that a brake compensates, as a share of the effort limits.
CARRIED = 0.25

#: If a state has been too old for more than blind_time plus this at the first call, the arm stays
#: silent [s].
PAUSE = 0.1

#: Reasons for giving up braking.
NO_REASON, MOVES, TOO_FAST, GAINS_ENERGY, HELD_TOO_FAST, MOVED_AWAY, PAUSED = range(7)
REASONS = (
    "",
    f"after {LONGEST_BRAKING:g} s of braking the arm still moves",
    "a braked joint is too fast",
    "the kinetic energy grows while the arm is braked",
    "the held arm is too fast",
    f"the held arm was moved by more than {HELD:g}",
    "the controller was not called in time",
)


@kernel
def begin(s: BlindState) -> None:
    """Reset the state of an earlier ending, and start to brake after a fault."""
    s.blind_for = 0.0
    s.answered = s.lost = s.lied = s.lasts = s.reason = 0
    start_braking(s)


@kernel
def start_braking(s: BlindState) -> None:
    s.phase = BRAKED
    s.braked_for = s.resting_for = s.energy = s.fastest = 0.0


@kernel
def see(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    s: BlindState,
    time: int,
    qpos: Vector,
    qvel: Vector,
    dt: float,
    effort: Vector,
) -> bool:
    """Write the efforts for a valid state; return False to stay silent.

    If braking does not work, the last efforts only hold the arm. `time` is the time of the state
    [ns], `dt` the time since the previous state [s].
    """
    if s.phase == SILENT:
        return False
    if s.phase == BLIND:
        start_braking(s)
    if s.phase == BRAKED:
        vote(s, time, qpos, qvel)
        brake(m, d, bare, own, a, s, qpos, effort)
        judge_braking(s, qpos, qvel, dt)
    else:
        hold(m, d, bare, own, a, s, qpos, qvel, effort)
        judge_holding(s, qpos, qvel)
    if s.phase == SILENT:
        carry(m, d, bare, own, a, s, qpos, effort)
    return True


@kernel
def carry(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    s: BlindState,
    qpos: Vector,
    effort: Vector,
) -> None:
    """Write the last efforts before silence: they hold the arm at qpos.

    The driver may apply them until its timeout, so they do not depend on velocities.
    """
    hold_still(m, d, bare, own, a, qpos, effort)
    for k in range(m.nv):
        effort[k] += s.carried[k]


@kernel
def since(s: BlindState, now: int) -> float:
    """Return the time since the last effort of a blind arm [s]; 1 ms if the arm is not blind."""
    return max(seconds(s.answered, now), 0.0) if s.phase == BLIND else 1e-3


@kernel
def stop_blindly(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    s: BlindState,
    now: int,
    overdue: float,
    time: int,
    qpos: Vector,
    qvel: Vector,
    effort: Vector,
) -> bool:
    """Write the efforts of an arm without credible states; return False to stay silent.

    `now` is on the steady clock [ns], and `overdue` is the time for which a state has been too old
    [s]. If `overdue` is longer than blind_time + PAUSE, as after a pause of the process, the arm
    may be somewhere else, under the control of its driver. When the arm becomes blind, its motion
    is predicted from the last state, which was measured at `time` [ns], or from where it has
    coasted.
    """
    coasts = s.coasts > 0
    s.coasts = 0
    is_new = s.phase != SILENT and s.phase != BLIND  # noqa: PLR1714 - translated to C++
    if is_new and overdue > s.blind_time + PAUSE:
        diverge(s, PAUSED)
    if s.phase == SILENT:
        return False
    if s.phase == BLIND:
        s.blind_for += max(seconds(s.answered, now), 0.0)
    else:
        vote(s, time, qpos, qvel)
        coasted(s, now)
        for k in range(m.nv):
            s.blind_qpos[k] = s.qpos[k] if coasts else qpos[k]
            s.blind_qvel[k] = s.qvel[k] if coasts else s.voted[k]
        s.phase, s.lost = BLIND, now
    s.answered = now
    foresee(s, now)
    if s.blind_for > s.blind_time:
        diverge(s, NO_REASON)
        carry(m, d, bare, own, a, s, s.qpos, effort)
    else:
        drive(m, d, bare, own, a, s, BRAKING, a.rest, effort)
    return True


@kernel
def foresee(s: BlindState, now: int) -> None:
    """Write the predicted state of a blind arm; `now` is on the steady clock [ns]."""
    left = np.exp(-BRAKING * max(seconds(s.lost, now), 0.0))
    decay(s.blind_qpos, s.blind_qvel, left, BRAKING, s.qpos, s.qvel)


@kernel
def doubt(s: BlindState, dropped: bool) -> None:
    """Record that a state was wrong; `dropped` means that it jumped and was dropped."""
    s.lied = 1
    if not dropped:
        s.lasts = 1


@kernel
def disbelieves(s: BlindState, now: int, qpos: Vector, qvel: Vector) -> bool:
    """Return whether a state after a wrong state is rejected.

    The gate alone would accept exchanged joints again, as soon as the joints could have moved that
    far.
    """
    if s.phase != BLIND or s.lied == 0:
        return False
    foresee(s, now)
    near = True
    for k in s.dofs:
        here = abs(qpos[k] - s.qpos[k]) < NEAR and abs(qvel[k] - s.qvel[k]) < ALIKE
        near = near and here
    return s.lasts > 0 or not near


@kernel
def brake(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    s: BlindState,
    qpos: Vector,
    effort: Vector,
) -> None:
    """Write efforts that brake the arm: M (-BRAKING s.voted - s.push) + g.

    s.voted is the velocity, s.push the acceleration that the model does not explain. If the push
    were not compensated, an arm with an unknown payload would fall. It is compensated only up to
    a share of the effort limits, so that an arm that is stuck is not pulled free.
    """
    for k in range(m.nv):
        d.qpos[k], d.qvel[k], d.qacc[k] = qpos[k], 0.0, -s.push[k]
    inverse(m, d)
    for k in range(m.nv):
        s.carried[k] = d.qfrc_inverse[k]
        d.qacc[k] = -BRAKING * s.voted[k]
    inverse(m, d)
    for k in range(m.nv):
        effort[k] = d.qfrc_inverse[k]
    gravity_term(m, d, s.acting)
    power = 0.0
    for k in range(m.nv):
        power += (effort[k] - s.acting[k]) * s.voted[k]
        s.carried[k] = s.carried[k] - s.acting[k] if s.controlled[k] > 0 else 0.0
    s.motion = -0.5 / BRAKING * power
    for i in range(len(s.dofs)):
        k, most = s.dofs[i], CARRIED * s.limits[3, i]
        s.carried[k] = min(max(s.carried[k], -most), most)
        effort[k] += s.carried[k]
    to_command(bare, own, a, qpos, s.voted, s.voted, effort)


@kernel
def hold(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    s: BlindState,
    qpos: Vector,
    qvel: Vector,
    effort: Vector,
) -> None:
    """Write efforts that hold a resting arm at s.held; uncontrolled joints move freely."""
    for k in range(m.nv):
        d.qpos[k], d.qvel[k] = qpos[k], qvel[k]
        if s.controlled[k] == 0:
            s.held[0, k], s.held[1, k] = qpos[k], qvel[k]
    computed_torque(m, d, s.held, s.gains, effort)
    to_command(bare, own, a, qpos, qvel, s.held[1], effort)
    for k in range(m.nv):
        effort[k] += s.carried[k]


@kernel
def judge_braking(s: BlindState, qpos: Vector, qvel: Vector, dt: float) -> None:
    """Change to holding once the arm rests, or to silence if braking does not work."""
    before = s.braked_for
    s.braked_for += dt
    judge_speed(s, qvel, before)
    if before < LONGEST_BRAKING - CALM and s.braked_for >= LONGEST_BRAKING - CALM:
        for k in range(len(qpos)):
            s.marked[k] = qpos[k]
    fastest, strayed = 0.0, 0.0
    for k in s.dofs:
        fastest = max(fastest, abs(qvel[k]))
        strayed = max(strayed, abs(qpos[k] - s.marked[k]))
    s.resting_for = s.resting_for + dt if fastest < REST else 0.0
    late = s.braked_for > LONGEST_BRAKING
    if late and not strayed < CALM * CALM_SPEED:
        silence(s, MOVES)
    if s.phase == BRAKED and (s.resting_for > RESTING or late):
        s.phase = HOLDING
        for k in range(len(qpos)):
            s.held[0, k], s.held[1, k], s.held[2, k] = qpos[k], 0.0, 0.0


@kernel
def judge_speed(s: BlindState, qvel: Vector, since: float) -> None:
    """Give up if a braked arm is too fast or gains energy; `since` is the time of braking [s]."""
    share, fast = 0.0, False
    for i in range(len(s.dofs)):
        # compare with the limit of the robot, not with a tightened limit
        speed, robots = abs(qvel[s.dofs[i]]), s.limits[2, i] / s.velocity_scale
        share = max(share, speed / robots)
        fast = fast or speed > min(FAST_SHARE * robots, FAST)
    if since == 0.0:
        s.fastest = EXCEEDED * max(share, 1.0)
    if since < LEARNING:
        s.energy = max(s.energy, s.motion)
    if share > (s.fastest if since < GRACE else 1.0):
        diverge(s, TOO_FAST)
    if fast and s.motion > GROWTH * s.energy:
        diverge(s, GAINS_ENERGY)


@kernel
def judge_holding(s: BlindState, qpos: Vector, qvel: Vector) -> None:
    """Give up holding an arm that is too fast or has moved away."""
    for i in range(len(s.dofs)):
        if abs(qvel[s.dofs[i]]) > s.limits[2, i]:
            diverge(s, HELD_TOO_FAST)
    for k in s.dofs:
        if abs(qpos[k] - s.held[0, k]) > HELD:
            silence(s, MOVED_AWAY)


@kernel
def diverge(s: BlindState, reason: int) -> None:
    """Give up for a reason; drop the unexplained efforts, which wrong states may have caused."""
    for k in range(len(s.carried)):
        s.carried[k] = 0.0
    silence(s, reason)


@kernel
def silence(s: BlindState, reason: int) -> None:
    s.phase = SILENT
    if s.reason == NO_REASON:
        s.reason = reason
