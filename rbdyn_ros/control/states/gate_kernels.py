# SPDX-License-Identifier: Apache-2.0
"""Kernels of the safety gate: limits of efforts.

The rows of `rows` are the limits as in state_kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.control.base.kernels import entry, kernel
from rbdyn_ros.control.base.state_kernels import LONGEST

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector


#: Joints with a larger effort limit may change their efforts faster, in proportion [N m or N]: a
#: heavy arm would ring, and swing up, behind a limit of the rate that suits a light one.
STRONG = 150.0
#: Rows of the efforts (OUT, n): those of the law within their limits, whether the law exceeded the
#: effort limit, the efforts at a bumpless start, their difference to the law, and those released.
LIMITED, SATURATED, START, DIFFERENCE, RELEASED, OUT = range(6)


@entry
def release(
    wanted: Vector,
    holding: Vector,
    qpos: Vector,
    dofs: Ints,
    rows: Matrix,
    rate: float,
    dt: float,
    since_start: float,
    blend_time: float,
    out: Matrix,
) -> int:
    """Write the efforts that may be commanded; return the first joint whose law is NaN, or -1.

    `wanted` are the efforts of the law, `holding` those that hold the arm (nv,). An effort changes
    by `rate` at most, that of a STRONG joint in proportion, and for NaN it is kept. The difference
    at a bumpless start decays within `blend_time`; the law of an arm that starts has no rate.
    """
    starts, found = since_start == 0.0, -1
    usual = rate * min(dt, LONGEST) if rate < np.inf else np.inf
    share = share_left(since_start / blend_time)
    for i in range(len(dofs)):
        tau, hold, q = wanted[dofs[i]], holding[dofs[i]], qpos[dofs[i]]
        step = usual * max(1.0, rows[3, i] / STRONG)
        if not (np.isnan(tau) or np.isnan(hold)):
            limit(tau, hold, q, rows, np.inf if starts else step, i, out)
        elif found < 0:
            found = i
        if starts:
            out[DIFFERENCE, i] = out[RELEASED, i] - out[LIMITED, i]
        blend(hold, q, rows, step, share, i, out)
    return found


@kernel
def share_left(x: float) -> float:
    """Decrease smoothly from 1 to 0 as x increases from 0 to 1."""
    return 0.5 + 0.5 * np.cos(np.pi * x) if x < 1.0 else 0.0


@kernel
def limit(
    tau: float, hold: float, q: float, rows: Matrix, step: float, i: int, out: Matrix
) -> None:
    """Write the effort of a law within its limit, not into a stop, with a limited rate."""
    out[SATURATED, i] = abs(tau) > rows[3, i]
    before = out[LIMITED, i]
    out[LIMITED, i] = min(max(allowed(tau, hold, q, rows, i), before - step), before + step)


@kernel
def blend(
    hold: float, q: float, rows: Matrix, step: float, share: float, i: int, out: Matrix
) -> None:
    """Add the rest of the initial difference; the result is within all limits, too.

    It stays between the law and the initial effort, also if the law changes meanwhile.
    """
    law, start, before = out[LIMITED, i], out[START, i], out[RELEASED, i]
    tau = law + share * out[DIFFERENCE, i]
    tau = min(max(tau, min(law, start)), max(law, start))
    if share > 0.0 and not np.isnan(hold):
        tau = allowed(tau, hold, q, rows, i)
    out[RELEASED, i] = min(max(tau, before - step), before + step)


@kernel
def allowed(tau: float, hold: float, q: float, rows: Matrix, i: int) -> float:
    """Return an effort within its limit; at a stop, at most the effort that holds the joint."""
    tau = min(max(tau, -rows[3, i]), rows[3, i])
    if q >= rows[1, i]:
        tau = min(tau, max(hold, 0.0))
    if q <= rows[0, i]:
        tau = max(tau, min(hold, 0.0))
    return tau
