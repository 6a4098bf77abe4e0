# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics from many starts, by Levenberg-Marquardt steps within limits.

The rows of a target are the position and rotation of one frame and, in robots with closed loops,
the position errors of all loops. A step s minimises

    |G s - e|^2 + damping |s|^2    with q + s within the limits

over the dofs that may move. A dof that would pass its limit moves to the limit, and the step of
the other dofs is computed again. The system has one equation per row, for any number of dofs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.engine.algebra.spatial import IDENTITY, cross3, dot3, mat_mul, transposed
from rbdyn_ros.engine.compiler.jit import brief, kernel
from rbdyn_ros.engine.quantities.ik.descent import descend
from rbdyn_ros.engine.quantities.ik.posture import take_posture, turn_back
from rbdyn_ros.engine.quantities.ik.rows import Space, Task, look, rotation_of
from rbdyn_ros.engine.quantities.ik.step import clip, shift
from rbdyn_ros.engine.step.integrate import integrate_pos

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def solve_targets(
    m: Model, d: Data, frame: int, position: bool, rotation: bool, loops: Ints, dofs: Ints,
    places: Ints, at: Ints, limits: Matrix, turning: Ints, balls: Ints, slides: Ints,
    unlimited: Ints, weight: float, tolerance: float,
    J: Matrix, G: Matrix, A: Matrix, rows: Matrix, velocities: Matrix, held: Ints,
    configurations: Matrix, start: Vector, seeds: Matrix, first: int, attempts: int,
    postured: bool, posture: Vector, targets: Matrix, found: Matrix, report: Matrix,
) -> None:  # fmt: skip
    """Write a configuration to found (n, nq) for each row of targets (n, 12).

    The attempts begin at `start` and at the configurations `seeds`.

    A row of targets is a position and a rotation matrix, row by row. A row of report (n, 6) is:
    solved, the errors of position, rotation and loops, steps, attempts. Attempts before `first`
    are skipped, because the caller has rejected their results, but they count as attempts.
    """
    task = Task(
        frame, position, rotation, loops, dofs, places, at, limits, turning, balls, slides,
        unlimited, weight, tolerance,
    )  # fmt: skip
    w = Space(
        J, G, A, rows[0], rows[1], velocities[0], held, configurations[0], configurations[1],
        velocities[1],
    )  # fmt: skip
    for t in range(targets.shape[0]):
        target = targets[t]
        solved, steps, used = _from_all_starts(
            m, d, task, w, target, start, seeds, first, attempts
        )
        if solved:
            turn_back(d, task, posture if postured else start)
            if postured:
                take_posture(m, d, task, w, target, posture)
        errors = look(m, d, task, w, target)
        report[t, 0] = 1.0 if solved else 0.0
        report[t, 1], report[t, 2], report[t, 3] = errors
        report[t, 4], report[t, 5] = steps, used
        for k in range(m.nq):
            found[t, k] = d.qpos[k]


@kernel
def _from_all_starts(m, d, task, w, target, start, seeds, first, attempts):
    """Write the solution to qpos, or the nearest result. Return (solved, steps, attempts)."""
    least, steps = np.inf, 0
    for k in range(m.nq):
        d.qpos[k] = start[k]
    for attempt in range(first, attempts):
        if attempt > 0:
            for n in range(task.places.size):
                d.qpos[task.places[n]] = seeds[attempt - 1, task.places[n]]
            _approach(m, d, task, w, target, start)
        clip(m, d, task)
        solved, cost, taken = descend(m, d, task, w, target)
        steps += taken
        if solved:
            return True, steps, attempt + 1
        if cost < least or attempt == first:
            least = cost
            for k in range(m.nq):
                w.best[k] = d.qpos[k]
    for k in range(m.nq):
        d.qpos[k] = w.best[k]
    return False, steps, attempts


@kernel
def _approach(m, d, task, w, target, start):
    """Move unlimited translational dofs from `start`, to bring the frame nearest to the target."""
    for n in range(task.unlimited.size):
        d.qpos[task.unlimited[n]] = start[task.unlimited[n]]
    if task.position and task.unlimited.size > 0:
        look(m, d, task, w, target)
        shift(d, task, w)
        integrate_pos(m, d.qpos, w.step, 1.0)


@brief
def straighten(targets: Matrix, most: float) -> int:
    """Replace the matrices in targets (n, 12) by the nearest rotation matrices.

    This is Newton's iteration for the polar decomposition.

    Returns:
        The first row whose numbers are not finite, or whose matrix is not a rotation: R^T R
        differs from the identity by more than `most` in an entry. If all rows are valid, -1.
    """
    for t in range(targets.shape[0]):
        total = 0.0
        for k in range(12):
            total += targets[t, k]
        if not np.isfinite(total):
            return t
        for _ in range(3):
            R = rotation_of(targets[t])
            S = mat_mul(transposed(R), R)
            gap = 0.0
            for k in range(9):
                gap = max(gap, abs(S[k] - IDENTITY[k]))
            right_handed = dot3(cross3((R[0], R[1], R[2]), (R[3], R[4], R[5])), (R[6], R[7], R[8]))
            if gap > most or right_handed < 0.0:
                return t
            # R (3 - R^T R) / 2
            half = (
                1.5 - 0.5 * S[0], -0.5 * S[1], -0.5 * S[2], -0.5 * S[3], 1.5 - 0.5 * S[4],
                -0.5 * S[5], -0.5 * S[6], -0.5 * S[7], 1.5 - 0.5 * S[8],
            )  # fmt: skip
            R = mat_mul(R, half)
            for k in range(9):
                targets[t, 3 + k] = R[k]
    return -1
