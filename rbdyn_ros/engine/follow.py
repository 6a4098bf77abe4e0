"""Motion that is not the state's: of joints driven over time, and of those that follow others.

Source: RBDA eq 3.11, explicit constraints q = gamma(y), and eq 3.30.
"""

from __future__ import annotations

from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.motion import drive


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


@inline
def is_driven(m, k):
    """Whether an entry of qvel_all belongs to a joint that is driven over time.

    Where every body of a plain tree would ask, it is asked whether k is below nv first.
    """
    return k >= m.nv and k < m.nv + m.ndrive
