# SPDX-License-Identifier: Apache-2.0
"""The Coriolis matrix: C qvel is the Coriolis and centrifugal force, dM/dt = C + C^T.

Source: Echeandia, Wensing, Numerical methods to compute the Coriolis matrix and Christoffel
symbols for rigid-body systems, 2021, algorithm 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import add6, dot3, dot6, inertia_times, load6, load10
from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.joints.coordinates import acts_on, clear
from rbdyn_ros.engine.tree.crb import composite_inertia
from rbdyn_ros.engine.tree.kinematics import com_pos, com_vel, poses
from rbdyn_ros.engine.tree.rates import (
    axis_rates,
    composite_rates,
    load12,
    rate_times,
    rate_times_left,
)

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Matrix
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def coriolis_matrix(m: Model, d: Data, C: Matrix) -> None:
    """Write C (nv, nv) from qpos and qvel."""
    poses(m, d)
    com_pos(m, d)
    com_vel(m, d)
    axis_rates(m, d)
    composite_inertia(m, d)
    composite_rates(m, d)
    clear(C)
    for i in range(1, m.nbody):
        first = m.jnt_dofadr_all[i - 1]
        for c in range(first, first + m.jnt_dofnum[i - 1]):
            _row_and_column(m, d, i, c, C)


@kernel
def _row_and_column(m, d, i, c, C):
    """Write the terms of coordinate c of body i with the coordinates before it.

    They are C_cj = S_c^T (B S_j + I S_j') and C_jc = S_j^T (B S_c + I S_c'), where B and I
    belong to the subtree of c.
    """
    k, times = acts_on(m, i - 1, c)
    if k < 0:
        return
    I, B = load10(d.crb, i), load12(d.crb_rate, i)
    S, rate = load6(d.cdof_all, c), load6(d.cdof_rate, c)
    U, W = inertia_times(I, S), rate_times_left(B, S)
    Z = add6(rate_times(B, S), inertia_times(I, rate))
    body, end = i, c + 1
    while body > 0:
        j = body - 1
        for above in range(m.jnt_dofadr_all[j], end):
            n, weight = acts_on(m, j, above)
            if n >= 0:
                weight *= times
                S_j, rate_j = load6(d.cdof_all, above), load6(d.cdof_rate, above)
                C[k, n] += weight * (dot6(U, rate_j) + dot3(W, (S_j[0], S_j[1], S_j[2])))
                if above != c:
                    C[n, k] += weight * dot6(S_j, Z)
        body = m.body_parentid[body]
        end = m.jnt_dofadr_all[body - 1] + m.jnt_dofnum[body - 1] if body > 0 else 0
