"""The equations of a motion, made small: as many rows as unknowns, whatever its length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.identification.motion import beyond_calculation, of_dofs
from rbdyn_ros.identification.regressor import extra_columns, torque_regressor
from rbdyn_ros.identification.unknowns import Unknowns
from rbdyn_ros.model.model import Model

CHUNK = 400  # samples that are in memory at once


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """All that least squares needs to know of a motion.

    Attributes:
        R: (n, N + 1, N + 1) for each joint the triangular factor of its rows [A b], so that
            |A x - b| = |R [x; -1]|.
    """

    R: Array

    def weighted(self, sigma: Array) -> tuple[Array, Array]:
        """Return A (N + 1, N), b in standard deviations, sigma (n,) those of the joints.

        Raises:
            ParameterError: they, or their squares, are not finite.
        """
        with np.errstate(all="ignore"):
            stacked = (self.R / sigma[:, None, None]).reshape(-1, self.R.shape[2])
            size = np.linalg.norm(stacked)
        if not np.isfinite(size):  # nor are squares that are calculated with
            raise beyond_calculation()
        factor = np.asarray(np.linalg.qr(stacked, mode="r"))
        return factor[:, :-1], factor[:, -1]


def equations(
    m: Model, unknowns: Unknowns, effort: Array, bodies: Array | None = None
) -> Equations:
    """Return the equations of a motion.

    Args:
        m: the Model.
        unknowns: of its motion; their columns follow those of the bodies.
        effort: (p, n) that the unknowns have to explain.
        bodies: (10 (nbody - 1), u) unknowns instead of the parameters of all bodies, which are
            combinations of them.

    Raises:
        ParameterError: if numbers of the motion are too large to calculate with.
    """
    motion, dofs, extras = unknowns.motion, unknowns.dofs, unknowns.extras
    inertial = 10 * (m.nbody - 1) if bodies is None else bodies.shape[1]
    n, N = len(dofs), inertial + len(extras)
    smoothing = unknowns.friction.smoothing[dofs]
    columns = {kind: extra_columns(kind, motion, smoothing) for kind in {e.kind for e in extras}}
    qpos = of_dofs(m, dofs, motion.qpos, unknowns.rest)
    qvel, qacc = of_dofs(m, dofs, motion.qvel), of_dofs(m, dofs, motion.qacc)
    R = np.zeros((n, N + 1, N + 1))
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is refused
        for begin in range(0, len(motion.time), CHUNK):
            part = slice(begin, begin + CHUNK)
            Y = torque_regressor(m, qpos[part], qvel[part], qacc[part])[:, dofs]
            block = np.zeros((len(Y), n, N + 1))
            block[:, :, :inertial] = Y if bodies is None else Y @ bodies
            for k, extra in enumerate(extras):
                block[:, extra.column, inertial + k] = columns[extra.kind][part, extra.column]
            block[:, :, N] = effort[part]
            if not np.isfinite(block).all():
                raise beyond_calculation()
            for i in range(n):
                rows = block[unknowns.kept[part, i], i]
                R[i] = np.linalg.qr(np.concatenate([R[i], rows]), mode="r")
    return Equations(R)
