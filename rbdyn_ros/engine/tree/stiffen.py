# SPDX-License-Identifier: Apache-2.0
"""Terms that stopping joints add to the matrix of a step, and a lower bound of its pivots.

aba.py adds the slopes of the stops to D; steps that need M add them to the diagonal of M.
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, kernel, select

#: A dof's inertia below this part of dof_inertia0 would be lost in rounding errors.
MIN_INERTIA = 1e-6


@inline
def bounded_pivot(m, k, D):
    """Return the pivot D of a dof; raise a positive D to at least MIN_INERTIA dof_inertia0.

    A limit can hold joints where M is singular, as at the gimbal lock of three hinges. With almost
    no inertia even a small force would cause a velocity that no later step could resolve. Source:
    Gill, Murray, Newton-type methods for unconstrained and linearly constrained optimization, 1974
    (a positive bound for the pivots).
    """
    least = MIN_INERTIA * m.dof_inertia0[k]
    # count_bad counts pivots that are not positive
    return select(D > 0.0, select(least < D, D, least), D)


@kernel
def add_stops(m, d, step):
    """Add step times stop_slope to the diagonal of qLD, and the limits of ball joints."""
    for k in range(m.nv):
        d.qLD[m.M_rowadr[k] + m.M_rownnz[k] - 1] += step * d.stop_slope[k]
    if m.ncone > 0:
        _add_cones(m, d, step)


@kernel
def _add_cones(m, d, step):
    c = 0
    for j in range(m.njnt):
        if m.jnt_limited[j] and m.jnt_dofnum[j] == 3:
            k, axis, slope = m.jnt_dofadr[j], d.cone_axis[c], step * d.cone_slope[c]
            for i in range(3):
                diagonal = m.M_rowadr[k + i] + m.M_rownnz[k + i] - 1
                for n in range(i + 1):
                    d.qLD[diagonal - i + n] += slope * axis[i] * axis[n]
            c += 1
