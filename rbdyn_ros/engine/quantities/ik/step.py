# SPDX-License-Identifier: Apache-2.0
"""One step of inverse kinematics: damped least squares within the limits.

Source: Baerlocher, Boulic, An inverse kinematics architecture enforcing an arbitrary number of
strict priority levels, 2004 (limits).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import quat_at
from rbdyn_ros.engine.compiler.jit import kernel

#: The longest step of a dof [rad or m]. Dofs that only translate may move farther: by the distance
#: to the target.
LONGEST_STEP = 1.0
#: The least damping, in units of the squared error.
LEAST = 1e-11


@kernel
def find_step(m, d, task, w, damping):
    """Write the step s = G^T y with (G G^T + damping) y = e - G s_held, within the limits."""
    for n in range(task.dofs.size):
        w.held[n] = 0
        w.step[task.dofs[n]] = 0.0
    for _ in range(task.dofs.size + 1):
        for r in range(w.e.size):
            w.y[r] = w.e[r]
        free_step(task, w, damping)
        if not _hold_at_limits(d, task, w):
            break
    way = distance(task, w)
    longest = 0.0
    for n in range(task.dofs.size):
        size = abs(w.step[task.dofs[n]])
        longest = max(longest, size / way if task.slides[n] and way > 1.0 else size)
    if longest > LONGEST_STEP:
        for n in range(task.dofs.size):
            w.step[task.dofs[n]] *= LONGEST_STEP / longest


@kernel
def distance(task, w):
    """Return the error in position [m], or 0 if the target has no position."""
    if not task.position:
        return 0.0
    return np.sqrt(w.e[0] ** 2 + w.e[1] ** 2 + w.e[2] ** 2) / task.weight


@kernel
def shift(d, task, w):
    """Write the step of unlimited translations that brings the frame nearest to the target."""
    for n in range(task.dofs.size):
        w.held[n] = task.slides[n] != 2
        w.step[task.dofs[n]] = 0.0
    for r in range(w.e.size):
        w.y[r] = w.e[r] if r < 3 else 0.0
    free_step(task, w, LEAST)


@kernel
def free_step(task, w, damping):
    """Write the step of the dofs that are not held, for the error left by the held dofs."""
    for n in range(task.dofs.size):
        if w.held[n]:
            for r in range(w.y.size):
                w.y[r] -= w.G[r, n] * w.step[task.dofs[n]]
    _factor(task, w, damping)
    _solve(w)
    for n in range(task.dofs.size):
        if not w.held[n]:
            s = 0.0
            for r in range(w.y.size):
                s += w.G[r, n] * w.y[r]
            w.step[task.dofs[n]] = s


@kernel
def _hold_at_limits(d, task, w):
    """Hold dofs at a limit that their step would pass; return whether another dof is now held."""
    passed = False
    for n in range(task.dofs.size):
        if task.at[n] >= 0 and not w.held[n]:
            q = d.qpos[task.at[n]]
            reached = q + w.step[task.dofs[n]]
            limit = min(max(reached, task.limits[n, 0]), task.limits[n, 1])
            if limit != reached:
                w.held[n] = 1
                w.step[task.dofs[n]] = limit - q
                passed = True
    return passed


@kernel
def _factor(task, w, damping):
    """Write the Cholesky factor of G G^T + damping, over the dofs that are not held."""
    rows = w.y.size
    for r in range(rows):
        for c in range(r + 1):
            total = damping if r == c else 0.0
            for n in range(task.dofs.size):
                if not w.held[n]:
                    total += w.G[r, n] * w.G[c, n]
            for k in range(c):
                total -= w.A[r, k] * w.A[c, k]
            # rounding errors may leave less than the damping on the diagonal
            w.A[r, c] = np.sqrt(max(total, LEAST)) if r == c else total / w.A[c, c]


@kernel
def _solve(w):
    """Replace y by the solution of the factored system."""
    rows = w.y.size
    for r in range(rows):
        for k in range(r):
            w.y[r] -= w.A[r, k] * w.y[k]
        w.y[r] /= w.A[r, r]
    for r in range(rows - 1, -1, -1):
        for k in range(r + 1, rows):
            w.y[r] -= w.A[k, r] * w.y[k]
        w.y[r] /= w.A[r, r]


@kernel
def clip(m, d, task):
    """Move every coordinate with limits into its range."""
    for n in range(task.dofs.size):
        if task.at[n] >= 0:
            q = d.qpos[task.at[n]]
            d.qpos[task.at[n]] = min(max(q, task.limits[n, 0]), task.limits[n, 1])
    for i in range(task.balls.size):
        _clip_ball(m, d, task.balls[i])


@kernel
def _clip_ball(m, d, j):
    """Rotate a ball joint back to the angle of its limit, about the same axis."""
    q = m.jnt_qposadr[j]
    w, x, y, z = quat_at(d.qpos, q)
    sine = np.sqrt(x * x + y * y + z * z)
    half = 0.5 * m.jnt_range[j, 1]
    if np.arctan2(sine, abs(w)) > half:
        scale = np.sin(half) / sine
        d.qpos[q] = np.copysign(np.cos(half), w)
        d.qpos[q + 1], d.qpos[q + 2], d.qpos[q + 3] = scale * x, scale * y, scale * z
