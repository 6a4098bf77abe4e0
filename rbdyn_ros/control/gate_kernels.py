"""Kernels of the safety gate: checks of states and limits of efforts.

The rows of `rows` (4, n) are the lower and upper position limits, the velocity limits and the
effort limits of the n controlled joints, whose degrees of freedom are `dofs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.control.kernels import kernel
from rbdyn_ros.control.limits import MARGIN

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Matrix, Vector

#: Bounds of the time between two states, for rates and paths [s].
SHORTEST, LONGEST = 1e-5, 0.02
#: Within about this time [s] positions may deviate by this much [rad or m] from the velocities.
RECENT, STRANGE = 0.25, 0.1
#: Kinds of faults of a state.
POSITION, VELOCITY, MOVED, UNLIKE = 1, 2, 3, 4


@kernel
def inspect(
    qpos: Vector,
    qvel: Vector,
    before: Matrix,
    dofs: NDArray[np.int64],
    rows: Matrix,
    step: float,
    strange: Vector,
    found: Vector,
) -> None:
    """Write the first fault, its joint, and why the state is implausible.

    Positions are checked before velocities. An impossible displacement means a wrong measurement
    or another joint's. `strange` is the recent deviation of positions from integrated velocities:
    with a velocity of the wrong sign, damping would accelerate the arm.
    """
    found[0] = found[2] = 0.0
    for i in range(len(dofs)):
        q = qpos[dofs[i]]
        if found[0] == 0.0 and not rows[0, i] - MARGIN <= q <= rows[1, i] + MARGIN:
            found[0], found[1] = POSITION, i
    for i in range(len(dofs)):
        if found[0] == 0.0 and not abs(qvel[dofs[i]]) <= rows[2, i]:
            found[0], found[1] = VELOCITY, i
    for i in range(len(dofs)):
        moved = abs(qpos[dofs[i]] - before[0, dofs[i]])
        if step < np.inf and not moved <= rows[2, i] * step + MARGIN:
            found[2] = MOVED
            if found[0] == 0.0:
                found[0], found[1] = MOVED, i
    if found[2] == 0.0:
        compare(qpos, qvel, before, dofs, step, strange, found)


@kernel
def compare(
    qpos: Vector,
    qvel: Vector,
    before: Matrix,
    dofs: NDArray[np.int64],
    step: float,
    strange: Vector,
    found: Vector,
) -> None:
    """Compare displacements with velocities; a pause restarts the comparison."""
    kept = np.exp(-step / RECENT) if step <= LONGEST else 0.0
    for i in range(len(dofs)):
        k = dofs[i]
        travelled = 0.5 * step * (qvel[k] + before[1, k])
        strange[i] = kept * strange[i] + qpos[k] - before[0, k] - travelled if kept > 0.0 else 0.0
        if not abs(strange[i]) <= STRANGE:
            found[2] = UNLIKE
            if found[0] == 0.0:
                found[0], found[1] = UNLIKE, i


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
