# SPDX-License-Identifier: Apache-2.0
"""Least-squares equations of a motion, reduced to one row per unknown and joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.identification.data.motion import check_calculable, of_dofs
from rbdyn_ros.identification.equations.regressor import extra_columns, torque_regressor
from rbdyn_ros.identification.equations.unknowns import Unknowns
from rbdyn_ros.model.model import Model

#: Samples in memory at once.
CHUNK = 400


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """Reduced least-squares equations of a motion.

    Attributes:
        R: (n, N + 1, N + 1) triangular factor of each joint's rows [A b]:
            |A x - b| = |R [x; -1]|.
    """

    R: Array

    def weighted(self, sigma: Array) -> tuple[Array, Array]:
        """Return A (N + 1, N) and b (N + 1,), scaled by standard deviations sigma (n,).

        Raises:
            ParameterError: they, or their squares, are not finite.
        """
        with np.errstate(all="ignore"):
            stacked = (self.R / sigma[:, None, None]).reshape(-1, self.R.shape[2])
        check_calculable(stacked)
        factor = np.asarray(np.linalg.qr(stacked, mode="r"))
        return factor[:, :-1], factor[:, -1]


def equations(
    m: Model, unknowns: Unknowns, effort: Array, bodies: Array | None = None
) -> Equations:
    """Return the equations of a motion.

    Args:
        m: the Model.
        unknowns: unknowns of the joints; their columns follow the columns of the bodies.
        effort: (p, n) efforts to explain.
        bodies: (10 (nbody - 1), u) map from u unknowns to the parameters of all bodies; None: the
            parameters themselves are unknown.

    Raises:
        ParameterError: numbers of the motion are too large.
    """
    motion, dofs, extras = unknowns.motion, unknowns.dofs, unknowns.extras
    inertial = 10 * (m.nbody - 1) if bodies is None else bodies.shape[1]
    n, N = len(dofs), inertial + len(extras)
    smoothing = unknowns.friction.smoothing[dofs]
    columns = {kind: extra_columns(kind, motion, smoothing) for kind in {e.kind for e in extras}}
    qpos = of_dofs(m, dofs, motion.qpos, unknowns.rest)
    qvel, qacc = of_dofs(m, dofs, motion.qvel), of_dofs(m, dofs, motion.qacc)
    R = np.zeros((n, N + 1, N + 1))
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        for begin in range(0, len(motion.time), CHUNK):
            part = slice(begin, begin + CHUNK)
            Y = torque_regressor(m, qpos[part], qvel[part], qacc[part])[:, dofs]
            block = np.zeros((len(Y), n, N + 1))
            block[:, :, :inertial] = Y if bodies is None else Y @ bodies
            for k, extra in enumerate(extras):
                block[:, extra.column, inertial + k] = columns[extra.kind][part, extra.column]
            block[:, :, N] = effort[part]
            check_calculable(block)
            for i in range(n):
                rows = block[unknowns.kept[part, i], i]
                R[i] = np.linalg.qr(np.concatenate([R[i], rows]), mode="r")
    return Equations(R)
