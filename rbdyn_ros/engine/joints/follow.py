# SPDX-License-Identifier: Apache-2.0
"""Motion of joints without a free coordinate: driven joints and mimic joints.

Source: RBDA eq 3.11, explicit constraints q = gamma(y), and eq 3.30.
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.motion import drive


@kernel
def expand(m, d):
    """Write the entries of qpos_all and qvel_all that follow qpos and qvel."""
    if m.ndrive > 0:
        drive(m, d)
    follow(m, d)


@kernel
def follow(m, d):
    """Write the position and velocity of mimic joints: q = r q_leader + o."""
    for t in range(m.nmimic):
        j = m.mimic_jntid[t]
        r = m.jnt_mimic_ratio[j]
        q = r * d.qpos_all[m.jnt_qposadr[j]] + m.jnt_mimic_offset[j]
        d.qpos_all[m.jnt_qposadr_all[j]] = q
        d.qvel_all[m.jnt_dofadr_all[j]] = r * d.qvel_all[m.jnt_dofadr[j]]


@kernel
def follow_acceleration(m, d):
    """Write the accelerations of mimic joints."""
    for t in range(m.nmimic):
        j = m.mimic_jntid[t]
        d.qacc_all[m.jnt_dofadr_all[j]] = m.jnt_mimic_ratio[j] * d.qacc_all[m.jnt_dofadr[j]]


@inline
def is_driven(m, k):
    """Return whether an entry of qvel_all belongs to a driven joint.

    Loops over all bodies test k < nv before they call this, which is faster for plain trees.
    """
    return k >= m.nv and k < m.nv + m.ndrive
