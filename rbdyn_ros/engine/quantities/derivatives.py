# SPDX-License-Identifier: Apache-2.0
"""Derivatives of inverse and forward dynamics with respect to positions, velocities and forces.

Positions are differentiated along the coordinates of qvel, as integrate_pos adds them. Psi_dot and
Psi_ddot of a dof are cdof_dot and cdof_ddot, its full rate S' is cdof_rate, and I, B, f belong to
subtrees. For j = i or a dof j before i:

    d tau_i / d q_j = S_i^T (2 B_i Psi_dot_j + I_i Psi_ddot_j)
    d tau_j / d q_i = S_j^T (2 B_i Psi_dot_i + I_i Psi_ddot_i + S_i x* f_i)
    d tau_i / d v_j = S_i^T (2 B_i S_j + I_i (Psi_dot_j + S_j'))
    d tau_j / d v_i = S_j^T (2 B_i S_i + I_i (Psi_dot_i + S_i'))

Source: Singh, Russo, Wensing, Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra, 2022, eq 25 to 28. Forces on bodies keep their direction in the world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    add6,
    cross3,
    cross_force,
    cross_motion,
    dot3,
    dot6,
    inertia_times,
    load3,
    load6,
    load9,
    load10,
    mat_vec,
    scaled3,
    scaled6,
    store6,
    store9,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, is_zero, kernel
from rbdyn_ros.engine.forward import aba
from rbdyn_ros.engine.joints.coordinates import acts_on, clear
from rbdyn_ros.engine.joints.jcalc import carried_from
from rbdyn_ros.engine.quantities.inverse_mass import factored, write_inverse_mass
from rbdyn_ros.engine.step.integrate import smooth_stages, velocity_stages
from rbdyn_ros.engine.step.passive import passive_slopes, smooth_passive
from rbdyn_ros.engine.stops.stop_law import exact_stops
from rbdyn_ros.engine.tree.crb import composite_inertia, solve_rows
from rbdyn_ros.engine.tree.kinematics import com_pos, poses
from rbdyn_ros.engine.tree.rates import (
    axis_accelerations,
    axis_rates,
    composite_rates,
    load12,
    rate_times,
    rate_times_left,
)
from rbdyn_ros.engine.tree.rne import rne_acc

if TYPE_CHECKING:
    from rbdyn_ros.engine.compiler.jit import Cube
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def inverse_derivatives(m: Model, d: Data, out: Cube) -> None:
    """Write qfrc_inverse, and its derivatives by qpos, qvel and qacc, (3, nv, nv)."""
    poses(m, d)
    com_pos(m, d)
    velocity_stages(m, d)
    _differentiate(m, d, out[0], out[1], out[2])


@kernel
def forward_derivatives(m: Model, d: Data, out: Cube) -> None:
    """Write qacc, and its derivatives by qpos, qvel and the applied forces, (3, nv, nv).

    d qacc = M^-1 (d tau - d inverse). Source: Carpentier, Mansard, Analytical derivatives of rigid
    body dynamics algorithms, 2018, eq 3.

    Dry friction and limits follow the smooth law, also for qacc, because the exact law has no
    derivative at rest.
    """
    smooth_stages(m, d)
    if exact_stops(m, d):
        smooth_passive(m, d)
    aba(m, d)
    dq, dv, dtau = out[0], out[1], out[2]
    _differentiate(m, d, dq, dv, dtau)
    _applied_forces(m, d, dq)
    factored(m, d)
    write_inverse_mass(m, d, dtau)
    _accelerations(m, d, dq)
    _accelerations(m, d, dv)


@kernel
def _accelerations(m, d, forces):
    """Replace derivatives of inverse dynamics by derivatives of forward dynamics."""
    for i in range(m.nv):
        for k in range(m.nv):
            forces[i, k] = -forces[i, k]
    solve_rows(m, d, forces)


@kernel
def _differentiate(m, d, dq, dv, M):
    rne_acc(m, d)
    axis_rates(m, d)
    axis_accelerations(m, d)
    composite_inertia(m, d)
    composite_rates(m, d)
    clear(dq)
    clear(dv)
    clear(M)
    for k in range(m.nv):
        M[k, k] = m.dof_armature[k]
    for i in range(1, m.nbody):
        first = m.jnt_dofadr_all[i - 1]
        for c in range(first, first + m.jnt_dofnum[i - 1]):
            _share(m, d, i, c, dq, dv, M)
    if m.opt.passive:
        passive_slopes(m, d, dq, dv)


@kernel
def _share(m, d, i, c, dq, dv, M):
    """Add the terms of coordinate c of body i with the coordinates before it."""
    k, times = acts_on(m, i - 1, c)
    if k < 0:
        return
    I, B = load10(d.crb, i), load12(d.crb_rate, i)
    S, swing = load6(d.cdof_all, c), load6(d.cdof_dot_all, c)
    U, W = inertia_times(I, S), scaled3(rate_times_left(B, S), 2.0)
    Y = add6(scaled6(rate_times(B, swing), 2.0), inertia_times(I, load6(d.cdof_ddot, c)))
    Z = inertia_times(I, add6(swing, load6(d.cdof_rate, c)))
    Z = add6(scaled6(rate_times(B, S), 2.0), Z)
    turned = cross_force(S, load6(d.cfrc_sum, i))
    # axes fixed in the same child link rotate together, so the force does not rotate relative to
    # them
    as_one = m.jnt_dofadr_all[i - 1] + carried_from(m, i - 1)
    body, end = i, c + 1
    while body > 0:
        j = body - 1
        for above in range(m.jnt_dofadr_all[j], end):
            n, weight = acts_on(m, j, above)
            if n >= 0:
                weight *= times
                S_j, swing_j = load6(d.cdof_all, above), load6(d.cdof_dot_all, above)
                w, v = (S_j[0], S_j[1], S_j[2]), (swing_j[0], swing_j[1], swing_j[2])
                dq[k, n] += weight * (dot6(U, load6(d.cdof_ddot, above)) + dot3(W, v))
                rate = add6(swing_j, load6(d.cdof_rate, above))
                dv[k, n] += weight * (dot6(U, rate) + dot3(W, w))
                inertia = weight * dot6(U, S_j)
                M[k, n] += inertia
                if above != c:
                    Y_j = Y if body == i and above >= as_one else add6(Y, turned)
                    dq[n, k] += weight * dot6(S_j, Y_j)
                    dv[n, k] += weight * dot6(S_j, Z)
                    M[n, k] += inertia
        body = m.body_parentid[body]
        end = m.jnt_dofadr_all[body - 1] + m.jnt_dofnum[body - 1] if body > 0 else 0


@kernel
def _applied_forces(m, d, dq):
    """Subtract from dq the derivative of J^T xfrc_applied: arms rotate, force directions do not.

    The derivative of a subtree's wrench [n; f] by q_j is [v_j x f + G w_j; 0], where G is the sum
    of r f^T - (r f) 1 over its forces f at r.
    """
    acting = 0.0
    for i in range(1, m.nbody):
        t, r = d.xfrc_applied[i], sub3(load3(d.xipos, i), load3(d.subtree_com, m.body_rootid[i]))
        f = (t[0], t[1], t[2])
        n = add3((t[3], t[4], t[5]), cross3(r, f))
        store6(d.xfrc_sum, i, (n[0], n[1], n[2], f[0], f[1], f[2]))
        store9(d.xfrc_turn, i, _turn(r, f))
        acting += dot3(f, f) + dot3(n, n)
    if is_zero(acting):
        return
    for i in range(m.nbody - 1, 0, -1):
        parent = m.body_parentid[i]
        if parent > 0:
            for n in range(6):
                d.xfrc_sum[parent, n] += d.xfrc_sum[i, n]
            for n in range(9):
                d.xfrc_turn[parent, n] += d.xfrc_turn[i, n]
    for i in range(1, m.nbody):
        first = m.jnt_dofadr_all[i - 1]
        for c in range(first, first + m.jnt_dofnum[i - 1]):
            _applied_share(m, d, i, c, dq)


@inline
def _turn(r, f):
    # r f^T - (r f) 1
    x, y, z = r
    along = dot3(r, f)
    return (
        x * f[0] - along, x * f[1], x * f[2],
        y * f[0], y * f[1] - along, y * f[2],
        z * f[0], z * f[1], z * f[2] - along,
    )  # fmt: skip


@kernel
def _applied_share(m, d, i, c, dq):
    k, times = acts_on(m, i - 1, c)
    if k < 0:
        return
    S, wrench, G = load6(d.cdof_all, c), load6(d.xfrc_sum, i), load9(d.xfrc_turn, i)
    f = (wrench[3], wrench[4], wrench[5])
    n_c = add3(cross3((S[3], S[4], S[5]), f), mat_vec(G, (S[0], S[1], S[2])))
    as_one = m.jnt_dofadr_all[i - 1] + carried_from(m, i - 1)
    body, end = i, c + 1
    while body > 0:
        j = body - 1
        for above in range(m.jnt_dofadr_all[j], end):
            n, weight = acts_on(m, j, above)
            if n >= 0:
                weight *= times
                S_j = load6(d.cdof_all, above)
                w = (S_j[0], S_j[1], S_j[2])
                turned = dot6(cross_motion(S_j, S), wrench)
                n_j = add3(cross3((S_j[3], S_j[4], S_j[5]), f), mat_vec(G, w))
                dq[k, n] -= weight * (turned + dot3((S[0], S[1], S[2]), n_j))
                if above != c:
                    together = body == i and above >= as_one
                    dq[n, k] -= weight * (dot3(w, n_c) - (turned if together else 0.0))
        body = m.body_parentid[body]
        end = m.jnt_dofadr_all[body - 1] + m.jnt_dofnum[body - 1] if body > 0 else 0
