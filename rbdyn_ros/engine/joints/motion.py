# SPDX-License-Identifier: Apache-2.0
"""The motion of driven joints as a function of time: sigma in v_J = S qd + sigma(t).

A driven joint has no free coordinate. Its coordinates come after the free coordinates in qpos_all,
qvel_all and qacc_all, where jcalc and the bias acceleration read them. A mimic joint of a driven
joint is driven too. Source: RBDA eq 3.30.
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.callbacks import call
from rbdyn_ros.model.declared.joints import JointClass

DRIVEN = int(JointClass.DRIVEN)


@kernel
def drive(m, d):
    """Write the driven part of qpos_all, qvel_all and qacc_all for the present time."""
    for j in range(m.njnt):
        q, v = m.jnt_qposadr_all[j], m.jnt_dofadr_all[j]
        if m.jnt_class[j] == DRIVEN and m.jnt_mimic[j] < 0:
            if m.jnt_motion[j] != 0:
                d.drive_time[0] = _time(m, d, j)
                target = d.qpos_all[q:], d.qvel_all[v:], d.qacc_all[v:]
                call(m.jnt_motion[j], d.drive_time, target[0], target[1], target[2])
            else:
                for k in range(m.jnt_dofnum[j]):
                    _evaluate(m, d, v - m.nv + k, _time(m, d, j))
            if _is_locked(m, d, j):
                for k in range(m.jnt_dofnum[j]):
                    d.qvel_all[v + k] = 0.0
                    d.qacc_all[v + k] = 0.0
    for j in range(m.njnt):
        v = m.jnt_dofadr_all[j]
        if m.jnt_class[j] == DRIVEN and m.jnt_mimic[j] >= 0:
            r, driven = m.jnt_mimic_ratio[j], m.jnt_dofadr[j]
            q = r * d.qpos_all[m.jnt_qposadr[j]] + m.jnt_mimic_offset[j]
            d.qpos_all[m.jnt_qposadr_all[j]] = q
            d.qvel_all[v] = r * d.qvel_all[driven]
            d.qacc_all[v] = r * d.qacc_all[driven]


@inline
def _is_locked(m, d, j):
    return m.nefc > 0 and d.drive_locked[j] == 1


@inline
def _time(m, d, j):
    """Return the time of a drive.

    A locked drive stays at the time at which it stopped (step/locks.py).
    """
    return d.drive_stop[j] if _is_locked(m, d, j) else d.time


@kernel
def _evaluate(m, d, c, time):
    """Write the position, velocity and acceleration of driven coordinate c at a time."""
    first, number = m.drive_knotadr[c], m.drive_knotnum[c]
    begin, end = m.knot_time[first], m.knot_time[first + number - 1]
    if m.drive_period[c] > 0.0:
        time = begin + (time - begin) % m.drive_period[c]
    time = min(max(time, begin), end)
    low, high = first, first + number - 1  # bisection, with knot_time[low] <= time
    while low < high:
        middle = (low + high + 1) // 2
        if m.knot_time[middle] <= time:
            low = middle
        else:
            high = middle - 1
    x, p, v, a = time - m.knot_time[low], 0.0, 0.0, 0.0
    for n in range(5, -1, -1):  # Horner's rule, for the polynomial and two derivatives
        a = a * x + 2.0 * v
        v = v * x + p
        p = p * x + m.knot_coef[low, n]
    d.qpos_all[m.nq + c] = p
    d.qvel_all[m.nv + c] = v
    d.qacc_all[m.nv + c] = a
