# SPDX-License-Identifier: Apache-2.0
"""The model as a witness: compare the motion of the arm with its prediction from the efforts sent.

From a state the forward dynamics of the efforts sent predict the next state. The difference is the
push, the acceleration that the model does not explain: an unknown payload, friction, a hand. A
joint has frozen if its numbers repeat, or if it stops, although the efforts beyond push and
friction should have moved it. A blocked joint moves like a frozen joint, so a contact may
withstand a given share of the effort limits. Measured efforts show the difference: they follow the
commands of a joint that is held, but not if a driver repeats old states.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.control.arm.actuation import Actuation, applied
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.base.limits import FROZEN, PASSED
from rbdyn_ros.control.base.state_kernels import LONGEST
from rbdyn_ros.control.blind.state import EXACTLY, NEARLY, STANDSTILLS, BlindState
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.engine.forward import forward_dynamics, mass_matrix
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: Rates at which the push follows the motion, and at which the steady push follows the push [1/s].
RATE, STEADY_RATE = 20.0, 5.0
#: Numbers repeat if they are equal, or if they differ by less than these positions [rad or m] and
#: velocities [rad/s or m/s], the noise of an encoder. Unmodelled friction may hold a joint whose
#: numbers are nearly equal.
STILL, STILL_SPEED = 1e-4, 0.02
#: A joint moves at its measured velocity if the two differ by less than this fraction.
AGREES = 0.5
#: Noise of the velocities is learnt over NOISY [s]. A change counts as at most SUDDEN times
#: the noise so far, or as LEAST [rad/s or m/s] if that is more, so that a single jump does not
#: count as noise. Changes up to NOISES times the noise are no evidence of a stop.
NOISY, SUDDEN, LEAST, NOISES = 0.25, 10.0, 1e-3, 4.0
#: A joint has stopped if it had the speed MOVED [rad/s or m/s] and has less than the share STOPPED
#: of its largest speed.
MOVED, STOPPED = 0.25, 0.25
#: Shares of the effort limits that an unmodelled force may withstand: friction and contact; a
#: hand, where people move the arm; any force after a fault, when efforts change too fast for a
#: prediction without the delay of commands.
CONTACT, BY_HAND, ANYTHING = 0.1, 0.25, 1e6
#: If a joint stands still, the measured effort must follow a command that changed by more than
#: the share HEARD of the effort limit: by the share FOLLOWED of the change, after DELAY [s]. It
#: does so where friction, a contact or a hand holds the joint, but not if the driver repeats old
#: states.
HEARD, FOLLOWED, DELAY = 0.02, 0.1, 0.04
#: At a fault, a measured effort that has not followed its command for longer than this time [s]
#: shows that the states are old: no contact blocks the joint.
UNHEARD = 0.01
#: A stop is compared with the motion in this time before the stop [s].
RECENT = 0.25
#: States between two computations of the inertias, which turn efforts into accelerations.
INERTIA_EVERY = 64


@kernel
def begin(s: BlindState) -> None:
    """Start with the next state, without unexplained motion."""
    for k in range(len(s.push)):
        s.push[k] = s.due[k] = s.steady_push[k] = s.expected[k] = 0.0
        s.lag[k] = s.behind[k] = s.peak[k] = s.suspicion[k] = 0.0
        s.jump[k] = s.noise[k] = s.unheard[k] = 0.0
        for i in range(STANDSTILLS):
            stop_standing(s, i, k)
    s.weighed = 0
    pause(s)


@kernel
def pause(s: BlindState) -> None:
    """Restart with the next state, which does not count as evidence about earlier efforts."""
    for k in range(len(s.last_qvel)):
        s.last_qvel[k] = np.nan


@kernel
def look(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    s: BlindState,
    qpos: Vector,
    qvel: Vector,
    command: Vector,
    measured: Vector,
    dt: float,
    contact: float,
    blocked: float,
) -> int:
    """Compare a state with the prediction; return the controlled joint that has frozen, or -1.

    `command` (nv,) are the commands that acted since the previous state, `measured` (nv,) the
    measured efforts, NaN where a joint measures none, and `dt` the time since the previous state
    [s]. If it is longer than LONGEST, the prediction starts anew. A contact may withstand the
    share `contact` of the effort limits, and the share `blocked` if the numbers of a joint do not
    repeat exactly.
    """
    if not dt <= LONGEST:
        pause(s)
    if s.weighed == 0:
        weigh(m, d, s, qpos)
    s.weighed = (s.weighed + 1) % INERTIA_EVERY
    accelerate(m, d, bare, own, a, s, qpos, qvel, command)
    compare(s, d.qacc, qpos, qvel, command, measured, dt, contact, blocked)
    worst, most = -1, 1.0
    for i in range(len(s.dofs)):
        if s.suspicion[s.dofs[i]] > most:
            worst, most = i, s.suspicion[s.dofs[i]]
    return worst


@kernel
def hears_nothing(s: BlindState) -> bool:
    """Return whether a measured effort does not follow the commands: then the states are old."""
    for k in range(len(s.unheard)):  # noqa: SIM110  kernels know no generators
        if s.unheard[k] > UNHEARD:
            return True
    return False


@kernel
def weigh(m: Model, d: Data, s: BlindState, qpos: Vector) -> None:
    """Write the mass matrix, and dry friction and the largest efforts as accelerations."""
    for k in range(m.nv):
        d.qpos[k] = qpos[k]
    mass_matrix(m, d, s.mass)
    for k in range(m.nv):
        s.grip[k], s.most[k] = s.dry[k] / s.mass[k, k], 0.0
    for i in range(len(s.dofs)):
        k = s.dofs[i]
        s.most[k] = s.limits[3, i] / s.mass[k, k]


@kernel
def accelerate(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    s: BlindState,
    qpos: Vector,
    qvel: Vector,
    command: Vector,
) -> None:
    """Write the accelerations of a state under commands into d.qacc."""
    applied(bare, own, a, command, qpos, qvel, s.acting)
    for k in range(m.nv):
        d.qpos[k], d.qvel[k], d.qfrc_applied[k] = qpos[k], qvel[k], s.acting[k]
    forward_dynamics(m, d)


@kernel
def compare(
    s: BlindState,
    qacc: Vector,
    qpos: Vector,
    qvel: Vector,
    command: Vector,
    measured: Vector,
    dt: float,
    contact: float,
    blocked: float,
) -> None:
    """Update the suspicions with a state and the accelerations `qacc` of the efforts sent.

    The other arguments are those of `look`.
    """
    n, moves = len(qpos), False
    for k in s.dofs:  # all encoders of an arm freeze together
        moves = moves or qpos[k] != s.last_qpos[k]
    for k in range(n):
        s.residual[k] = qacc[k] + s.steady_push[k] - (qvel[k] - s.last_qvel[k]) / dt
    # the unexplained effort M (v' - a - steady push), divided by the joint's inertia
    for k in range(n):
        unmodelled, load, resisted = 0.0, 0.0, 0.0
        for j in range(n):
            unmodelled += s.mass[k, j] * s.residual[j]
            load += s.mass[k, j] * qacc[j]
            resisted += s.mass[k, j] * s.push[j]
        unmodelled, load = unmodelled / s.mass[k, k], abs(load / s.mass[k, k])
        # the effort that friction and contact may withstand on this joint
        resisted = abs(resisted / s.mass[k, k])
        a, moved = qacc[k], (qpos[k] - s.last_qpos[k]) / dt
        first = np.isnan(s.last_qvel[k])
        s.last_qpos[k], s.last_qvel[k] = qpos[k], qvel[k]
        if first:
            s.expected[k] = s.peak[k] = qvel[k]
            s.suspicion[k] = s.lag[k] = s.behind[k] = 0.0
            s.still_qpos[EXACTLY, k] = s.still_qpos[NEARLY, k] = np.inf
            continue
        held, withstood = contact * s.most[k], blocked * s.most[k]
        # if contact is expected, an impact may stop a joint with any effort
        stopped = ANYTHING * s.most[k] if contact > 0.0 else withstood
        stopped += NOISES * learn_noise(s, dt * unmodelled, dt, k) / dt
        learn(s, a, qvel[k], unmodelled, dt, stopped, k)
        pushes = a if load > held else 0.0
        if s.grip[k] > 0.0:  # the friction of other joints slows this joint as well
            pushes = np.copysign(min(abs(pushes), resisted), pushes)
        if follows(s, command[k], measured[k], k) and moves:
            learn_friction(s, pushes, withstood, k)
        exact = stand(s, EXACTLY, 0.0, 0.0, pushes, held, moved, dt, k)
        near = stand(s, NEARLY, STILL, STILL_SPEED, pushes, withstood, moved, dt, k)
        unresponsive = listen(s, command[k], measured[k], dt, blocked, k)
        s.suspicion[k] = max(exact, near, unresponsive, stop(s, k))


@kernel
def learn(
    s: BlindState, a: float, v: float, unmodelled: float, dt: float, withstood: float, k: int
) -> None:
    """Learn the push at dof k from its velocity v, and the delay of its motion behind the efforts.

    `a` is the acceleration by the model, `unmodelled` the acceleration beyond it and the steady
    push, and `withstood` the acceleration that a contact may withstand.
    """
    # an observer of v' = a + push with a constant push
    follow = 1.0 - np.exp(-RATE * dt)
    s.due[k] += dt * a
    s.expected[k] += dt * (a + s.push[k])
    off = v - s.expected[k]
    s.expected[k] += 2.0 * follow * off
    s.push[k] += RATE * follow * off
    # the effort that the steady push, friction and contact do not explain
    beyond = max(abs(unmodelled) - s.grip[k] - withstood, 0.0)
    s.steady_push[k] += (1.0 - np.exp(-STEADY_RATE * dt)) * (s.push[k] - s.steady_push[k])
    kept = np.exp(-dt / RECENT)
    s.lag[k] = kept * s.lag[k] + dt * np.copysign(beyond, unmodelled)
    s.behind[k] = kept * s.behind[k] + dt * s.lag[k]
    s.peak[k] *= kept
    if abs(v) > abs(s.peak[k]):  # motion before the peak does not count as evidence of a stop
        s.peak[k], s.lag[k], s.behind[k] = v, 0.0, 0.0


@kernel
def learn_noise(s: BlindState, unmodelled: float, dt: float, k: int) -> float:
    """Learn and return the noise of the velocity of dof k.

    The noise is the RMS difference of successive unexplained changes; the last is `unmodelled`.
    """
    change = unmodelled - s.jump[k]
    s.jump[k] = unmodelled
    counts = min(change**2, max(SUDDEN**2 * s.noise[k], LEAST**2))
    s.noise[k] += (1.0 - np.exp(-dt / NOISY)) * (counts - s.noise[k])
    return np.sqrt(s.noise[k])  # type: ignore[no-any-return]


@kernel
def follows(s: BlindState, command: float, measured: float, k: int) -> bool:
    """Return whether a measured effort followed its command since the numbers began to repeat."""
    if s.still_time[EXACTLY, k] == 0.0:
        s.still_command[EXACTLY, k], s.still_measured[EXACTLY, k] = command, measured
    change = abs(command - s.still_command[EXACTLY, k])
    return abs(measured - s.still_measured[EXACTLY, k]) > FOLLOWED * change  # type: ignore[no-any-return]


@kernel
def learn_friction(s: BlindState, a: float, withstood: float, k: int) -> None:
    """Learn which efforts do not move a joint whose numbers repeat exactly.

    `a` is the acceleration by the model; more than `withstood` beyond dry friction does not count.
    """
    held = abs(a) - s.grip[k]
    if held <= withstood:
        s.still_push[EXACTLY, k] = max(s.still_push[EXACTLY, k], held)
        s.still_gain[EXACTLY, k] = s.still_way[EXACTLY, k] = 0.0


@kernel
def listen(
    s: BlindState, command: float, measured: float, dt: float, blocked: float, k: int
) -> float:
    """Return the suspicion that the measured effort of dof k at rest is old.

    `blocked` is the share of the effort limit that may hold the joint.
    """
    # drivers that measure no effort often report 0
    unknown = np.isnan(measured) or measured == 0.0
    if s.still_time[NEARLY, k] == 0.0 or unknown or blocked >= ANYTHING:
        s.still_command[NEARLY, k], s.still_measured[NEARLY, k] = command, measured
        s.unheard[k] = 0.0
        return 0.0
    change = abs(command - s.still_command[NEARLY, k])
    followed = abs(measured - s.still_measured[NEARLY, k])
    waits = change > HEARD * s.most[k] * s.mass[k, k] and followed < FOLLOWED * change
    s.unheard[k] = s.unheard[k] + dt if waits else 0.0
    return s.unheard[k] / DELAY  # type: ignore[no-any-return]


@kernel
def stop(s: BlindState, k: int) -> float:
    """Return the suspicion that dof k has not stopped, although its numbers show a stop."""
    peak = s.peak[k]
    if abs(peak) < MOVED or abs(s.last_qvel[k]) > STOPPED * abs(peak):
        return 0.0
    return max(s.behind[k] * np.sign(peak), 0.0) / FROZEN  # type: ignore[no-any-return]


@kernel
def stand(
    s: BlindState,
    i: int,
    near: float,
    slow: float,
    a: float,
    withstood: float,
    moved: float,
    dt: float,
    k: int,
) -> float:
    """Return the suspicion that dof k does not stand still, although its numbers repeat.

    They repeat if position and velocity change by at most `near` and `slow`; i is EXACTLY or
    NEARLY. `a` is the acceleration by the model, `withstood` the acceleration that a contact may
    withstand, and `moved` the velocity by the positions.
    """
    q, v = s.last_qpos[k], s.last_qvel[k]
    if abs(q - s.still_qpos[i, k]) > near or abs(v - s.still_qvel[i, k]) > slow:
        stop_standing(s, i, k)
        # a velocity that was wrong before the standstill does not show that the positions are old
        s.still_qpos[i, k], s.still_qvel[i, k] = q, v
        s.still_moving[i, k] = abs(moved - v) < AGREES * abs(v)
        s.still_push[i, k] = abs(s.push[k] if i == EXACTLY else s.steady_push[k])
        return 0.0
    beyond = abs(a) - s.grip[k] - s.still_push[i, k] - withstood
    if beyond > 0.0:
        s.still_gain[i, k] += dt * np.copysign(beyond, a)
    s.still_time[i, k] += dt
    s.still_way[i, k] += dt * s.still_gain[i, k]
    if s.still_moving[i, k] > 0.0 or i == EXACTLY:
        s.still_drift[i, k] += dt * v
    way, drift = abs(s.still_way[i, k]), abs(s.still_drift[i, k])
    return max(way / FROZEN, drift / PASSED)  # type: ignore[no-any-return]


@kernel
def stop_standing(s: BlindState, i: int, k: int) -> None:
    """Clear the record of a standstill of dof k; i is EXACTLY or NEARLY."""
    s.still_qpos[i, k] = s.still_qvel[i, k] = s.still_push[i, k] = s.still_gain[i, k] = 0.0
    s.still_way[i, k] = s.still_drift[i, k] = s.still_moving[i, k] = s.still_time[i, k] = 0.0
