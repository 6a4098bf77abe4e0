# SPDX-License-Identifier: Apache-2.0
"""Recursive Newton-Euler: bias_force, rne, rne_acc (inverse dynamics of a tree)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import (
    ZERO6,
    add6,
    add_scaled6,
    cross_force,
    dot6,
    inertia_times,
    load6,
    load10,
    store6,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.follow import follow_acceleration, is_driven
from rbdyn_ros.engine.tree.floating_base import is_floating_base
from rbdyn_ros.engine.tree.loads import load_drives, reflect, relieve_drives
from rbdyn_ros.engine.tree.springs import spring_loads

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model


@kernel
def bias_force(m: Model, d: Data) -> None:
    """Write cacc_bias and cfrc_bias: the acceleration and the force of each body at qacc = 0.

    Gravity enters as an upward acceleration of the world. Source: RBDA table 5.1, qdd = 0.
    """
    g = m.opt.gravity
    store6(d.cacc_bias, 0, (0.0, 0.0, 0.0, -g[0], -g[1], -g[2]))
    for i in range(1, m.nbody):
        a = load6(d.cacc_bias, m.body_parentid[i])
        first = m.jnt_dofadr_all[i - 1]
        end = first + m.jnt_dofnum[i - 1]
        in_world = m.jnt_common[i - 1] and is_floating_base(m, i)
        # skip translation axes that are fixed in the world, because they do not rotate
        for k in range(first + 3 if in_world else first, end):
            a = add_scaled6(a, load6(d.cdof_dot_all, k), d.qvel_all[k])
        # the acceleration of a driven joint is prescribed
        if first >= m.nv and is_driven(m, first):
            for k in range(first, end):
                a = add_scaled6(a, load6(d.cdof_all, k), d.qacc_all[k])
        store6(d.cacc_bias, i, a)
        store6(d.cfrc_bias, i, _newton_euler(load10(d.cinert, i), load6(d.cvel, i), a))


@inline
def _newton_euler(I, v, a):
    # f = I a + v x* I v   (RBDA eq 5.9)
    return add6(inertia_times(I, a), cross_force(v, inertia_times(I, v)))


@kernel
def rne(m: Model, d: Data) -> None:
    """Write qfrc_bias: Coriolis, centrifugal and gravity force. Call `bias_force` first.

    Source: MuJoCo mj_rne with flg_acc = 0; RBDA eq 5.10, 5.11.
    """
    for i in range(1, m.nbody):
        store6(d.cfrc_sum, i, load6(d.cfrc_bias, i))
    project(m, d, d.qfrc_bias)
    if m.nmimic > 0:
        reflect(m, d, d.cfrc_sum, d.qfrc_bias)


@kernel
def rne_acc(m: Model, d: Data) -> None:
    """Write cacc, cfrc_sum and qfrc_inverse from qacc. Call `bias_force` and `passive` first.

    qfrc_inverse is the sum of qfrc_applied, actuator forces and xfrc_applied that causes qacc.
    Source: RBDA table 5.1; MuJoCo mj_inverse.
    """
    if m.nmimic > 0:
        follow_acceleration(m, d)
    _start_accelerations(d)
    for i in range(1, m.nbody):
        a = _accelerate(m, d, i)
        f = add6(load6(d.cfrc_bias, i), inertia_times(load10(d.cinert, i), a))
        store6(d.cfrc_sum, i, f)
    project(m, d, d.qfrc_inverse)
    if m.nmimic > 0:
        reflect(m, d, d.cfrc_sum, d.qfrc_inverse)
    for k in range(m.nv):
        d.qfrc_inverse[k] += m.dof_armature[k] * d.qacc[k] - d.qfrc_passive[k]
    if m.ncontact > 0:
        for k in range(m.nv):
            d.qfrc_inverse[k] -= d.qfrc_contact[k]
    if m.ndrive > 0:
        _driving_force(m, d)


@kernel
def body_accelerations(m, d):
    """Write a and cacc from qacc_all. Call `bias_force` first."""
    _start_accelerations(d)
    for i in range(1, m.nbody):
        _accelerate(m, d, i)


@inline
def _start_accelerations(d):
    store6(d.a, 0, ZERO6)
    store6(d.cacc, 0, load6(d.cacc_bias, 0))


@inline
def _accelerate(m, d, i):
    """Write a and cacc of body i; return a."""
    a = load6(d.a, m.body_parentid[i])
    first = m.jnt_dofadr_all[i - 1]
    if first < m.nv or not is_driven(m, first):
        for k in range(first, first + m.jnt_dofnum[i - 1]):
            a = add_scaled6(a, load6(d.cdof_all, k), d.qacc_all[k])
    store6(d.a, i, a)
    store6(d.cacc, i, add6(load6(d.cacc_bias, i), a))
    return a


@kernel
def _driving_force(m, d):
    """Write qfrc_driven: S^T f of the forces across driven joints, without springs and contact."""
    load_drives(m, d, d.cfrc_sum)
    if m.nspring > 0 and m.opt.passive:
        spring_loads(m, d)
    if m.ncontact > 0:
        for i in range(1, m.nbody):
            relieve_drives(m, d, i, load6(d.cfrc_contact, i))


@kernel
def project(m, d, qfrc):
    # tau_i = S_i^T f_i and f_parent += f_i, because all bodies of a tree share one frame
    for i in range(m.nbody - 1, 0, -1):
        f = load6(d.cfrc_sum, i)
        first = m.body_dofadr[i]
        for k in range(first, first + m.body_dofnum[i]):
            qfrc[k] = dot6(load6(d.cdof, k), f)
        parent = m.body_parentid[i]
        if parent > 0:
            store6(d.cfrc_sum, parent, add6(load6(d.cfrc_sum, parent), f))
