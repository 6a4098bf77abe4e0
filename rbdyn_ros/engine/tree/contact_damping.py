# SPDX-License-Identifier: Apache-2.0
"""Add step J^T C J of contacts with the world to M, for steps that need M.

Steps without M add the slopes C to the inertia of single bodies (aba.py).
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import ZERO6, dot6, load6
from rbdyn_ros.engine.algebra.symmetric import add21, load21, store21, times21
from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.tree.crb import carried


@kernel
def add_contact_slopes(m, d, step):
    """Add step J^T C J to qLD; C of each body is its contact_slope."""
    for i in range(1, m.nbody):
        store21(d.IA, i, load21(d.contact_slope, i))
    for i in range(m.nbody - 1, 0, -1):
        parent = m.body_parentid[i]
        if parent > 0:
            store21(d.IA, parent, add21(load21(d.IA, parent), load21(d.IA, i)))
    if m.npair > 0:
        _by_pairs(m, d, step)
    else:
        _by_rows(m, d, step)


@kernel
def _by_rows(m, d, step):
    for body in range(1, m.nbody):
        A, first = load21(d.IA, body), m.body_dofadr[body]
        if A[0] + A[6] + A[11] + A[15] + A[18] + A[20] == 0.0:  # a zero trace means that A is zero
            continue
        for i in range(first, first + m.body_dofnum[body]):
            F = times21(A, load6(d.cdof, i))
            for e in range(m.M_rowadr[i], m.M_rowadr[i] + m.M_rownnz[i]):
                d.qLD[e] += step * dot6(load6(d.cdof, m.M_colind[e]), F)


@kernel
def _by_pairs(m, d, step):
    last, F = -1, ZERO6
    for n in range(m.npair):
        c, above = m.pair_coord[n, 0], m.pair_coord[n, 1]
        if c != last:
            F = times21(load21(d.IA, carried(m, c)), load6(d.cdof_all, c))
            last = c
        weight = step * m.pair_weight[n]
        d.qLD[m.pair_entry[n]] += weight * dot6(load6(d.cdof_all, above), F)
