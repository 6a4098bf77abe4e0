# SPDX-License-Identifier: Apache-2.0
"""Forces on bodies, summed over subtrees and projected onto joints."""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    ZERO6,
    add3,
    add6,
    add_scaled6,
    cross3,
    dot6,
    inertia_times,
    load3,
    load6,
    load10,
    scaled6,
    store6,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.follow import is_driven
from rbdyn_ros.engine.tree.aba import applied_bias


@kernel
def body_loads(m, d, f):
    """Write a, and f (nbody, 6): I a + v x* I v minus xfrc_applied of each body (RBDA eq 5.9)."""
    store6(d.a, 0, ZERO6)
    store6(f, 0, ZERO6)
    for i in range(1, m.nbody):
        a = load6(d.a, m.body_parentid[i])
        first = m.jnt_dofadr_all[i - 1]
        if not is_driven(m, first):
            for k in range(first, first + m.jnt_dofnum[i - 1]):
                a = add_scaled6(a, load6(d.cdof_all, k), d.qacc_all[k])
        store6(d.a, i, a)
        store6(f, i, add6(applied_bias(m, d, i, 0.0), inertia_times(load10(d.cinert, i), a)))


@kernel
def sum_subtrees(m, f):
    """Add to f of each body the forces of its descendants (RBDA eq 5.10)."""
    for i in range(m.nbody - 1, 0, -1):
        parent = m.body_parentid[i]
        if parent > 0:
            store6(f, parent, add6(load6(f, parent), load6(f, i)))


@kernel
def push(m, d, body, wrench, qfrc):
    """Add a wrench on a body, about its tree's centre of mass, to qfrc."""
    while body > 0:
        j = body - 1
        first = m.jnt_dofadr_all[j]
        for k in range(first, first + m.jnt_dofnum[j]):
            along = dot6(load6(d.cdof_all, k), wrench)
            if k < m.nv:
                qfrc[k] += along
            elif not is_driven(m, k):
                qfrc[m.jnt_dofadr[j]] += m.jnt_mimic_ratio[j] * along
        body = m.body_parentid[body]


@kernel
def contact_joint_forces(m, d):
    """Write qfrc_contact, the contact forces as joint forces. Overwrites pA."""
    for i in range(m.nbody):
        store6(d.pA, i, load6(d.cfrc_contact, i))
    sum_subtrees(m, d.pA)
    for k in range(m.nv):
        d.qfrc_contact[k] = dot6(load6(d.cdof, k), load6(d.pA, m.dof_bodyid[k]))
    if m.nmimic > 0:
        reflect(m, d, d.pA, d.qfrc_contact)


@kernel
def reflect(m, d, wrenches, qfrc):
    """Add to qfrc the forces along mimic joints: S^T f times the ratio, with f in `wrenches`."""
    for t in range(m.nmimic):
        j = m.mimic_jntid[t]
        f = dot6(load6(d.cdof_all, m.jnt_dofadr_all[j]), load6(wrenches, m.jnt_bodyid[j]))
        qfrc[m.jnt_dofadr[j]] += m.jnt_mimic_ratio[j] * f


@kernel
def subtract_xfrc(m, d):
    """Subtract the effect of xfrc_applied from qfrc_inverse and qfrc_driven."""
    for i in range(1, m.nbody):
        t = d.xfrc_applied[i]
        f = (t[0], t[1], t[2])
        arm = sub3(load3(d.xipos, i), load3(d.subtree_com, m.body_rootid[i]))
        n = add3(cross3(arm, f), (t[3], t[4], t[5]))
        wrench = (n[0], n[1], n[2], f[0], f[1], f[2])
        push(m, d, i, scaled6(wrench, -1.0), d.qfrc_inverse)
        if m.ndrive > 0:
            relieve_drives(m, d, i, wrench)


@kernel
def relieve_drives(m, d, body, wrench):
    """Subtract the effect of a wrench on a body from qfrc_driven."""
    while body > 0:
        j = body - 1
        first = m.jnt_dofadr_all[j]
        if is_driven(m, first):
            for k in range(first, first + m.jnt_dofnum[j]):
                add_to_drive(m, d, j, k, -dot6(load6(d.cdof_all, k), wrench))
        body = m.body_parentid[body]


@kernel
def load_drives(m, d, forces):
    """Write qfrc_driven: S^T f of driven joints, from the forces (nbody, 6) across joints."""
    for n in range(m.ndrive):
        d.qfrc_driven[n] = 0.0
    for j in range(m.njnt):
        first = m.jnt_dofadr_all[j]
        if is_driven(m, first):
            for k in range(first, first + m.jnt_dofnum[j]):
                force = dot6(load6(d.cdof_all, k), load6(forces, m.jnt_bodyid[j]))
                add_to_drive(m, d, j, k, force)


@inline
def add_to_drive(m, d, j, k, force):
    """Add a force along coordinate k of driven joint j to its drive, or to its leader's drive.

    The drive also moves the joints that follow its joint. By the principle of virtual work their
    forces count times their ratio, which is 1 for the joint with the drive.
    """
    driven = m.jnt_dofadr[j] + k - m.jnt_dofadr_all[j] - m.nv
    d.qfrc_driven[driven] += m.jnt_mimic_ratio[j] * force
