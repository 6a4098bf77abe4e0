# SPDX-License-Identifier: Apache-2.0
"""The yaw-pitch-roll joint: it moves like a ball joint, but its three angles have a singularity.

Source: RBDA eq 4.7, 4.8, 4.9.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import mat_vec
from rbdyn_ros.engine.compiler.jit import inline, kernel, select
from rbdyn_ros.engine.joints.frames import write_turn
from rbdyn_ros.model.declared.joints import JointClass, JointType

FREE = int(JointClass.FREE)
YPR = int(JointType.YPR)

#: nsingular counts yaw-pitch-roll joints whose |cos(pitch)| is below this.
NEAR_SINGULAR = 1e-2
#: For a smaller |cos(pitch)| the joint's axes are computed with this value, so that its inertia
#: matrix stays regular.
SINGULAR = 1e-5


@inline
def yaw_pitch_roll(yaw, pitch, roll):
    # the transpose of RBDA eq 4.7
    c1, s1 = np.cos(yaw), np.sin(yaw)
    c2, s2 = np.cos(pitch), np.sin(pitch)
    c3, s3 = np.cos(roll), np.sin(roll)
    return (
        c1 * c2, c1 * s2 * s3 - s1 * c3, c1 * s2 * c3 + s1 * s3,
        s1 * c2, s1 * s2 * s3 + c1 * c3, s1 * s2 * c3 - c1 * s3,
        -s2, c2 * s3, c2 * c3,
    )  # fmt: skip


@inline
def ypr_motion(m, d, j, R, arm):
    # the columns of RBDA eq 4.8
    q, v = m.jnt_qposadr_all[j], m.jnt_dofadr_all[j]
    c2, s2, c3, s3, distance = _pitch_roll(d.qpos_all, q)
    d.nsingular = d.nsingular + select(distance < NEAR_SINGULAR, 1, 0)
    write_turn(d.cdof_all, v, mat_vec(R, (-s2, c2 * s3, c2 * c3)), arm)
    write_turn(d.cdof_all, v + 1, mat_vec(R, (0.0, c3, -s3)), arm)
    write_turn(d.cdof_all, v + 2, (R[0], R[3], R[6]), arm)


@inline
def _pitch_roll(qpos, q):
    """Return cos and sin of pitch and of roll, and |cos(pitch)|.

    The first cos(pitch) is at least SINGULAR in size.
    """
    pitch, roll = qpos[q + 1], qpos[q + 2]
    c2 = np.cos(pitch)
    distance = select(c2 < 0.0, -c2, c2)
    away = select(c2 < 0.0, -SINGULAR, SINGULAR)
    kept = select(distance < SINGULAR, away, c2)
    return kept, np.sin(pitch), np.cos(roll), np.sin(roll), distance


@inline
def _distance(m, d, j):
    """Return |cos(pitch)| of a yaw-pitch-roll joint."""
    return abs(np.cos(d.qpos_all[m.jnt_qposadr_all[j] + 1]))


@kernel
def _angular_velocity(m, d, j, h, out):
    """Write w + h dw/dt of a yaw-pitch-roll joint, at qvel and qacc_step (RBDA eq 4.8, 4.9)."""
    v = m.jnt_dofadr_all[j]
    c2, s2, c3, s3, _ = _pitch_roll(d.qpos, m.jnt_qposadr_all[j])
    v1, v2, v3 = d.qvel[v], d.qvel[v + 1], d.qvel[v + 2]
    a1, a2, a3 = d.qacc_step[v], d.qacc_step[v + 1], d.qacc_step[v + 2]
    yaw, pitch, roll = v1 + h * a1, v2 + h * a2, v3 + h * a3
    c_x = -c2 * v1 * v2
    c_y = -s2 * s3 * v1 * v2 + c2 * c3 * v1 * v3 - s3 * v2 * v3
    c_z = -s2 * c3 * v1 * v2 - c2 * s3 * v1 * v3 - c3 * v2 * v3
    out[v] = -s2 * yaw + roll + h * c_x
    out[v + 1] = c2 * s3 * yaw + c3 * pitch + h * c_y
    out[v + 2] = c2 * c3 * yaw - s3 * pitch + h * c_z


@kernel
def _angle_rates(m, d, j, w):
    """Write to qvel the angle rates of a yaw-pitch-roll joint with angular velocity w."""
    v = m.jnt_dofadr_all[j]
    c2, s2, c3, s3, _ = _pitch_roll(d.qpos, m.jnt_qposadr_all[j])
    yaw = (s3 * w[v + 1] + c3 * w[v + 2]) / c2
    d.qvel[v] = yaw
    d.qvel[v + 1] = c3 * w[v + 1] - s3 * w[v + 2]
    d.qvel[v + 2] = w[v] + s2 * yaw


@inline
def _turns_freely(m, j):
    return m.jnt_type[j] == YPR and m.jnt_class[j] == FREE


@kernel
def keep_turning(m, d, h):
    """Store in rk_rate the angular velocities of yaw-pitch-roll joints after the step.

    Close to the singularity the angle rates are huge, and the rates of one position are wrong at
    the next position, while the angular velocity is continuous.
    """
    for j in range(m.njnt):
        if _turns_freely(m, j):
            _angular_velocity(m, d, j, h, d.rk_rate)


@kernel
def resume_turning(m, d):
    """Set the angle rates at the new position from the angular velocities in rk_rate."""
    for j in range(m.njnt):
        if _turns_freely(m, j):
            _angle_rates(m, d, j, d.rk_rate)


@kernel
def near_singular(m, d):
    """Return whether a trial state of the step can be too close to a joint's singularity."""
    near = False
    if m.nypr > 0:
        for j in range(m.njnt):
            if _turns_freely(m, j):
                v = m.jnt_dofadr_all[j]
                rates = abs(d.qvel[v]) + abs(d.qvel[v + 1]) + abs(d.qvel[v + 2])
                # in experiments with 1 to 8 rad/s and steps of 1 to 5 ms, five steps sufficed
                reach = max(NEAR_SINGULAR, 5.0 * m.opt.timestep * rates)
                near = near or _distance(m, d, j) < reach
    return near
