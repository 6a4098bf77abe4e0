"""Kernels of the safety gate: what is wrong with a state, and what may leave of an effort.

Rows of `rows` (4, n) are the lower and upper limits of the positions, those of the velocities and
those of the efforts of n controlled joints, which are the degrees of freedom `dofs` of the robot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.control.kernels import kernel
from rbdyn_ros.control.limits import MARGIN

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Matrix, Vector

#: What time is between two states at least and at most, for rates and paths [s].
SHORTEST, LONGEST = 1e-5, 0.02
#: Within about so long [s] positions may go by so much [rad or m] beyond what velocities tell.
RECENT, STRANGE = 0.25, 0.1
#: What is wrong with a state.
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
    """Write what is wrong first, with which joint, and why the state cannot be believed.

    Positions come before velocities. What a joint cannot have moved was measured wrongly, or is
    another joint's. `strange` is how far the joints went beyond what their velocities tell, of
    late: with a velocity of the wrong sign, what should brake would drive.
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
    """Compare how far the joints went with their velocities; after a pause it begins anew."""
    kept = np.exp(-step / RECENT) if step <= LONGEST else 0.0
    for i in range(len(dofs)):
        k = dofs[i]
        told = 0.5 * step * (qvel[k] + before[1, k])
        strange[i] = kept * strange[i] + qpos[k] - before[0, k] - told if kept > 0.0 else 0.0
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
    """Write wanted efforts within their limits, not further into a stop, and changing slowly.

    What is no number leaves the effort as it was; the first such joint is found, or -1.
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
    """Return an effort within its limit; at a stop no more than carries the joint there."""
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
    """Add what is left of the difference at the start; what leaves keeps all limits, too.

    It stays between law and start: a law that has changed its mind is not pushed beyond.
    """
    for i in range(len(dofs)):
        tau = limited[i] + share * difference[i]
        tau = min(max(tau, min(limited[i], start[i])), max(limited[i], start[i]))
        if share > 0.0 and holding[dofs[i]] == holding[dofs[i]]:
            tau = allowed(tau, holding[dofs[i]], qpos[dofs[i]], rows, i)
        effort[i] = min(max(tau, effort[i] - step), effort[i] + step)
