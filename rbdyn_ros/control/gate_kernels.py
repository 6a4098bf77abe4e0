"""Kernels of the safety gate: limits of efforts.

The rows of `rows` are the limits as in state_kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.control.kernels import kernel

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Matrix, Vector


@kernel
def limit(
    wanted: Vector,
    holding: Vector,
    qpos: Vector,
    dofs: NDArray[np.int64],
    rows: Matrix,
    step: float,
    limited: Vector,
    saturated: Vector,
    found: Vector,
) -> None:
    """Write the desired efforts within their limits, not into a stop, with a limited rate.

    For NaN the effort is kept; the first such joint is written to found, or -1.
    """
    found[0] = -1.0
    for i in range(len(dofs)):
        k = dofs[i]
        if wanted[k] != wanted[k] or holding[k] != holding[k]:
            found[0] = i if found[0] < 0.0 else found[0]
            continue
        saturated[i] = abs(wanted[k]) > rows[3, i]
        tau = allowed(wanted[k], holding[k], qpos[k], rows, i)
        limited[i] = min(max(tau, limited[i] - step), limited[i] + step)


@kernel
def allowed(tau: float, hold: float, q: float, rows: Matrix, i: int) -> float:
    """Return an effort within its limit; at a stop, at most the effort that holds the joint."""
    tau = min(max(tau, -rows[3, i]), rows[3, i])
    if q >= rows[1, i]:
        tau = min(tau, max(hold, 0.0))
    if q <= rows[0, i]:
        tau = max(tau, min(hold, 0.0))
    return tau


@kernel
def blend(
    limited: Vector,
    difference: Vector,
    start: Vector,
    share: float,
    holding: Vector,
    qpos: Vector,
    dofs: NDArray[np.int64],
    rows: Matrix,
    step: float,
    effort: Vector,
) -> None:
    """Add the rest of the initial difference; the result is within all limits, too.

    It stays between the law and the initial effort, also if the law changes meanwhile.
    """
    for i in range(len(dofs)):
        tau = limited[i] + share * difference[i]
        tau = min(max(tau, min(limited[i], start[i])), max(limited[i], start[i]))
        if share > 0.0 and holding[dofs[i]] == holding[dofs[i]]:
            tau = allowed(tau, holding[dofs[i]], qpos[dofs[i]], rows, i)
        effort[i] = min(max(tau, effort[i] - step), effort[i] + step)
