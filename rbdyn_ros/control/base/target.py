# SPDX-License-Identifier: Apache-2.0
"""Desired motion of the joints at one moment."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.arrays import Array


class Target:
    """Desired position, velocity and acceleration of all joints.

    Args:
        nv: number of joints.
        qpos: (nv,) position at rest [rad or m]; None: 0.

    Attributes:
        rows: (3, nv) position, velocity, acceleration.
        qpos, qvel, qacc: (nv,) views of these rows [rad or m; per s; per s^2].
    """

    __slots__ = ("qacc", "qpos", "qvel", "rows")

    def __init__(self, nv: int, qpos: ArrayLike | None = None) -> None:
        self.rows = np.zeros((3, nv))
        self.qpos, self.qvel, self.qacc = self.rows
        if qpos is not None:
            self.rest_at(qpos)

    def let_go(self, dofs: NDArray[np.int64], qpos: Array, qvel: Array) -> None:
        """Set the target of the degrees of freedom `dofs` to a measured state, (nv,) each."""
        if len(dofs):
            self.qpos[dofs], self.qvel[dofs], self.qacc[dofs] = qpos[dofs], qvel[dofs], 0.0

    def rest_at(self, qpos: ArrayLike) -> None:
        """Rest at a position (nv,)."""
        self.rows[1:] = 0.0
        self.qpos[:] = qpos
