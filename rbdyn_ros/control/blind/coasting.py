# SPDX-License-Identifier: Apache-2.0
"""Let an armed arm coast while its newest state is late.

The last effort of a law fits only the time of its state. If it acts longer, it accelerates a light
arm far beyond its bounds before the missing states count as a fault. So an arm whose newest state
is late coasts: the efforts balance gravity and the Coriolis forces of the velocity that the model
predicts, and damp this velocity gently. They do not drive a blocked joint. If states come in time,
the law continues. If not, the arm is braked from the position to which it has coasted.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.control.arm.actuation import Actuation, to_command
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.blind.state import BlindState
from rbdyn_ros.control.blind.witness import accelerate
from rbdyn_ros.control.states.clock import seconds
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.engine.forward import inverse
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: Rate at which a coasting arm slows down [1/s]. With 10, the law has to catch up so much after a
#: gap of 60 ms that a light joint becomes 1.4 times as fast as without gaps.
DAMPING = 5.0


@kernel
def coast(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    s: BlindState,
    now: int,
    late: float,
    dt: float,
    qpos: Vector,
    qvel: Vector,
    command: Vector,
    effort: Vector,
) -> float:
    """Write efforts for an arm whose newest state is late; return the time since the last efforts.

    The arm coasts from the predicted state to which the efforts sent have moved it. The efforts do
    not compensate friction.

    `now` is on the steady clock [ns], `late` the age of the state [s], `dt` the time since the
    last effort of the law [s], and `command` (nv,) the last efforts sent.
    """
    if s.coasts > 0:
        dt = max(seconds(s.coast_answered, now), 0.0)
        s.coast_answered = now
    else:
        accelerate(m, d, bare, own, a, s, qpos, qvel, command)
        foresee(m, d, s, late, qpos, qvel)
        begin(s, now)
    coasted(s, now)
    drive(m, d, bare, own, a, s, DAMPING, s.qvel, effort)
    return dt


@kernel
def foresee(m: Model, d: Data, s: BlindState, late: float, qpos: Vector, qvel: Vector) -> None:
    """Predict the state of an arm that has accelerated by d.qacc + s.push for `late` [s]."""
    for k in range(m.nv):
        s.coast_qvel[k] = qvel[k] + late * (d.qacc[k] + s.push[k])
    for i in range(len(s.dofs)):
        k, fastest = s.dofs[i], s.limits[2, i]
        s.coast_qvel[k] = min(max(s.coast_qvel[k], -fastest), fastest)
    for k in range(m.nv):
        s.coast_qpos[k] = qpos[k] + 0.5 * late * (qvel[k] + s.coast_qvel[k])


@kernel
def begin(s: BlindState, now: int) -> None:
    """Start to coast from coast_qpos with coast_qvel; `now` is on the steady clock [ns]."""
    s.coasts = 1
    s.coast_begun = s.coast_answered = now


@kernel
def coasted(s: BlindState, now: int) -> None:
    """Write the predicted state of a coasting arm; `now` is on the steady clock [ns]."""
    left = np.exp(-DAMPING * max(seconds(s.coast_begun, now), 0.0))
    decay(s.coast_qpos, s.coast_qvel, left, DAMPING, s.qpos, s.qvel)


@kernel
def decay(
    qpos: Vector, qvel: Vector, left: float, rate: float, place: Vector, speed: Vector
) -> None:
    """Write the state, `place` and `speed`, after the velocity has decayed to the share `left`.

    It decays at a rate [1/s] from the state qpos, qvel.
    """
    for k in range(len(qpos)):
        place[k] = qpos[k] + (1.0 - left) / rate * qvel[k]
        speed[k] = left * qvel[k]


@kernel
def drive(
    m: Model,
    d: Data,
    bare: Model,
    own: Data,
    a: Actuation,
    s: BlindState,
    rate: float,
    measured: Vector,
    effort: Vector,
) -> None:
    """Write the commands that let motion decay at a rate [1/s], for the predicted state.

    The robot itself may compensate Coriolis forces, at the velocity `measured`.
    """
    for k in range(m.nv):
        d.qpos[k], d.qvel[k], d.qacc[k] = s.qpos[k], s.qvel[k], -rate * s.qvel[k]
    inverse(m, d)
    for k in range(m.nv):
        effort[k] = d.qfrc_inverse[k]
    to_command(bare, own, a, s.qpos, measured, a.rest, effort)
