# SPDX-License-Identifier: Apache-2.0
"""Accumulate the measures of runs that are simulated side by side."""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.trials.simulation import kernels
from rbdyn_ros.trials.trial import Trial


class Score:
    """Accumulates the measures of runs.

    Args:
        trial: the trial of the runs.
        start: (n, nq), positions of the runs at the start.

    Attributes:
        total: accumulators, (len(kernels.ACCUMULATORS), n).
        over: see kernels.score.
    """

    def __init__(self, trial: Trial, start: Array) -> None:
        m, joints, n = trial.m, trial.joints, len(start)
        self._band, self._base = trial.settling_band, floating_base(m)
        self._joints = np.stack([joints.qposadr, joints.dofadr])
        numbers = joints.numbers
        rows = [*m.jnt_range[numbers].T, m.jnt_velocity[numbers], m.jnt_effort[numbers]]
        self._limits = np.array(rows)
        self._targets = np.ascontiguousarray(trial.reference[:, joints.qposadr])
        self.total = np.zeros((len(kernels.ACCUMULATORS), n))
        self.total[kernels.LAST_OUTSIDE] = -1.0
        self.total[kernels.LOWEST_BASE] = np.inf
        self.over = np.zeros((2, len(joints.names), n))
        self.over[0] = np.sign(start[:, joints.qposadr] - self._targets[-1]).T

    def add(self, k: int, qpos: Array, qvel: Array, qfrc: Array) -> None:
        """Add timestep k: positions (nq, n) and speeds (nv, n) at its end, and efforts (nv, n)."""
        kernels.score(
            k, qpos, qvel, qfrc, self._targets[k + 1], self._targets[-1], self._band,
            self._limits, self._joints, self._base, self.total, self.over,
        )  # fmt: skip


def floating_base(m: Model) -> int:
    """Return the first entry in qpos of the first floating joint, or -1."""
    free = np.flatnonzero(m.jnt_type == JointType.FREE)
    return int(m.jnt_qposadr_all[free[0]]) if free.size else -1
