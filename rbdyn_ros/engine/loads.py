"""Inertial forces of bodies, summed over subtrees and projected onto joints."""

from __future__ import annotations

from rbdyn_ros.engine.aba import applied_bias
from rbdyn_ros.engine.follow import is_driven
from rbdyn_ros.engine.jit import kernel
from rbdyn_ros.engine.spatial import (
    ZERO6,
    add6,
    add_scaled6,
    dot6,
    inertia_times,
    load6,
    load10,
    store6,
)


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
        store6(f, i, add6(applied_bias(m, d, i), inertia_times(load10(d.cinert, i), a)))


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
def reflect(m, d, wrenches, qfrc):
    """Add the forces along mimic joints, S^T f of their bodies times the ratio, to qfrc."""
    for t in range(m.nmimic):
        j = m.mimic_jntid[t]
        f = dot6(load6(d.cdof_all, m.jnt_dofadr_all[j]), load6(wrenches, m.jnt_bodyid[j]))
        qfrc[m.jnt_dofadr[j]] += m.jnt_mimic_ratio[j] * f


@kernel
def relieve_drives(m, d, body, wrench):
    """Subtract the effect of a wrench on a body from qfrc_driven."""
    while body > 0:
        first = m.jnt_dofadr_all[body - 1]
        if is_driven(m, first):
            for k in range(first, first + m.jnt_dofnum[body - 1]):
                d.qfrc_driven[k - m.nv] -= dot6(load6(d.cdof_all, k), wrench)
        body = m.body_parentid[body]
