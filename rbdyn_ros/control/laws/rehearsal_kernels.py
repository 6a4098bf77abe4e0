# SPDX-License-Identifier: Apache-2.0
"""Kernel that moves the model of an arm to a new pose of its frame, ahead of the arm itself."""

from __future__ import annotations

from rbdyn_ros.control.base.kernels import entry, kernel
from rbdyn_ros.control.laws.frame_stiffness import EFFORT, X, cartesian_impedance
from rbdyn_ros.engine.compiler.jit import Cube, Matrix, Vector
from rbdyn_ros.engine.quantities.terms import bias_term
from rbdyn_ros.engine.tree.crb import solve_ltdl
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: Largest motion of a joint between two positions that are written [rad or m].
SPACING = 0.02


@entry
def rehearse(
    m: Model, d: Data, frame: int, ratio: float, poses: Cube, task: Matrix, B: Cube,
    rows: Matrix, held: Vector, speed: float, most: float, dt: float, nstep: int, times: Vector,
    places: Matrix,
) -> int:  # fmt: skip
    """Write the motion from the state in d under CartesianImpedance; return its number of points.

    Steps of dt [s] end when the arm has arrived: no joint exceeds the speed `speed` and the
    acceleration `most`. The number is 0 if the arm has not arrived after nstep steps, or when
    `times` and `places` are full. Joints with held[k] = 1 stay where they are. The other arguments
    are those of cartesian_impedance.

    Source: semi-implicit Euler on M qacc = effort - C qvel - g.
    """
    count: int = _write(m, d, 0.0, 0, times, places)
    for k in range(m.nv):
        d.qvel[k] *= 1.0 - held[k]
    for i in range(nstep):
        cartesian_impedance(m, d, frame, ratio, poses, task, B, rows)
        bias_term(m, d, rows[X])
        for k in range(m.nv):
            rows[X, k] = rows[EFFORT, k] - rows[X, k]
        solve_ltdl(m, d, rows[X])
        calm, farthest = True, 0.0
        for k in range(m.nv):
            acceleration = rows[X, k] * (1.0 - held[k])
            calm = calm and abs(d.qvel[k]) <= speed and abs(acceleration) <= most
            d.qvel[k] += dt * acceleration
            d.qpos[k] += dt * d.qvel[k]
            farthest = max(farthest, abs(d.qpos[k] - places[count - 1, k]))
        if calm or farthest > SPACING:
            count = _write(m, d, (i + 1) * dt, count, times, places)
        if calm:
            return count
        if count == len(times):
            break
    return 0


@kernel
def _write(m: Model, d: Data, t: float, count: int, times: Vector, places: Matrix) -> int:
    times[count] = t
    for k in range(m.nv):
        places[count, k] = d.qpos[k]
    return count + 1
