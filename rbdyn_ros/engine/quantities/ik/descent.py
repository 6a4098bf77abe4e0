# SPDX-License-Identifier: Apache-2.0
"""Steps of inverse kinematics from one start: Levenberg-Marquardt.

Source: Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method,
2011 (damping by the remaining error).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.quantities.ik.rows import errors
from rbdyn_ros.engine.quantities.ik.step import LEAST, clip, find_step
from rbdyn_ros.engine.step.integrate import integrate_pos

#: Largest number of steps of an attempt; longer attempts usually end in a local minimum.
MAX_STEPS = 60
#: A step that leaves more than the share SLOW of the squared error is slow, and MOST_SLOW slow
#: steps in sequence end an attempt.
SLOW, MOST_SLOW = 0.9, 4
#: Initial damping in units of the squared error, and its factors after a good and a bad step.
DAMPING, LESS, MORE = 0.02, 0.8, 4.0
#: If translational dofs may move, a squared error above this does not increase the damping.
FAR = 16.0


@kernel
def descend(m, d, task, w, target):
    """Take steps until the target is reached or steps are slow. Return (solved, cost, steps)."""
    damping, slow, far = DAMPING, 0, np.inf
    for n in range(task.dofs.size):
        if task.slides[n]:
            far = FAR
    solved, cost = errors(m, d, task, w, target)
    for taken in range(MAX_STEPS):
        if solved or slow == MOST_SLOW or not np.isfinite(cost):
            return solved, cost, taken
        for k in range(m.nq):
            w.kept[k] = d.qpos[k]
        find_step(m, d, task, w, damping * min(cost, far) + LEAST)
        integrate_pos(m, d.qpos, w.step, 1.0)
        clip(m, d, task)
        solved, after = errors(m, d, task, w, target)
        slow = slow + 1 if after > SLOW * cost else 0
        if after < cost:
            cost = after
            damping *= LESS
        else:
            damping *= MORE
            for k in range(m.nq):
                d.qpos[k] = w.kept[k]
            solved, cost = errors(m, d, task, w, target)
    return solved, cost, MAX_STEPS
