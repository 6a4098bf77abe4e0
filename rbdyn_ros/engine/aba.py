"""Articulated-body algorithm: joint accelerations in O(n).

Source: RBDA table 7.1, in MuJoCo's frame: all bodies of a tree share world axes about the
tree's centre of mass, so no 6x6 transforms are needed. Accelerations are counted from
cacc_bias, the motion at qacc = 0; the bias force of a body is then cfrc_bias, no term in c_J
remains, and RNE and ABA share that forward pass. A joint of several dofs is a chain of joints
of one dof with nothing between, so each dof is eliminated by itself and D is a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import (
    add6,
    add_scaled6,
    cross3,
    dot6,
    load3,
    load6,
    scaled6,
    store6,
    sub3,
)

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def articulated(m, d, viscosity_step, qacc):
    """Write qacc with (M + viscosity_step diag(dof_viscosity)) qacc = applied + passive - bias.

    xfrc_applied is included in the right side. viscosity_step is 0 for the explicit
    acceleration and the timestep for the one implicit in damping.
    """
    _start(m, d)
    for i in range(m.nbody - 1, 0, -1):
        _eliminate_joint(m, d, i, viscosity_step)
    store6(d.a, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for i in range(1, m.nbody):
        a = load6(d.a, m.body_parentid[i])
        first = m.body_dofadr[i]
        for k in range(first, first + m.body_dofnum[i]):
            # qdd = D^-1 (u - U^T a)
            qacc[k] = d.Dinv_u[k] - dot6(load6(d.U_Dinv, k), a)
            a = add_scaled6(a, load6(d.cdof, k), qacc[k])
        store6(d.a, i, a)
    _count_bad(m, d)


@kernel
def _count_bad(m, d):
    bad = 0
    for k in range(m.nv):
        if not d.D[k] > 0.0:  # NaN as well
            bad += 1
    d.nbad = d.nbad + bad


@inline
def _start(m, d):
    """IA = I, pA = cfrc_bias - external force, for every body."""
    for i in range(1, m.nbody):
        _store21(d.IA, i, _as_upper_triangle(d.cinert[i]))
        f = (d.xfrc_applied[i, 0], d.xfrc_applied[i, 1], d.xfrc_applied[i, 2])
        arm = sub3(load3(d.xipos, i), load3(d.subtree_com, m.body_rootid[i]))
        n = cross3(arm, f)
        p = load6(d.cfrc_bias, i)
        t = d.xfrc_applied[i]
        store6(
            d.pA,
            i,
            (
                p[0] - n[0] - t[3], p[1] - n[1] - t[4], p[2] - n[2] - t[5],
                p[3] - f[0], p[4] - f[1], p[5] - f[2],
            ),
        )  # fmt: skip


@inline
def _as_upper_triangle(c):
    # [I, m c x; -m c x, m 1]
    m, x, y, z = c[9], c[6], c[7], c[8]
    return (
        c[0], c[3], c[4], 0.0, -z, y,
        c[1], c[5], z, 0.0, -x,
        c[2], -y, x, 0.0,
        m, 0.0, 0.0,
        m, 0.0,
        m,
    )  # fmt: skip


@inline
def _eliminate_joint(m, d, i, viscosity_step):
    A, p = _load21(d.IA, i), load6(d.pA, i)
    first = m.body_dofadr[i]
    for k in range(first + m.body_dofnum[i] - 1, first - 1, -1):
        S = load6(d.cdof, k)
        # U = IA S; D = S^T U; u = tau - S^T pA
        U = _times(A, S)
        D = dot6(S, U) + m.dof_armature[k] + viscosity_step * d.dof_viscosity[k]
        u = d.qfrc_applied[k] + d.qfrc_passive[k] - dot6(S, p)
        U_Dinv = scaled6(U, 1.0 / D)
        store6(d.U_Dinv, k, U_Dinv)
        d.D[k] = D
        d.Dinv_u[k] = u / D
        # Ia = IA - U D^-1 U^T; pa = pA + U D^-1 u
        A = _minus_outer(A, U_Dinv, U)
        p = add_scaled6(p, U_Dinv, u)
    parent = m.body_parentid[i]
    if parent > 0:
        _add21(d.IA, parent, A)
        store6(d.pA, parent, add6(load6(d.pA, parent), p))


@inline
def _store21(array, i, A):
    r = array[i]
    r[0], r[1], r[2], r[3], r[4], r[5] = A[0], A[1], A[2], A[3], A[4], A[5]
    r[6], r[7], r[8], r[9], r[10] = A[6], A[7], A[8], A[9], A[10]
    r[11], r[12], r[13], r[14] = A[11], A[12], A[13], A[14]
    r[15], r[16], r[17], r[18], r[19], r[20] = A[15], A[16], A[17], A[18], A[19], A[20]


@inline
def _add21(array, i, A):
    r = array[i]
    r[0] += A[0]; r[1] += A[1]; r[2] += A[2]; r[3] += A[3]; r[4] += A[4]; r[5] += A[5]
    r[6] += A[6]; r[7] += A[7]; r[8] += A[8]; r[9] += A[9]; r[10] += A[10]
    r[11] += A[11]; r[12] += A[12]; r[13] += A[13]; r[14] += A[14]
    r[15] += A[15]; r[16] += A[16]; r[17] += A[17]
    r[18] += A[18]; r[19] += A[19]; r[20] += A[20]


@inline
def _load21(array, i):
    r = array[i]
    return (
        r[0], r[1], r[2], r[3], r[4], r[5],
        r[6], r[7], r[8], r[9], r[10],
        r[11], r[12], r[13], r[14],
        r[15], r[16], r[17],
        r[18], r[19],
        r[20],
    )  # fmt: skip


@inline
def _times(A, s):
    return (
        dot6((A[0], A[1], A[2], A[3], A[4], A[5]), s),
        dot6((A[1], A[6], A[7], A[8], A[9], A[10]), s),
        dot6((A[2], A[7], A[11], A[12], A[13], A[14]), s),
        dot6((A[3], A[8], A[12], A[15], A[16], A[17]), s),
        dot6((A[4], A[9], A[13], A[16], A[18], A[19]), s),
        dot6((A[5], A[10], A[14], A[17], A[19], A[20]), s),
    )


@inline
def _minus_outer(A, V, U):
    # A - V U^T, known to be symmetric
    return (
        A[0] - V[0] * U[0], A[1] - V[0] * U[1], A[2] - V[0] * U[2],
        A[3] - V[0] * U[3], A[4] - V[0] * U[4], A[5] - V[0] * U[5],
        A[6] - V[1] * U[1], A[7] - V[1] * U[2], A[8] - V[1] * U[3],
        A[9] - V[1] * U[4], A[10] - V[1] * U[5],
        A[11] - V[2] * U[2], A[12] - V[2] * U[3], A[13] - V[2] * U[4], A[14] - V[2] * U[5],
        A[15] - V[3] * U[3], A[16] - V[3] * U[4], A[17] - V[3] * U[5],
        A[18] - V[4] * U[4], A[19] - V[4] * U[5],
        A[20] - V[5] * U[5],
    )  # fmt: skip
