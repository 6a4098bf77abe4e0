"""Joint-space inertia matrix: crb, factor_m, solve_m.

M is kept as its lower triangle: row i holds the dofs above i and i itself, found through
M_rowadr, M_rownnz and M_colind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.jit import kernel
from rbdyn_ros.engine.spatial import add10, dot6, inertia_times, load6, load10, store10

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def crb(m: Model, d: Data) -> None:
    """Write crb and M by the composite-rigid-body algorithm; needs com_pos.

    Source: RBDA table 6.2; MuJoCo mj_crb.
    """
    composite_inertia(m, d)
    for i in range(m.nv):
        # M_ij = S_j^T I^c S_i for every dof j above i
        F = inertia_times(load10(d.crb, m.dof_bodyid[i]), load6(d.cdof, i))
        row = m.M_rowadr[i]
        diagonal = row + m.M_rownnz[i] - 1
        for e in range(row, diagonal + 1):
            d.M[e] = dot6(load6(d.cdof, m.M_colind[e]), F)
        d.M[diagonal] += m.dof_armature[i]


@kernel
def factor_m(m: Model, d: Data) -> None:
    """Write qLD and qLDiagInv: M = L^T D L with L unit lower triangular; needs crb.

    Source: RBDA table 6.3 (LTDL for branch-induced sparsity); MuJoCo mj_factorM.
    """
    for e in range(m.nM):
        d.qLD[e] = d.M[e]
    for k in range(m.nv - 1, -1, -1):
        row = m.M_rowadr[k]
        diagonal = row + m.M_rownnz[k] - 1
        inverse = 1.0 / d.qLD[diagonal]
        d.qLDiagInv[k] = inverse
        # the row of an ancestor i is as long as k's row up to i: same columns, same order
        for e in range(diagonal - 1, row - 1, -1):
            i = m.M_colind[e]
            ratio = d.qLD[e] * inverse
            start = m.M_rowadr[i]
            for n in range(m.M_rownnz[i]):
                d.qLD[start + n] -= ratio * d.qLD[row + n]
            d.qLD[e] = ratio


@kernel
def composite_inertia(m, d):
    """Write crb: the inertia of every body's subtree as one rigid body.

    Children come before their parent, the last one first: it stores what the others add to.
    """
    for i in range(m.nbody - 1, 0, -1):
        I = load10(d.cinert, i)
        if m.body_haschild[i]:
            I = add10(I, load10(d.crb, i))
        store10(d.crb, i, I)
        parent = m.body_parentid[i]
        if parent > 0:
            if not m.body_lastchild[i]:
                I = add10(I, load10(d.crb, parent))
            store10(d.crb, parent, I)


@kernel
def solve_ltdl(m: Model, d: Data, x: Vector) -> None:
    """Replace x by M^-1 x; needs factor_m."""
    for i in range(m.nv - 1, -1, -1):  # x <- L^-T x
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i] - 1):
            x[m.M_colind[e]] -= d.qLD[e] * x[i]
    for i in range(m.nv):  # x <- D^-1 x
        x[i] *= d.qLDiagInv[i]
    for i in range(m.nv):  # x <- L^-1 x
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i] - 1):
            x[i] -= d.qLD[e] * x[m.M_colind[e]]


@kernel
def mul_m(m: Model, d: Data, x: Vector, y: Vector) -> None:
    """Write y = M x; needs crb."""
    for i in range(m.nv):
        y[i] = 0.0
    for i in range(m.nv):
        row = m.M_rowadr[i]
        diagonal = row + m.M_rownnz[i] - 1
        for e in range(row, diagonal):
            k = m.M_colind[e]
            y[i] += d.M[e] * x[k]
            y[k] += d.M[e] * x[i]
        y[i] += d.M[diagonal] * x[i]


@kernel
def fill_dense(m: Model, d: Data, dense: Matrix) -> None:
    """Write M into a dense symmetric (nv, nv) array that is zero elsewhere; needs crb."""
    for i in range(m.nv):
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i]):
            dense[i, m.M_colind[e]] = d.M[e]
            dense[m.M_colind[e], i] = d.M[e]
