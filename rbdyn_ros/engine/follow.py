"""Motion that is not the state's: of joints driven over time, and of those that follow others.

Source: RBDA eq 3.11, explicit constraints q = gamma(y), and eq 3.30.
"""

from __future__ import annotations

from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.motion import drive
from rbdyn_ros.engine.spatial import dot6, load6


@kernel
def expand(m, d):
    """Write what stands behind qpos and qvel in qpos_all and qvel_all."""
    if m.ndrive > 0:
        drive(m, d)
    follow(m, d)


@kernel
def follow(m, d):
    """Write position and velocity of joints that follow: q = r q_followed + o."""
    for t in range(m.nmimic):
        j = m.mimic_jntid[t]
        r = m.jnt_mimic_ratio[j]
        q = r * d.qpos_all[m.jnt_qposadr[j]] + m.jnt_mimic_offset[j]
        d.qpos_all[m.jnt_qposadr_all[j]] = q
        d.qvel_all[m.jnt_dofadr_all[j]] = r * d.qvel_all[m.jnt_dofadr[j]]


@kernel
def follow_acceleration(m, d):
    """Write the accelerations of joints that follow."""
    for t in range(m.nmimic):
        j = m.mimic_jntid[t]
        d.qacc_all[m.jnt_dofadr_all[j]] = m.jnt_mimic_ratio[j] * d.qacc_all[m.jnt_dofadr[j]]


@kernel
def reflect(m, d, wrenches, qfrc):
    """Add to qfrc what acts along joints that follow, S^T f of their bodies, times the ratio."""
    for t in range(m.nmimic):
        j = m.mimic_jntid[t]
        f = dot6(load6(d.cdof_all, m.jnt_dofadr_all[j]), load6(wrenches, m.jnt_bodyid[j]))
        qfrc[m.jnt_dofadr[j]] += m.jnt_mimic_ratio[j] * f


@inline
def is_driven(m, k):
    """Whether an entry of qvel_all belongs to a joint that is driven over time."""
    return k >= m.nv and k < m.nv + m.ndrive


@kernel
def push(m, d, body, wrench, qfrc):
    """Add to qfrc what a wrench on a body does; it is about the centre of mass of its tree."""
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
