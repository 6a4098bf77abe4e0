# SPDX-License-Identifier: Apache-2.0
"""The acceleration of a floating base: the last step of the articulated-body algorithm.

Nothing is passed on to the world, so the six equations of the free joint are solved in its
coordinates: H qacc = u with H = S^T IA S + E and u = tau - S^T pA. Factoring H = L^T D L is the
same elimination, from the last dof to the first, with the same D. But each dof needs only a
division and two products instead of a multiplication by IA.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import add_scaled6, dot3, dot6, load6, scaled6, store6
from rbdyn_ros.engine.algebra.symmetric import minus_outer, times21
from rbdyn_ros.engine.compiler.jit import inline, is_zero, kernel
from rbdyn_ros.engine.tree.stiffen import bounded_pivot
from rbdyn_ros.model.declared.joints import JointType

FREE = int(JointType.FREE)


@inline
def is_floating_base(m, i):
    """Return whether a free joint connects body i with the world."""
    return m.body_parentid[i] == 0 and m.body_dofnum[i] == 6 and m.jnt_type[i - 1] == FREE


@inline
def pivot(m, d, k, inertia, viscosity_step, stop_step):
    """Return the pivot D of a dof from `inertia`, S^T IA S, with implicit viscosity and stops."""
    D = inertia + m.dof_armature[k] + viscosity_step * d.dof_viscosity[k]
    if not is_zero(stop_step):
        D = bounded_pivot(m, k, D) + stop_step * d.stop_slope[k]
    return D


@inline
def remaining_force(d, k, S, p):
    """Return u = tau - S^T pA of a dof."""
    return d.qfrc_applied[k] + d.qfrc_passive[k] - dot6(S, p)


@kernel
def solve_base(m, d, i, A, p, viscosity_step, stop_step, qacc):
    """Write qacc of the free joint of body i, and a of the body, from IA and pA."""
    k = m.body_dofadr[i]
    # the joint has three translations and three rotations
    x, y, z = load6(d.cdof, k), load6(d.cdof, k + 1), load6(d.cdof, k + 2)
    r, s, t = load6(d.cdof, k + 3), load6(d.cdof, k + 4), load6(d.cdof, k + 5)
    H = _joint_inertia(A, x, y, z, r, s, t)
    u = (
        remaining_force(d, k, x, p), remaining_force(d, k + 1, y, p),
        remaining_force(d, k + 2, z, p), remaining_force(d, k + 3, r, p),
        remaining_force(d, k + 4, s, p), remaining_force(d, k + 5, t, p),
    )  # fmt: skip
    q0, q1, q2, q3, q4, q5 = solve_six(m, d, k, H, u, viscosity_step, stop_step)
    qacc[k], qacc[k + 1], qacc[k + 2] = q0, q1, q2
    qacc[k + 3], qacc[k + 4], qacc[k + 5] = q3, q4, q5
    shift = add_scaled6(add_scaled6(scaled6(x, q0), y, q1), z, q2)
    store6(d.a, i, add_scaled6(add_scaled6(add_scaled6(shift, r, q3), s, q4), t, q5))


@inline
def solve_six(m, d, k, H, u, viscosity_step, stop_step):
    """Return H^-1 u of the six equations of a free joint, dofs k to k + 5; write their D."""
    row = (H[5], H[10], H[14], H[17], H[19], H[20])
    H, u, L5, q5 = _eliminate(m, d, k + 5, H, u, row, row[5], u[5], viscosity_step, stop_step)
    row = (H[4], H[9], H[13], H[16], H[18], 0.0)
    H, u, L4, q4 = _eliminate(m, d, k + 4, H, u, row, row[4], u[4], viscosity_step, stop_step)
    row = (H[3], H[8], H[12], H[15], 0.0, 0.0)
    H, u, L3, q3 = _eliminate(m, d, k + 3, H, u, row, row[3], u[3], viscosity_step, stop_step)
    row = (H[2], H[7], H[11], 0.0, 0.0, 0.0)
    H, u, L2, q2 = _eliminate(m, d, k + 2, H, u, row, row[2], u[2], viscosity_step, stop_step)
    row = (H[1], H[6], 0.0, 0.0, 0.0, 0.0)
    H, u, L1, q1 = _eliminate(m, d, k + 1, H, u, row, row[1], u[1], viscosity_step, stop_step)
    row = (H[0], 0.0, 0.0, 0.0, 0.0, 0.0)
    H, u, _L, q0 = _eliminate(m, d, k, H, u, row, row[0], u[0], viscosity_step, stop_step)
    q1 -= L1[0] * q0
    q2 -= L2[0] * q0 + L2[1] * q1
    q3 -= L3[0] * q0 + L3[1] * q1 + L3[2] * q2
    q4 -= L4[0] * q0 + L4[1] * q1 + L4[2] * q2 + L4[3] * q3
    q5 -= L5[0] * q0 + L5[1] * q1 + L5[2] * q2 + L5[3] * q3 + L5[4] * q4
    return q0, q1, q2, q3, q4, q5


@inline
def _eliminate(m, d, k, H, u, row, inertia, force, viscosity_step, stop_step):
    """Eliminate dof k; return H and u of the dofs before it, its row of L, and D^-1 u."""
    D = pivot(m, d, k, inertia, viscosity_step, stop_step)
    d.D[k] = D
    inverse = 1.0 / D
    L = scaled6(row, inverse)
    return minus_outer(H, L, row), add_scaled6(u, L, -force), L, force * inverse


@inline
def _joint_inertia(A, x, y, z, r, s, t):
    """Return S^T A S of three translations and three rotations, the upper triangle by rows."""
    X, Y, Z = _of_shift(A, x), _of_shift(A, y), _of_shift(A, z)
    R, S, T = times21(A, r), times21(A, s), times21(A, t)
    return (
        _along(x, X), _along(x, Y), _along(x, Z), _along(x, R), _along(x, S), _along(x, T),
        _along(y, Y), _along(y, Z), _along(y, R), _along(y, S), _along(y, T),
        _along(z, Z), _along(z, R), _along(z, S), _along(z, T),
        dot6(r, R), dot6(r, S), dot6(r, T),
        dot6(s, S), dot6(s, T),
        dot6(t, T),
    )  # fmt: skip


@inline
def _of_shift(A, s):
    """Return the last three components of A s for the axis s of a translation."""
    x = (s[3], s[4], s[5])
    force = (
        dot3((A[15], A[16], A[17]), x), dot3((A[16], A[18], A[19]), x),
        dot3((A[17], A[19], A[20]), x),
    )  # fmt: skip
    return 0.0, 0.0, 0.0, force[0], force[1], force[2]


@inline
def _along(s, F):
    """Return s . F for the axis s of a translation."""
    return dot3((s[3], s[4], s[5]), (F[3], F[4], F[5]))
