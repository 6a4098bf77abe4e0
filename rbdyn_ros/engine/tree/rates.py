# SPDX-License-Identifier: Apache-2.0
"""Rates of motion axes and composite inertias, for derivatives of the dynamics.

Psi_dot of a dof is cdof_dot. Source: Singh, Russo, Wensing, Efficient analytical derivatives of
rigid-body dynamics using spatial vector algebra, 2022; Echeandia, Wensing, Numerical methods to
compute the Coriolis matrix and Christoffel symbols for rigid-body systems, 2021.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    ZERO6,
    add3,
    add6,
    add_scaled6,
    cross3,
    cross_motion,
    inertia_times,
    load6,
    load10,
    mat_vec,
    store6,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.jcalc import carried_from


@kernel
def axis_rates(m, d):
    """Write cdof_rate, the full time derivative of each column of S. Call `com_vel` first.

    cdof_dot excludes the rotation of the joint itself: for axes fixed in the child link it lacks
    the common term v_J x S, which adds nothing to S_dot qd.
    """
    for j in range(m.njnt):
        first = m.jnt_dofadr_all[j]
        end = first + m.jnt_dofnum[j]
        carried = first + carried_from(m, j)
        v = ZERO6
        for c in range(carried, end):
            v = add_scaled6(v, load6(d.cdof_all, c), d.qvel_all[c])
        sign = -1.0 if m.jnt_reversed[j] else 1.0
        for c in range(first, end):
            rate = load6(d.cdof_dot_all, c)
            if c >= carried:
                rate = add_scaled6(rate, cross_motion(v, load6(d.cdof_all, c)), sign)
            store6(d.cdof_rate, c, rate)


@kernel
def axis_accelerations(m, d):
    """Write cdof_ddot from cacc: Psi_ddot = a x S + v x Psi_dot, with a and v before the joint."""
    for i in range(1, m.nbody):
        j, parent = i - 1, m.body_parentid[i]
        v, a = load6(d.cvel, parent), load6(d.cacc, parent)
        v_before, a_before = v, a
        for c in range(m.jnt_dofadr_all[j], m.jnt_dofadr_all[j] + m.jnt_dofnum[j]):
            if m.dof_newframe[c]:
                v_before, a_before = v, a
            S, rate = load6(d.cdof_all, c), load6(d.cdof_dot_all, c)
            store6(d.cdof_ddot, c, add6(cross_motion(a_before, S), cross_motion(v_before, rate)))
            v = add_scaled6(v, S, d.qvel_all[c])
            a = add_scaled6(add_scaled6(a, S, d.qacc_all[c]), rate, d.qvel_all[c])


@kernel
def composite_rates(m, d):
    """Write crb_rate, B of every subtree. Call `com_vel` first."""
    for i in range(m.nbody - 1, 0, -1):
        B = _inertia_rate(load10(d.cinert, i), load6(d.cvel, i))
        if m.body_haschild[i]:
            B = _add12(B, load12(d.crb_rate, i))
        _store12(d.crb_rate, i, B)
        parent = m.body_parentid[i]
        if parent > 0:
            if not m.body_lastchild[i]:
                B = _add12(B, load12(d.crb_rate, parent))
            _store12(d.crb_rate, parent, B)


@inline
def _inertia_rate(I, v):
    """Return B(I, v) = (v x* I - I v x + (I v) x-bar*) / 2 as N and p: B = [N, 0; -p x, 0].

    With the momentum I v = [k; p] the other blocks vanish, because the rate of the first moment of
    mass is p. N = (X + X^T - k x) / 2 with X = w x I - u x (m c) x.
    """
    xx, yy, zz, xy, xz, yz, mx, my, mz, _ = I
    wx, wy, wz, ux, uy, uz = v
    kx, ky, kz, px, py, pz = inertia_times(I, v)
    um = ux * mx + uy * my + uz * mz
    s01 = wz * (xx - yy) + wy * yz - wx * xz - mx * uy - my * ux
    s02 = wy * (zz - xx) + wx * xy - wz * yz - mx * uz - mz * ux
    s12 = wx * (yy - zz) + wz * xz - wy * xy - my * uz - mz * uy
    return (
        wy * xz - wz * xy - mx * ux + um, 0.5 * (s01 + kz), 0.5 * (s02 - ky),
        0.5 * (s01 - kz), wz * xy - wx * yz - my * uy + um, 0.5 * (s12 + kx),
        0.5 * (s02 + ky), 0.5 * (s12 - kx), wx * yz - wy * xz - mz * uz + um,
        px, py, pz,
    )  # fmt: skip


@inline
def rate_times(B, s):
    # B s = [N w; w x p]
    w, p = (s[0], s[1], s[2]), (B[9], B[10], B[11])
    n, f = mat_vec((B[0], B[1], B[2], B[3], B[4], B[5], B[6], B[7], B[8]), w), cross3(w, p)
    return n[0], n[1], n[2], f[0], f[1], f[2]


@inline
def rate_times_left(B, s):
    # the angular part of B^T s = [N^T w + p x v; 0]
    w, v, p = (s[0], s[1], s[2]), (s[3], s[4], s[5]), (B[9], B[10], B[11])
    return add3(mat_vec((B[0], B[3], B[6], B[1], B[4], B[7], B[2], B[5], B[8]), w), cross3(p, v))


@inline
def load12(array, i):
    r = array[i]
    return r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11]


@inline
def _store12(array, i, B):
    r = array[i]
    r[0], r[1], r[2], r[3], r[4], r[5] = B[0], B[1], B[2], B[3], B[4], B[5]
    r[6], r[7], r[8], r[9], r[10], r[11] = B[6], B[7], B[8], B[9], B[10], B[11]


@inline
def _add12(A, B):
    return (
        A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5],
        A[6] + B[6], A[7] + B[7], A[8] + B[8], A[9] + B[9], A[10] + B[10], A[11] + B[11],
    )  # fmt: skip
