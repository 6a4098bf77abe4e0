# SPDX-License-Identifier: Apache-2.0
"""The potential of dry friction and joint limits along the search direction of a solver.

Friction and limit forces are the gradient of a convex potential. So are contact forces, for given
lagged forces. The line searches of the solvers (stop_solver.py, contact/solve/line_search.py) need
its directional derivative between the iterate and the end of the last pass.
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.stops.stop_law import along_cone, cone_force, has_stop, stop_force
from rbdyn_ros.engine.stops.stop_pieces import cone_force_used, force_used

#: A line search ends when the slope along the line is at most this part of the slope at its start.
SLOPE_TOLERANCE = 0.1


@kernel
def potential_slope(m, d, share):
    """Return the derivative of the potential at a share of the way from iterate to last pass.

    Valid only without contact. The momentum term is linear in `share`, so it is interpolated: at
    the iterate it equals stop_qfrc, and at the end the force of the last pass.
    """
    h, total = m.opt.timestep, 0.0
    for k in range(m.nv):
        if has_stop(m, d, k):
            step = h * d.qacc_step[k] - d.stop_change[k]
            at = d.qvel[k] + d.stop_change[k] + share * step
            friction, limit, _s, _p = stop_force(m, d, k, at)
            momentum = d.stop_qfrc[k] + share * (force_used(m, d, k) - d.stop_qfrc[k])
            total += step * (momentum - friction - limit)
    for c in range(m.ncone):
        change = along_cone(d, c, d.stop_change)
        step = h * along_cone(d, c, d.qacc_step) - change
        force, _s = cone_force(d, c, along_cone(d, c, d.qvel) + change + share * step)
        momentum = d.cone_qfrc[c] + share * (cone_force_used(m, d, c) - d.cone_qfrc[c])
        total += step * (force - momentum)
    return total


@kernel
def stop_work(m, d, share):
    """Return the sum of force times step over dofs, with the forces after a share of the step."""
    h, total = m.opt.timestep, 0.0
    for k in range(m.nv):
        if has_stop(m, d, k):
            step = h * d.qacc_step[k] - d.stop_change[k]
            at = d.qvel[k] + d.stop_change[k] + share * step
            friction, limit, _s, _p = stop_force(m, d, k, at)
            total += (friction + limit) * step
    for c in range(m.ncone):
        change = along_cone(d, c, d.stop_change)
        step = h * along_cone(d, c, d.qacc_step) - change
        force, _s = cone_force(d, c, along_cone(d, c, d.qvel) + change + share * step)
        total -= force * step
    return total


@kernel
def stop_work_used(m, d):
    """Return the sum of force times step over dofs, with the forces of the last pass."""
    h, total = m.opt.timestep, 0.0
    for k in range(m.nv):
        if has_stop(m, d, k):
            total += force_used(m, d, k) * (h * d.qacc_step[k] - d.stop_change[k])
    for c in range(m.ncone):
        step = h * along_cone(d, c, d.qacc_step) - along_cone(d, c, d.stop_change)
        total -= cone_force_used(m, d, c) * step
    return total
