# SPDX-License-Identifier: Apache-2.0
"""Joint-space inertia matrix: crb, factor_m, solve_m.

M is stored as its lower triangle: row i holds the ancestors of dof i and dof i itself, addressed
by M_rowadr, M_rownnz and M_colind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import (
    ZERO6,
    add10,
    dot6,
    inertia_times,
    load6,
    load10,
    store10,
)
from rbdyn_ros.engine.compiler.jit import inline, is_zero, kernel
from rbdyn_ros.engine.compiler.optional import call_stage, data_at, model_at, optional_stage
from rbdyn_ros.engine.tree.skyline import half_solve_skyline, other_half_skyline
from rbdyn_ros.engine.tree.stiffen import bounded_pivot

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def crb(m: Model, d: Data) -> None:
    """Write crb and M by the composite-rigid-body algorithm. Call `com_pos` first.

    Source: RBDA table 6.2; MuJoCo mj_crb.
    """
    if m.npair > 0:
        call_stage(d.inertia_stage, m, d)
        return
    composite_inertia(m, d)
    _by_rows(m, d)


@kernel
def _by_rows(m, d):
    for i in range(m.nv):
        # M_ij = S_j^T I^c S_i for every dof j above i
        F = inertia_times(load10(d.crb, m.dof_bodyid[i]), load6(d.cdof, i))
        row = m.M_rowadr[i]
        diagonal = row + m.M_rownnz[i] - 1
        for e in range(row, diagonal + 1):
            d.M[e] = dot6(load6(d.cdof, m.M_colind[e]), F)
        d.M[diagonal] += m.dof_armature[i]


@optional_stage("inertia_stage")
def _inertia_by_address(table, row):
    _inertia(model_at(table), data_at(table, row))


@kernel
def _inertia(m, d):
    composite_inertia(m, d)
    if m.npair > 0:
        _coupled(m, d)
    else:
        _by_rows(m, d)


@kernel
def _coupled(m, d):
    """Write M of a Model with mimic joints: G^T H G (RBDA eq 3.20), by pairs of coordinates."""
    for e in range(m.nM):
        d.M[e] = 0.0
    last, F = -1, ZERO6
    for n in range(m.npair):
        c, above = m.pair_coord[n, 0], m.pair_coord[n, 1]
        if c != last:
            F = inertia_times(load10(d.crb, carried(m, c)), load6(d.cdof_all, c))
            last = c
        d.M[m.pair_entry[n]] += m.pair_weight[n] * dot6(load6(d.cdof_all, above), F)
    for i in range(m.nv):
        d.M[m.M_rowadr[i] + m.M_rownnz[i] - 1] += m.dof_armature[i]


@inline
def carried(m, c):
    """Return the body that a coordinate moves; the coordinate must not be driven."""
    if c < m.nv:
        return m.dof_bodyid[c]
    return m.jnt_bodyid[m.mimic_jntid[c - m.nv - m.ndrive]]


@kernel
def factor_m(m: Model, d: Data) -> None:
    """Write qLD and qLDiagInv: M = L^T D L with L unit lower triangular. Call `crb` first.

    Source: RBDA table 6.3 (LTDL for branch-induced sparsity); MuJoCo mj_factorM.
    """
    for e in range(m.nM):
        d.qLD[e] = d.M[e]
    factor(m, d, False)


@kernel
def factor(m, d, stops):
    """Replace qLD, which holds the lower triangle of a matrix like M, by its factors.

    With `stops` the factors are those of a step in which joints stop (stiffen.py).
    """
    if m.nskyline > 0:
        d.factored[0] = 0
    for k in range(m.nv - 1, -1, -1):
        row = m.M_rowadr[k]
        diagonal = row + m.M_rownnz[k] - 1
        if stops:
            d.qLD[diagonal] = bounded_pivot(m, k, d.qLD[diagonal])
        inverse = 1.0 / d.qLD[diagonal]
        d.qLDiagInv[k] = inverse
        # the row of an ancestor i has the same columns, in the same order, as k's row up to i
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

    Bodies are added from the last to the first, so the last child of a body starts its sum.
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
    """Replace x by M^-1 x. Call `factor_m` first."""
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
def solve_rows(m, d, X):
    """Replace X (nv, any) by M^-1 X. Call `factor_m` first."""
    for i in range(m.nv - 1, -1, -1):
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i] - 1):
            subtract(X, m.M_colind[e], d.qLD[e], i, 0)
    for i in range(m.nv):
        for n in range(X.shape[1]):
            X[i, n] *= d.qLDiagInv[i]
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i] - 1):
            subtract(X, i, d.qLD[e], m.M_colind[e], 0)


@inline
def subtract(X, row, factor, other, first):
    """Subtract `factor` times row `other` of X from row `row`, from column `first` on."""
    for n in range(first, X.shape[1]):
        X[row, n] -= factor * X[other, n]


@kernel
def half_solve(m, d, x):
    """Replace x by D^-1/2 L^-T x, whose squared length is x^T M^-1 x.

    The factors of M and row_scale must be in d.
    """
    if m.nskyline > 0 and d.factored[0] == 1:
        half_solve_skyline(m, d, x)
        return
    for i in range(m.nv - 1, -1, -1):
        if not is_zero(x[i]):
            row = m.M_rowadr[i]
            for e in range(row, row + m.M_rownnz[i] - 1):
                x[m.M_colind[e]] -= d.qLD[e] * x[i]
            x[i] *= d.row_scale[i]


@kernel
def other_half(m, d, x):
    """Replace x by L^-1 D^-1/2 x: after half_solve it is M^-1 x."""
    if m.nskyline > 0 and d.factored[0] == 1:
        other_half_skyline(m, d, x)
        return
    for i in range(m.nv):
        x[i] *= d.row_scale[i]
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i] - 1):
            x[i] -= d.qLD[e] * x[m.M_colind[e]]


@kernel
def mul_m(m: Model, d: Data, x: Vector, y: Vector) -> None:
    """Write y = M x. Call `crb` first."""
    mul_triangle(m, d.M, x, y)


@kernel
def mul_triangle(m, entries, x, y):
    """Write y = A x; A is symmetric, with its lower triangle stored like M."""
    for i in range(m.nv):
        y[i] = 0.0
    for i in range(m.nv):
        row = m.M_rowadr[i]
        diagonal = row + m.M_rownnz[i] - 1
        for e in range(row, diagonal):
            k = m.M_colind[e]
            y[i] += entries[e] * x[k]
            y[k] += entries[e] * x[i]
        y[i] += entries[diagonal] * x[i]


@kernel
def fill_dense(m: Model, d: Data, dense: Matrix) -> None:
    """Write M into a dense symmetric (nv, nv) array that is zero elsewhere. Call `crb` first."""
    for i in range(m.nv):
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i]):
            dense[i, m.M_colind[e]] = d.M[e]
            dense[m.M_colind[e], i] = d.M[e]
