"""Slopes of dry friction and limits that a step adds to M, if it needs M (aba.py adds to D)."""

from __future__ import annotations

from rbdyn_ros.engine.jit import kernel


@kernel
def add_stops(m, d, step):
    """Add step times stop_slope to the diagonal of qLD, and the limits of ball joints."""
    for k in range(m.nv):
        d.qLD[m.M_rowadr[k] + m.M_rownnz[k] - 1] += step * d.stop_slope[k]
    if m.ncone > 0:
        _add_cones(m, d, step)


@kernel
def _add_cones(m, d, step):
    c = 0
    for j in range(m.njnt):
        if m.jnt_limited[j] and m.jnt_dofnum[j] == 3:
            k, axis, slope = m.jnt_dofadr[j], d.cone_axis[c], step * d.cone_slope[c]
            for i in range(3):
                diagonal = m.M_rowadr[k + i] + m.M_rownnz[k + i] - 1
                for n in range(i + 1):
                    d.qLD[diagonal - i + n] += slope * axis[i] * axis[n]
            c += 1
