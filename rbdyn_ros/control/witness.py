"""The model as a witness: does the arm move as the efforts sent should move it?

From a state the forward dynamics of the efforts sent predict the next one. The difference is the
push, the acceleration that the model does not explain: an unknown payload, friction, a hand. A
joint whose numbers repeat to the last bit, although efforts beyond push and friction should have
moved it, has frozen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.kernels import entry, kernel
from rbdyn_ros.control.state_kernels import LONGEST
from rbdyn_ros.dynamics import stages
from rbdyn_ros.dynamics.entry import handles
from rbdyn_ros.engine.forward import forward_dynamics, mass_matrix

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

#: Rate at which the push follows the motion [1/s].
RATE = 20.0
#: A joint whose numbers repeat is frozen if its efforts should have moved it this far, or its
#: repeated velocity this far [rad or m]. Coarse encoders repeat within their resolution.
FROZEN, PASSED = 0.04, 0.015
#: States between two computations of the inertias, which turn friction into accelerations.
INERTIA_EVERY = 64

#: Rows of the memory (ROWS, nv): predicted velocity; push; last position and velocity; of a joint
#: whose numbers repeat, the velocity that it should have gained, the larger of its two ways as a
#: part of the allowed one, the ways, and the push before its numbers repeated; the velocity
#: that the efforts should have given so far; the acceleration that dry friction withstands.
EXPECTED, PUSH, PLACE, SPEED, GAINED, FROST, WAY, COURSE, LEARNT, DUE, GRIP, ROWS = range(12)


class Witness:
    """Predicts the motion of an arm under the efforts sent.

    Args:
        arm: the robot; its friction counts, and the dry friction in its description too.
        dofs: (n,) controlled degrees of freedom.

    Attributes:
        push: (nv,) acceleration that the model does not explain [rad/s^2 or m/s^2].
        due: (nv,) velocity that the efforts sent should have given so far [rad/s or m/s].
        suspicion: largest way of a joint whose numbers repeat, as a part of the allowed one.
    """

    def __init__(self, arm: Arm, dofs: Ints) -> None:
        self._dofs, self._memory = np.array(dofs, np.int64), np.zeros((ROWS, arm.m.nv))
        self.push, self.due = self._memory[PUSH], self._memory[DUE]
        self._applied = np.zeros(arm.m.nv)
        self.suspicion = 0.0
        self._count = 0
        self.use(arm)
        self.begin()

    def use(self, arm: Arm) -> None:
        """Continue with another arm of the same joints."""
        self._arm, self._d = arm, stages.make_data(arm.m)
        self._m_at, self._d_at = handles(arm.m, self._d)
        friction = arm.friction
        self._dry = np.maximum(friction.coulomb + friction.stribeck, arm.m.dof_frictionloss)
        self._rubs = bool(self._dry.any())
        if self._rubs:
            stages.mass_matrix(arm.m, self._d)  # makes its memory
        self._count = 0

    def begin(self) -> None:
        """Start with the next state: nothing is unexplained yet."""
        self._memory[:GRIP] = 0.0
        self.pause()

    def pause(self) -> None:
        """Continue with the next state, which says nothing about the efforts sent before it."""
        self._memory[SPEED] = np.nan

    def look(self, qpos: Array, qvel: Array, effort: Array, dt: float) -> int:
        """Compare a state with the prediction; return the joint that has frozen, or -1.

        Args:
            qpos: (nv,) position of the newest state; this and the next two are own arrays.
            qvel: (nv,) its velocity.
            effort: (nv,) commands that acted since the state before [N m or N].
            dt: time since then; after a longer time than LONGEST the prediction begins anew [s].
        """
        if not dt <= LONGEST:
            self.pause()
        if self._rubs and self._count % INERTIA_EVERY == 0:
            dense = self._d.dense_memory
            _weigh.call(self._m_at, self._d_at, qpos, self._dry, dense, self._memory)
        self._count += 1
        if not self._arm.is_plain:
            effort = self._arm.applied(effort, qpos, qvel, self._applied)
        dofs, memory = self._dofs, self._memory
        self.suspicion = _look.call(self._m_at, self._d_at, qpos, qvel, effort, dt, dofs, memory)
        if not self.suspicion > 1.0:
            return -1
        return int(dofs[memory[FROST, dofs].argmax()])


def accelerate(arm: Arm, d: Data, qpos: Array, qvel: Array, effort: Array) -> Array:
    """Return the accelerations (nv,) of an arm under commands (nv,), an array of d."""
    d.qpos[:], d.qvel[:] = qpos, qvel
    arm.applied(effort, qpos, qvel, d.qfrc_applied)
    stages.forward_dynamics(arm.m, d)
    acceleration: Array = d.qacc
    return acceleration


@entry
def _weigh(m: Model, d: Data, qpos: Vector, dry: Vector, dense: Matrix, memory: Matrix) -> None:
    """Turn dry friction into accelerations, at a position."""
    for k in range(m.nv):
        d.qpos[k] = qpos[k]
    mass_matrix(m, d, dense)
    for k in range(m.nv):
        memory[GRIP, k] = dry[k] / dense[k, k]


@entry
def _look(
    m: Model,
    d: Data,
    qpos: Vector,
    qvel: Vector,
    applied: Vector,
    dt: float,
    dofs: Ints,
    memory: Matrix,
) -> float:
    """Compare a state with the prediction under the applied efforts; return the suspicion."""
    for k in range(m.nv):
        d.qpos[k], d.qvel[k], d.qfrc_applied[k] = qpos[k], qvel[k], applied[k]
    forward_dynamics(m, d)
    worst = _witness(d.qacc, qpos, qvel, dt, dofs, memory)
    return memory[FROST, worst]  # type: ignore[no-any-return]


@kernel
def _witness(
    qacc: Vector, qpos: Vector, qvel: Vector, dt: float, dofs: Ints, memory: Matrix
) -> int:
    """Update the memory with a state and the accelerations of the efforts sent.

    Return the controlled dof whose numbers are the most suspicious.
    """
    follow = 1.0 - np.exp(-RATE * dt)
    for k in range(len(qpos)):
        before, a = memory[SPEED, k], qacc[k]
        repeated = qpos[k] == memory[PLACE, k] and qvel[k] == before
        memory[PLACE, k], memory[SPEED, k] = qpos[k], qvel[k]
        if np.isnan(before):  # the first state
            memory[EXPECTED, k] = qvel[k]
            memory[GAINED : COURSE + 1, k] = 0.0
            continue
        # v' = a + push
        memory[DUE, k] += dt * a
        memory[EXPECTED, k] += dt * (a + memory[PUSH, k])
        off = qvel[k] - memory[EXPECTED, k]
        memory[EXPECTED, k] += 2.0 * follow * off
        memory[PUSH, k] += RATE * follow * off
        if not repeated:
            memory[LEARNT, k] = abs(memory[PUSH, k])
            memory[GAINED : COURSE + 1, k] = 0.0
            continue
        beyond = abs(a) - memory[GRIP, k] - memory[LEARNT, k]
        if beyond > 0.0:
            memory[GAINED, k] += dt * np.copysign(beyond, a)
        memory[WAY, k] += dt * memory[GAINED, k]
        memory[COURSE, k] += dt * qvel[k]
        memory[FROST, k] = max(abs(memory[WAY, k]) / FROZEN, abs(memory[COURSE, k]) / PASSED)
    worst = -1
    for k in dofs:
        if worst < 0 or memory[FROST, k] > memory[FROST, worst]:
            worst = k
    return worst
