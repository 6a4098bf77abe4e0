# SPDX-License-Identifier: Apache-2.0
"""The model as a witness: does the arm move as the efforts sent should move it?

From a state the forward dynamics of the efforts sent predict the next one. The difference is the
push, the acceleration that the model does not explain: an unknown payload, friction, a hand. A
joint has frozen if its numbers repeat, or if it stops, although the efforts beyond push and
friction should have moved it. A joint that something blocks looks the same, so contact is a matter
of how much effort it may withstand. Measured efforts tell the two apart: they follow the commands
of a joint that is held, but not where a driver repeats old states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.kernels import entry, kernel
from rbdyn_ros.control.base.state_kernels import LONGEST
from rbdyn_ros.dynamics import stages
from rbdyn_ros.dynamics.entry import check_mass_matrix, handles
from rbdyn_ros.engine.forward import forward_dynamics, mass_matrix

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

#: Rates at which the push follows the motion, and at which the steady push follows the push [1/s].
RATE, STEADY_RATE = 20.0, 5.0
#: A joint that stands still is frozen if its efforts should have moved it this far, or its
#: repeated velocity this far [rad or m]. Coarse encoders repeat within their resolution.
FROZEN, PASSED = 0.04, 0.015
#: Numbers repeat if they are equal, or if they differ by less than these positions [rad or m] and
#: velocities [rad/s or m/s], the noise of an encoder. Friction that nobody told of may hold a
#: joint whose numbers are nearly equal.
STILL, STILL_SPEED = 1e-4, 0.02
#: A joint moves at its measured velocity if it differs by less than this part.
AGREES = 0.5
#: Noise of the velocities is learnt over this time [s]. A change counts for at most so many times
#: the noise so far, or for the least one [rad/s or m/s], so that a single jump is no noise;
#: changes within a multiple of the noise say nothing about a stop.
NOISY, SUDDEN, LEAST, NOISES = 0.25, 10.0, 1e-3, 4.0
#: A joint has stopped if it had this speed [rad/s or m/s] and has less than this part of it.
MOVED, STOPPED = 0.25, 0.25
#: Friction that nobody told of may withstand this share of the effort limits; where people move
#: the arm, a hand; and after a fault, when efforts change too fast for a prediction that knows
#: nothing of the delay of commands, anything.
CONTACT, BY_HAND, ANYTHING = 0.1, 0.25, 1e6
#: Where a joint stands still, the measured effort must follow a command that changed by more than
#: this share of the effort limit: by this share of the change, after this time [s]. It does so
#: where friction, a contact or a hand holds the joint, but not in a state that is repeated.
HEARD, FOLLOWED, DELAY = 0.02, 0.1, 0.04
#: After this time [s] a joint counts as not blocked, if there is a fault.
UNHEARD = 0.01
#: A stop is compared with the motion of this time before it [s].
RECENT = 0.25
#: States between two computations of the inertias, which turn efforts into accelerations.
INERTIA_EVERY = 64

#: Rows of the memory (ROWS, nv): predicted velocity, push, steady push; last position and
#: velocity; velocity and displacement that the motion lacks, largest velocity of recent time;
#: suspicion, a fault above 1; the rows of two standstills; velocity that the efforts should have
#: given so far; what the steady push does not explain; mean square of the noise, and the last odd
#: change of velocity; the accelerations that dry friction and the largest effort give.
EXPECTED, PUSH, STEADY, PLACE, SPEED, LAG, BEHIND, PEAK, FROST, EXACTLY = range(10)
#: Rows of a standstill, from EXACTLY and from NEARLY on: position and velocity, the velocity that
#: the joint should have gained, its two ways, the push before, whether it moved, and its duration.
WHERE, WITH, GAINED, WAY, COURSE, LEARNT, MOVING, LASTS, STANDING = range(9)
NEARLY = EXACTLY + STANDING
#: Command and measured effort where a joint began to stand still, and for how long the measured
#: one has not followed; command and measured effort where its numbers began to repeat exactly.
TOLD, FELT, DEAF, BEGUN, MEASURED = range(NEARLY + STANDING, NEARLY + STANDING + 5)
DUE, ODD, NOISE, LAST, GRIP, MOST, ROWS = range(MEASURED + 1, MEASURED + 8)


class Witness:
    """Predicts the motion of an arm under the efforts sent.

    Args:
        arm: the robot; its friction counts, and the dry friction in its description too.
        dofs: (n,) controlled degrees of freedom.
        most: (n,) their effort limits [N m or N].

    Attributes:
        push: (nv,) acceleration that the model does not explain [rad/s^2 or m/s^2].
        due: (nv,) velocity that the efforts sent should have given so far [rad/s or m/s].
    """

    def __init__(self, arm: Arm, dofs: Ints, most: Array) -> None:
        self._dofs, self._memory = np.array(dofs, np.int64), np.zeros((ROWS, arm.m.nv))
        self._most = np.zeros(arm.m.nv)
        self._most[self._dofs] = most
        self.push, self.due = self._memory[PUSH], self._memory[DUE]
        self._applied = np.zeros(arm.m.nv)
        self._count = 0
        self.use(arm)
        self.begin()

    def use(self, arm: Arm) -> None:
        """Continue with another arm of the same joints."""
        self._arm, self._d = arm, stages.make_data(arm.m)
        self._m_at, self._d_at = handles(arm.m, self._d)
        friction = arm.friction
        self._dry = np.maximum(friction.coulomb + friction.stribeck, arm.m.dof_frictionloss)
        check_mass_matrix(arm.m, self._d, "witness")
        self._dense = np.zeros((arm.m.nv, arm.m.nv))
        self._count = 0

    def begin(self) -> None:
        """Start with the next state: nothing is unexplained yet."""
        self._memory[:GRIP] = 0.0
        self.pause()

    def pause(self) -> None:
        """Continue with the next state, which is no evidence about the efforts sent before it."""
        self._memory[SPEED] = np.nan

    def look(
        self,
        qpos: Array,
        qvel: Array,
        effort: Array,
        dt: float,
        contact: float,
        blocked: float,
        felt: Array,
    ) -> int:
        """Compare a state with the prediction; return the joint that has frozen, or -1.

        Args:
            qpos: (nv,) position of the newest state; this and the next two are own arrays.
            qvel: (nv,) its velocity.
            effort: (nv,) commands that acted since the state before [N m or N].
            dt: time since then; after a longer time than LONGEST the prediction begins anew [s].
            contact: effort that a contact may withstand, as a share of the effort limits.
            blocked: the same where the numbers of a joint do not repeat to the last bit.
            felt: (nv,) measured efforts, NaN where there are none [N m or N].
        """
        if not dt <= LONGEST:
            self.pause()
        dense, memory = self._dense, self._memory
        if self._count % INERTIA_EVERY == 0:
            _weigh.call(self._m_at, self._d_at, qpos, self._dry, self._most, dense, memory)
        self._count += 1
        told = effort
        if not self._arm.is_plain:
            effort = self._arm.applied(effort, qpos, qvel, self._applied)
        dofs = self._dofs
        m_at, d_at = self._m_at, self._d_at
        worst: int = _look.call(
            m_at,
            d_at,
            qpos,
            qvel,
            effort,
            told,
            felt,
            dt,
            contact,
            blocked,
            dofs,
            dense,
            memory,
        )
        return worst

    def acceleration(self, qpos: Array, qvel: Array, effort: Array) -> Array:
        """Return the accelerations (nv,) at a state under commands, with the push.

        Args:
            qpos: (nv,) position; this and the next two are own arrays.
            qvel: (nv,) velocity.
            effort: (nv,) commands [N m or N].
        """
        if not self._arm.is_plain:
            effort = self._arm.applied(effort, qpos, qvel, self._applied)
        _accelerate.call(self._m_at, self._d_at, qpos, qvel, effort)
        found: Array = self._d.qacc + self.push
        return found

    def hears_nothing(self) -> bool:
        """Whether a measured effort does not follow the commands: then the states are old."""
        return bool((self._memory[DEAF] > UNHEARD).any())


@entry
def _weigh(
    m: Model, d: Data, qpos: Vector, dry: Vector, most: Vector, dense: Matrix, memory: Matrix
) -> None:
    """Turn dry friction and the largest efforts into accelerations, at a position."""
    for k in range(m.nv):
        d.qpos[k] = qpos[k]
    mass_matrix(m, d, dense)
    for k in range(m.nv):
        memory[GRIP, k], memory[MOST, k] = dry[k] / dense[k, k], most[k] / dense[k, k]


@entry
def _look(
    m: Model,
    d: Data,
    qpos: Vector,
    qvel: Vector,
    applied: Vector,
    told: Vector,
    felt: Vector,
    dt: float,
    contact: float,
    blocked: float,
    dofs: Ints,
    dense: Matrix,
    memory: Matrix,
) -> int:
    """Compare a state with the prediction under the applied efforts, as _witness."""
    _predict(m, d, qpos, qvel, applied)
    return _witness(d.qacc, qpos, qvel, told, felt, dt, contact, blocked, dofs, dense, memory)


@entry
def _accelerate(m: Model, d: Data, qpos: Vector, qvel: Vector, applied: Vector) -> None:
    _predict(m, d, qpos, qvel, applied)


@kernel
def _predict(m: Model, d: Data, qpos: Vector, qvel: Vector, applied: Vector) -> None:
    """Compute the accelerations of a state under the applied efforts."""
    for k in range(m.nv):
        d.qpos[k], d.qvel[k], d.qfrc_applied[k] = qpos[k], qvel[k], applied[k]
    forward_dynamics(m, d)


@kernel
def _witness(
    qacc: Vector,
    qpos: Vector,
    qvel: Vector,
    told: Vector,
    felt: Vector,
    dt: float,
    contact: float,
    blocked: float,
    dofs: Ints,
    dense: Matrix,
    memory: Matrix,
) -> int:
    """Update the memory with a state and the accelerations of the efforts sent.

    Return the controlled dof that has frozen, the most suspicious of several, or -1.
    """
    n, moves = len(qpos), False
    for k in dofs:  # the encoders of an arm freeze together
        moves = moves or qpos[k] != memory[PLACE, k]
    for k in range(n):
        before = memory[SPEED, k]
        memory[ODD, k] = qacc[k] + memory[STEADY, k] - (qvel[k] - before) / dt
    for k in range(n):  # M (v' - a - steady push): the unexplained effort, by its own inertia
        before, a = memory[SPEED, k], qacc[k]
        odd = load = resisted = 0.0
        for j in range(n):
            odd += dense[k, j] * memory[ODD, j]
            load += dense[k, j] * qacc[j]
            resisted += dense[k, j] * memory[PUSH, j]
        odd, load = odd / dense[k, k], abs(load / dense[k, k])
        resisted = abs(resisted / dense[k, k])  # what withstands the efforts on this joint
        moved = (qpos[k] - memory[PLACE, k]) / dt
        memory[PLACE, k], memory[SPEED, k] = qpos[k], qvel[k]
        if np.isnan(before):  # the first state
            memory[EXPECTED, k] = memory[PEAK, k] = qvel[k]
            memory[FROST, k] = memory[LAG, k] = memory[BEHIND, k] = 0.0
            memory[EXACTLY + WHERE, k] = memory[NEARLY + WHERE, k] = np.inf
            continue
        held, withstood = contact * memory[MOST, k], blocked * memory[MOST, k]
        # where contact is expected, an impact may stop a joint with any effort
        stopped = ANYTHING * memory[MOST, k] if contact > 0.0 else withstood
        stopped += NOISES * _noise(dt * odd, dt, k, memory) / dt
        _compare(a, qvel[k], odd, dt, stopped, k, memory)
        pushes = a if load > held else 0.0
        if memory[GRIP, k] > 0.0:  # the friction of other joints slows this one as well
            pushes = np.copysign(min(abs(pushes), resisted), pushes)
        if _follows(told[k], felt[k], k, memory) and moves:
            _learn_friction(pushes, withstood, k, memory)
        exact = _stand(0.0, 0.0, pushes, held, moved, dt, EXACTLY, k, memory)
        near = _stand(STILL, STILL_SPEED, pushes, withstood, moved, dt, NEARLY, k, memory)
        deaf = _listen(told[k], felt[k], dense[k, k], dt, blocked, k, memory)
        memory[FROST, k] = max(exact, near, deaf, _stop(k, memory))
    worst = -1
    for k in dofs:
        if memory[FROST, k] > (memory[FROST, worst] if worst >= 0 else 1.0):
            worst = k
    return worst


@kernel
def _compare(
    a: float, v: float, odd: float, dt: float, withstood: float, k: int, memory: Matrix
) -> None:
    """Learn the push from a velocity, and how far the motion is behind the efforts."""
    # v' = a + push
    follow = 1.0 - np.exp(-RATE * dt)
    memory[DUE, k] += dt * a
    memory[EXPECTED, k] += dt * (a + memory[PUSH, k])
    off = v - memory[EXPECTED, k]
    memory[EXPECTED, k] += 2.0 * follow * off
    memory[PUSH, k] += RATE * follow * off
    # what the steady push does not explain, beyond friction and contact
    beyond = max(abs(odd) - memory[GRIP, k] - withstood, 0.0)
    memory[STEADY, k] += (1.0 - np.exp(-STEADY_RATE * dt)) * (memory[PUSH, k] - memory[STEADY, k])
    kept = np.exp(-dt / RECENT)
    memory[LAG, k] = kept * memory[LAG, k] + dt * np.copysign(beyond, odd)
    memory[BEHIND, k] = kept * memory[BEHIND, k] + dt * memory[LAG, k]
    memory[PEAK, k] *= kept
    if abs(v) > abs(memory[PEAK, k]):  # what was before it has nothing to do with a stop
        memory[PEAK, k], memory[LAG, k], memory[BEHIND, k] = v, 0.0, 0.0


@kernel
def _noise(odd: float, dt: float, k: int, memory: Matrix) -> float:
    """Learn the noise of a velocity from how its unexplained changes alternate; return it."""
    jump, memory[LAST, k] = odd - memory[LAST, k], odd
    counts = min(jump**2, max(SUDDEN**2 * memory[NOISE, k], LEAST**2))
    memory[NOISE, k] += (1.0 - np.exp(-dt / NOISY)) * (counts - memory[NOISE, k])
    return np.sqrt(memory[NOISE, k])  # type: ignore[no-any-return]


@kernel
def _follows(told: float, felt: float, k: int, memory: Matrix) -> bool:
    """Whether a measured effort has followed the command since the numbers repeat exactly."""
    if memory[EXACTLY + LASTS, k] == 0.0:
        memory[BEGUN, k], memory[MEASURED, k] = told, felt
    change, followed = abs(told - memory[BEGUN, k]), abs(felt - memory[MEASURED, k])
    return followed > FOLLOWED * change  # type: ignore[no-any-return]


@kernel
def _learn_friction(a: float, withstood: float, k: int, memory: Matrix) -> None:
    """Learn which efforts do not move a joint whose numbers are new although they repeat."""
    held = abs(a) - memory[GRIP, k]
    if held <= withstood:
        memory[EXACTLY + LEARNT, k] = max(memory[EXACTLY + LEARNT, k], held)
        memory[EXACTLY + GAINED, k] = memory[EXACTLY + WAY, k] = 0.0


@kernel
def _listen(
    told: float, felt: float, inertia: float, dt: float, blocked: float, k: int, memory: Matrix
) -> float:
    """Return the suspicion that the measured effort of a standing joint is an old one."""
    unknown = np.isnan(felt) or felt == 0.0  # drivers that measure none often say 0
    if memory[NEARLY + LASTS, k] == 0.0 or unknown or blocked >= ANYTHING:
        memory[TOLD, k], memory[FELT, k], memory[DEAF, k] = told, felt, 0.0
        return 0.0
    change, followed = abs(told - memory[TOLD, k]), abs(felt - memory[FELT, k])
    heard = HEARD * memory[MOST, k] * inertia
    waits = change > heard and followed < FOLLOWED * change
    memory[DEAF, k] = memory[DEAF, k] + dt if waits else 0.0
    return memory[DEAF, k] / DELAY  # type: ignore[no-any-return]


@kernel
def _stop(k: int, memory: Matrix) -> float:
    """Return the suspicion that a joint has not stopped, although its numbers say so."""
    peak = memory[PEAK, k]
    if abs(peak) < MOVED or abs(memory[SPEED, k]) > STOPPED * abs(peak):
        return 0.0
    return max(memory[BEHIND, k] * np.sign(peak), 0.0) / FROZEN  # type: ignore[no-any-return]


@kernel
def _stand(
    near: float,
    slow: float,
    a: float,
    withstood: float,
    moved: float,
    dt: float,
    first: int,
    k: int,
    memory: Matrix,
) -> float:
    """Return the suspicion that a joint does not stand still, although its numbers repeat."""
    stand = memory[first : first + STANDING, k]
    q, v = memory[PLACE, k], memory[SPEED, k]
    if abs(q - stand[WHERE]) > near or abs(v - stand[WITH]) > slow:
        stand[:] = 0.0
        # a velocity that was wrong before the joint stood still says nothing about its positions
        stand[WHERE], stand[WITH], stand[MOVING] = q, v, abs(moved - v) < AGREES * abs(v)
        stand[LEARNT] = abs(memory[PUSH if first == EXACTLY else STEADY, k])
        return 0.0
    beyond = abs(a) - memory[GRIP, k] - stand[LEARNT] - withstood
    if beyond > 0.0:
        stand[GAINED] += dt * np.copysign(beyond, a)
    stand[LASTS] += dt
    stand[WAY] += dt * stand[GAINED]
    stand[COURSE] += dt * v * max(stand[MOVING], first == EXACTLY)
    return max(abs(stand[WAY]) / FROZEN, abs(stand[COURSE]) / PASSED)  # type: ignore[no-any-return]
