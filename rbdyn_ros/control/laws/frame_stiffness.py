# SPDX-License-Identifier: Apache-2.0
"""Kernels of Cartesian impedance control and its null space.

With stiffness K and B = K^1/2 J, the matrix B M^-1 B^T = U Omega^2 U^T holds the squared natural
frequencies [1/s^2] of the robot on this stiffness, without mixing rad and m. Directions in which
the robot cannot move, or without stiffness, have frequency 0. So no singular matrix is inverted.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.engine.algebra.spatial import load3, mat_mul, transposed
from rbdyn_ros.engine.compiler.jit import Cube, Matrix
from rbdyn_ros.engine.joints.groups import log_mat
from rbdyn_ros.engine.quantities.inverse_mass import factored
from rbdyn_ros.engine.quantities.jacobian import LOCAL_WORLD_ALIGNED, frame_jacobian, frame_pose
from rbdyn_ros.engine.quantities.terms import bias_term
from rbdyn_ros.engine.tree.crb import half_solve, solve_ltdl
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: Modes slower than this fraction of the fastest mode are rounding errors.
NO_MODE = 1e-7
#: Modes slower than this fraction of the fastest mode fade into the null space.
FADING = 0.005
#: Rows of the arrays `rows`, each (nv,), and `task`, each (6,).
POSTURE, NULL_STIFFNESS, NULL_DAMPING, EFFORT, X, Y = range(6)
ROOT, ERROR, VELOCITY, OMEGA, FORCE = range(5)
#: Sweeps of Jacobi's method; five are enough for 6 by 6.
_SWEEPS = 15


@kernel
def cartesian_impedance(
    m: Model, d: Data, frame: int, ratio: float, poses: Cube, task: Matrix, B: Cube, rows: Matrix
) -> None:
    """Write the efforts of CartesianImpedance at the state in d.

    Args:
        m: the robot.
        d: state of the robot.
        frame: number of the frame.
        ratio: damping ratio.
        poses: (2, 4, 3) desired pose; the present pose is written.
        task: (17, 6) row ROOT has the square roots of the stiffness; the rows of W and U follow
            row FORCE.
        B: (2, 6, nv) K^1/2 J and K^1/2 J M^-1/2 are written.
        rows: (6, nv) POSTURE, NULL_STIFFNESS and NULL_DAMPING are inputs, EFFORT is written.
    """
    bias_term(m, d, rows[EFFORT])
    frame_pose(m, d, frame, poses[1])
    _write_error(poses, task)
    _write_modes(m, d, frame, task, B)
    for r in range(6):
        total = 0.0
        for k in range(m.nv):
            total += B[0, r, k] * d.qvel[k]
        task[VELOCITY, r] = total
    _add_spring(m, ratio, task, B[0], rows)
    _add_null_space(m, d, task, B[0], rows)


@kernel
def _write_error(poses, task):
    """Write K^1/2 e, with the rotation and the translation to the desired pose in world axes."""
    R_d, R = _rotation(poses[0]), _rotation(poses[1])
    e = log_mat(mat_mul(R_d, transposed(R)))
    for r in range(3):
        task[ERROR, r] = task[ROOT, r] * e[r]
        task[ERROR, r + 3] = task[ROOT, r + 3] * (poses[0, 3, r] - poses[1, 3, r])


@kernel
def _rotation(pose):
    a, b, c = load3(pose, 0), load3(pose, 1), load3(pose, 2)
    return a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]


@kernel
def _write_modes(m, d, frame, task, B):
    """Write B, and from B M^-1 B^T its eigenvectors U and the roots Omega of its eigenvalues.

    Call `com_pos` first.
    """
    factored(m, d)
    frame_jacobian(m, d, frame, LOCAL_WORLD_ALIGNED, B[0])
    for k in range(m.nv):
        d.row_scale[k] = np.sqrt(d.qLDiagInv[k])
    for r in range(6):
        for k in range(m.nv):
            B[0, r, k] *= task[ROOT, r]
            B[1, r, k] = B[0, r, k]
        half_solve(m, d, B[1, r])
    W, U = task[FORCE + 1 : FORCE + 7], task[FORCE + 7 :]
    for r in range(6):
        for s in range(r + 1):
            total = 0.0
            for k in range(m.nv):
                total += B[1, r, k] * B[1, s, k]
            W[r, s] = W[s, r] = total
    diagonalise(W, U)
    for i in range(6):
        task[OMEGA, i] = np.sqrt(max(W[i, i], 0.0))


@kernel
def diagonalise(W: Matrix, U: Matrix) -> None:
    """Replace the symmetric W by the diagonal U^T W U with an orthogonal U.

    Source: Golub, Van Loan, Matrix computations, section 8.5 (cyclic Jacobi).
    """
    n = W.shape[0]
    for r in range(n):
        for s in range(n):
            U[r, s] = 1.0 if r == s else 0.0
    for _ in range(_SWEEPS):
        beside, along = 0.0, 0.0
        for r in range(n):
            along += W[r, r] * W[r, r]
            for s in range(r):
                beside += W[r, s] * W[r, s]
        if not beside > 1e-34 * along:
            return
        for p in range(n):
            for q in range(p + 1, n):
                if W[p, q] != 0.0:
                    _rotate(W, U, p, q)


@kernel
def _rotate(W, U, p, q):
    """Make W[p, q] zero by a rotation in the plane of p and q."""
    theta = (W[q, q] - W[p, p]) / (2.0 * W[p, q])
    t = np.copysign(1.0, theta) / (abs(theta) + np.sqrt(theta * theta + 1.0))
    c = 1.0 / np.sqrt(t * t + 1.0)
    s = t * c
    for k in range(W.shape[0]):
        W[k, p], W[k, q] = c * W[k, p] - s * W[k, q], s * W[k, p] + c * W[k, q]
        U[k, p], U[k, q] = c * U[k, p] - s * U[k, q], s * U[k, p] + c * U[k, q]
    for k in range(W.shape[0]):
        W[p, k], W[q, k] = c * W[p, k] - s * W[q, k], s * W[p, k] + c * W[q, k]
    W[p, q] = W[q, p] = 0.0


@kernel
def _fastest(task):
    most = 0.0
    for i in range(6):
        most = max(most, task[OMEGA, i])
    return most


@kernel
def _add_spring(m, ratio, task, B, rows):
    """effort += B^T (K^1/2 e - 2 ratio U Omega^-1 U^T B qvel)."""
    U, least = task[FORCE + 7 :], NO_MODE * _fastest(task)
    for r in range(6):
        task[FORCE, r] = task[ERROR, r]
    for i in range(6):
        if task[OMEGA, i] > least:
            speed = 0.0
            for r in range(6):
                speed += U[r, i] * task[VELOCITY, r]
            for r in range(6):
                task[FORCE, r] -= 2.0 * ratio * speed / task[OMEGA, i] * U[r, i]
    for r in range(6):
        for k in range(m.nv):
            rows[EFFORT, k] += B[r, k] * task[FORCE, r]


@kernel
def _add_null_space(m, d, task, B, rows):
    """effort += P^T (k (posture - qpos) - D P qvel), where P qvel is motion in the null space.

    P = 1 - M^-1 B^T U w Omega^-2 U^T B removes all modes (w = 1) except slow modes, as near a
    singular posture, so that the efforts stay continuous.
    """
    _along_modes(m, task, B, rows)
    solve_ltdl(m, d, rows[Y])
    for k in range(m.nv):
        spring = rows[NULL_STIFFNESS, k] * (rows[POSTURE, k] - d.qpos[k])
        rows[X, k] = spring - rows[NULL_DAMPING, k] * (d.qvel[k] - rows[Y, k])
        rows[Y, k] = rows[X, k]
    solve_ltdl(m, d, rows[Y])
    for r in range(6):
        total = 0.0
        for k in range(m.nv):
            total += B[r, k] * rows[Y, k]
        task[VELOCITY, r] = total
    _along_modes(m, task, B, rows)
    for k in range(m.nv):
        rows[EFFORT, k] += rows[X, k] - rows[Y, k]


@kernel
def _along_modes(m, task, B, rows):
    """Write B^T U w Omega^-2 U^T x to row Y, with x in row VELOCITY."""
    U, most = task[FORCE + 7 :], _fastest(task)
    for k in range(m.nv):
        rows[Y, k] = 0.0
    for i in range(6):
        omega = task[OMEGA, i]
        if not omega > NO_MODE * most:
            continue
        z = min(omega / (FADING * most), 1.0)
        weight = z * z * (3.0 - 2.0 * z) / (omega * omega)
        part = 0.0
        for r in range(6):
            part += U[r, i] * task[VELOCITY, r]
        for r in range(6):
            for k in range(m.nv):
                rows[Y, k] += weight * part * U[r, i] * B[r, k]
