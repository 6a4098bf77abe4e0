# SPDX-License-Identifier: Apache-2.0
"""Least-squares equations of a motion, reduced to one row per unknown, joint and part in time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.identification.data.motion import check_calculable, of_dofs
from rbdyn_ros.identification.equations.regressor import TILTS, extra_columns, torque_regressor
from rbdyn_ros.identification.equations.unknowns import Unknowns
from rbdyn_ros.model.model import Model

#: Number of samples in memory at the same time.
CHUNK = 400
#: Number of consecutive parts of a motion; each is held out once to judge a term of the model.
PARTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """Reduced least-squares equations of a motion.

    Attributes:
        R: (PARTS, n, N + 1, N + 1) factor of the rows [A b] of each part and joint:
            |A x - b| = |R [x; -1]|.
        count: (PARTS, n) number of rows.
    """

    R: Array
    count: Ints

    def weighted(self, sigma: Array, without: int | None = None) -> tuple[Array, Array]:
        """Return A (N + 1, N) and b (N + 1,), scaled by standard deviations sigma (n,).

        Args:
            sigma: (n,) standard deviation of the samples of each joint.
            without: part to hold out; None: all parts count.

        Raises:
            ParameterError: A, b or their squares are not finite.
        """
        R = self.R if without is None else np.delete(self.R, without, axis=0)
        with np.errstate(all="ignore"):
            stacked = (R / sigma[:, None, None]).reshape(-1, R.shape[3])
        check_calculable(stacked)
        factor = np.asarray(np.linalg.qr(stacked, mode="r"))
        return factor[:, :-1], factor[:, -1]

    def squares(self, x: Array) -> Array:
        """Return the sum of squared residuals of a solution, (PARTS, n)."""
        squares: Array = np.sum((self.R @ np.append(x, -1.0)) ** 2, axis=2)
        return squares

    def effects(self) -> Array:
        """Return the RMS effort at each joint that one unit of an unknown causes, (n, N)."""
        squares = np.sum(self.R[..., :-1] ** 2, axis=(0, 2))
        effects: Array = np.sqrt(squares / self.count.sum(axis=0)[:, None])
        return effects

    def only(self, columns: Sequence[int]) -> "Equations":
        """Return the equations of some unknowns; the other unknowns are 0."""
        return replace(self, R=self.R[..., [*columns, self.R.shape[3] - 1]])


def equations(
    m: Model, unknowns: Unknowns, effort: Array, bodies: Array | None = None
) -> Equations:
    """Return the equations of a motion.

    Args:
        m: the Model.
        unknowns: unknowns of the joints; their columns follow the columns of the bodies.
        effort: (p, n) efforts to explain [N m or N].
        bodies: (10 (nbody - 1), u) map from u unknowns to the parameters of all bodies; None: the
            parameters themselves are unknown.

    Raises:
        ParameterError: numbers of the motion are too large.
    """
    motion, dofs, extras = unknowns.motion, unknowns.dofs, unknowns.extras
    inertial = 10 * (m.nbody - 1) if bodies is None else bodies.shape[1]
    n, N = len(dofs), inertial + len(extras)
    smoothing = unknowns.friction.smoothing[dofs]
    columns = {
        kind: extra_columns(kind, motion, smoothing, unknowns.at)
        for kind in {e.kind for e in extras}
    }
    qpos = of_dofs(m, dofs, motion.qpos, unknowns.rest)
    qvel, qacc = of_dofs(m, dofs, motion.qvel), of_dofs(m, dofs, motion.qacc)
    R = np.zeros((PARTS, n, N + 1, N + 1))
    ends = np.linspace(0, len(motion.time), PARTS + 1).astype(int)
    spans = [
        (k, b, min(b + CHUNK, ends[k + 1]))
        for k in range(PARTS)
        for b in range(ends[k], ends[k + 1], CHUNK)
    ]
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is refused below
        for k, begin, end in spans:
            part = slice(begin, end)
            Y = torque_regressor(m, qpos[part], qvel[part], qacc[part])[:, dofs]
            block = np.zeros((len(Y), n, N + 1))
            block[:, :, :inertial] = Y if bodies is None else Y @ bodies
            for u, extra in enumerate(extras, start=inertial):
                i = slice(None) if extra.kind in TILTS else extra.column
                block[:, i, u] = columns[extra.kind][part, i]
            block[:, :, N] = effort[part]
            check_calculable(block)
            for i in range(n):
                rows = block[unknowns.kept[part, i], i]
                R[k, i] = np.linalg.qr(np.concatenate([R[k, i], rows]), mode="r")
    count = [unknowns.kept[a:b].sum(axis=0) for a, b in pairwise(ends)]
    return Equations(R, np.array(count, np.int64))
