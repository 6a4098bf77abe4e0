# SPDX-License-Identifier: Apache-2.0
"""The rows of an inverse kinematics target at a configuration: their errors and their Jacobian."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.engine.algebra.spatial import mat_mul, transposed
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage
from rbdyn_ros.engine.joints.groups import log_mat
from rbdyn_ros.engine.quantities.jacobian import pose_and_jacobian
from rbdyn_ros.engine.tree.kinematics import axes, poses


class Task(NamedTuple):
    """The target of a frame, and the dofs that may move to reach it.

    Attributes:
        frame: the number of the frame.
        position, rotation: whether the frame's position and its rotation must reach the target.
        loops: (nloops,) the rows of efc_pos that must become zero, to close loops.
        dofs: (n,) the dofs that may move.
        places: (k,) the entries of qpos that may move.
        at: (n,) the entry of qpos for each dof that can have limits; -1 for other dofs.
        limits: (n, 2) lower and upper limits.
        turning: (n,) 1 if the pose is the same after a full rotation of the dof.
        balls: the ball joints that may move and have a limit.
        slides: (n,) 1 for a dof that only translates, 2 for such a dof without limits, else 0.
        unlimited: (k,) the entries of qpos of the translational dofs without limits.
        weight: weight of a position error [1/m]: 1 over the size of the robot, or 1 for usual
            sizes.
        tolerance: tolerance of every error [m or rad].
    """

    frame: Any
    position: Any
    rotation: Any
    loops: Any
    dofs: Any
    places: Any
    at: Any
    limits: Any
    turning: Any
    balls: Any
    slides: Any
    unlimited: Any
    weight: Any
    tolerance: Any


class Space(NamedTuple):
    """Scratch arrays of the solver.

    Attributes:
        J: (6, nv) Jacobian of the frame.
        G: (rows, n) Jacobian of the rows.
        A: (rows, rows) system of a step, then its Cholesky factor.
        e, y: (rows,) errors; right-hand side, then solution, of the system.
        step: (nv,) step of every dof.
        held: (n,) 1 for dofs that stop at a limit.
        kept, best: (nq,) configurations to return to.
        away: (nv,) displacement from the configuration to the posture.
    """

    J: Any
    G: Any
    A: Any
    e: Any
    y: Any
    step: Any
    held: Any
    kept: Any
    best: Any
    away: Any


@inline
def rotation_of(target):
    return (
        target[3], target[4], target[5], target[6], target[7], target[8], target[9], target[10],
        target[11],
    )  # fmt: skip


@kernel
def errors(m, d, task, w, target):
    """Write e and G at qpos.

    Return whether all errors are within the tolerance, and the cost e.e.
    """
    position, rotation, loops = look(m, d, task, w, target)
    cost = 0.0
    for r in range(w.e.size):
        cost += w.e[r] * w.e[r]
    return max(position, rotation, loops) <= task.tolerance, cost


@kernel
def look(m, d, task, w, target):
    """Write e and G at qpos; return the errors of position [m], rotation [rad] and loops."""
    x, R = pose_and_jacobian(m, d, task.frame, w.J)
    row, position, rotation, loops = 0, 0.0, 0.0, 0.0
    if task.position:
        w.e[0], w.e[1], w.e[2] = target[0] - x[0], target[1] - x[1], target[2] - x[2]
        position = np.sqrt(w.e[0] ** 2 + w.e[1] ** 2 + w.e[2] ** 2)
        _take_rows(task, w, 3, 0, task.weight)
        for r in range(3):
            w.e[r] *= task.weight
        row = 3
    if task.rotation:
        turn = mat_mul(rotation_of(target), transposed(R))
        w.e[row], w.e[row + 1], w.e[row + 2] = log_mat(turn)
        rotation = np.sqrt(w.e[row] ** 2 + w.e[row + 1] ** 2 + w.e[row + 2] ** 2)
        _take_rows(task, w, 0, row, 1.0)
        row += 3
    if m.nefc > 0:
        poses(m, d)
        axes(m, d)
        call_stage(m.constraint_stage, m, d)
        for i in range(task.loops.size):
            r = task.loops[i]
            w.e[row + i] = -d.efc_pos[r]
            loops = max(loops, abs(d.efc_pos[r]))
            for n in range(task.dofs.size):
                w.G[row + i, n] = d.efc_J[r, task.dofs[n]]
    return position, rotation, loops


@kernel
def _take_rows(task, w, first, row, weight):
    """Copy three rows of J, times a weight, to G: the columns of the dofs that may move."""
    for n in range(task.dofs.size):
        k = task.dofs[n]
        w.G[row, n] = weight * w.J[first, k]
        w.G[row + 1, n] = weight * w.J[first + 1, k]
        w.G[row + 2, n] = weight * w.J[first + 2, k]
