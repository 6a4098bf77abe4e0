# SPDX-License-Identifier: Apache-2.0
"""Move towards a preferred posture while the frame stays at the target: gradient projection.

Source: Liegeois, Automatic supervisory control of the configuration and behavior of multibody
mechanisms, 1977.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.quantities.ik.descent import descend
from rbdyn_ros.engine.quantities.ik.rows import Task, errors
from rbdyn_ros.engine.quantities.ik.step import LEAST, LONGEST_STEP, clip, free_step
from rbdyn_ros.engine.step.integrate import differentiate_pos, integrate_pos

#: Largest number of steps towards a posture, and the largest step that counts as arrived [rad or
#: m].
POSTURE_STEPS, ARRIVED = 200, 1e-7
#: During steps towards a posture the tolerance is multiplied by this factor, because the errors of
#: the target would otherwise be larger than the last steps.
SHARPER = 1e-4


@kernel
def turn_back(d, task, near):
    """Rotate dofs by full rotations towards the configuration `near`, within the limits."""
    for n in range(task.dofs.size):
        if task.turning[n]:
            k = task.at[n]
            turns = np.floor((near[k] - d.qpos[k]) / (2.0 * np.pi) + 0.5)
            while turns != 0.0:
                q = d.qpos[k] + turns * 2.0 * np.pi
                if task.limits[n, 0] <= q <= task.limits[n, 1]:
                    d.qpos[k] = q
                    break
                turns -= np.sign(turns)


@kernel
def take_posture(m, d, task, w, target, posture):
    """Write the configuration nearest to a posture that still meets the target.

    A step is the part of the displacement to the posture that changes no row, followed by a
    correction back to the target. If the step does not bring the posture nearer, half of it is
    tried.
    """
    sharp = Task(
        task.frame, task.position, task.rotation, task.loops, task.dofs, task.places, task.at,
        task.limits, task.turning, task.balls, task.slides, task.unlimited, task.weight,
        SHARPER * task.tolerance,
    )  # fmt: skip
    descend(m, d, sharp, w, target)
    share = 1.0
    distance = _distance(m, d, task, w, posture)
    for k in range(m.nq):
        w.best[k] = d.qpos[k]
    for _ in range(POSTURE_STEPS):
        errors(m, d, task, w, target)
        _null_step(d, task, w)
        longest = 0.0
        for n in range(task.dofs.size):
            longest = max(longest, abs(w.step[task.dofs[n]]))
        if longest <= ARRIVED or share < ARRIVED:
            break
        scale = share * min(1.0, LONGEST_STEP / longest)
        integrate_pos(m, d.qpos, w.step, scale)
        clip(m, d, task)
        descend(m, d, sharp, w, target)
        solved, _ = errors(m, d, task, w, target)
        after = _distance(m, d, task, w, posture)
        nearer = solved and after < distance
        for k in range(m.nq):
            if nearer:
                w.best[k] = d.qpos[k]
            else:
                d.qpos[k] = w.best[k]
        if nearer:
            distance, share = after, min(1.0, 2.0 * share)
        else:
            share *= 0.5
            distance = _distance(m, d, task, w, posture)


@kernel
def _distance(m, d, task, w, posture):
    """Write the displacement from qpos to a posture.

    Return half its square, over the moving dofs.
    """
    differentiate_pos(m, w.away, 1.0, d.qpos, posture)
    total = 0.0
    for n in range(task.dofs.size):
        total += 0.5 * w.away[task.dofs[n]] ** 2
    return total


@kernel
def _null_step(d, task, w):
    """Write the part of `away` that changes no row; dofs that would pass a limit stay at it."""
    for n in range(task.dofs.size):
        w.held[n] = 0
        w.step[task.dofs[n]] = 0.0
    for _ in range(task.dofs.size + 1):
        for r in range(w.y.size):
            w.y[r] = 0.0
            for n in range(task.dofs.size):
                if not w.held[n]:
                    w.y[r] -= w.G[r, n] * w.away[task.dofs[n]]
        free_step(task, w, LEAST)
        for n in range(task.dofs.size):
            if not w.held[n]:
                w.step[task.dofs[n]] += w.away[task.dofs[n]]
        if not _stay_at_limits(d, task, w):
            break


@kernel
def _stay_at_limits(d, task, w):
    """Hold the dofs that are at a limit and would pass it; return whether a dof is held."""
    passed = False
    for n in range(task.dofs.size):
        k = task.at[n]
        if k >= 0 and not w.held[n]:
            s = w.step[task.dofs[n]]
            low, high = task.limits[n, 0], task.limits[n, 1]
            if (s < 0.0 and d.qpos[k] <= low) or (s > 0.0 and d.qpos[k] >= high):
                w.held[n] = 1
                w.step[task.dofs[n]] = 0.0
                passed = True
    return passed
