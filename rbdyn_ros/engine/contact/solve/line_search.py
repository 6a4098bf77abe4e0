# SPDX-License-Identifier: Apache-2.0
"""Line search of the contact solver: the share of the linearised step to take.

Without the line search the iteration can alternate between two sets of pressing or slipping
contacts.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    add_scaled6,
    dot3,
    dot6,
    inertia_times,
    load3,
    load6,
    load10,
    scaled3,
)
from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.contact.law.force import friction, has_torque, normal_force
from rbdyn_ros.engine.contact.solve.linearise import torque_at
from rbdyn_ros.engine.stops.stop_law import exact_stops
from rbdyn_ros.engine.stops.stop_potential import SLOPE_TOLERANCE, stop_work, stop_work_used
from rbdyn_ros.model.declared.contact_arrays import NORMAL

HALVINGS = 12

#: Number of halvings if joints can come to rest, in a narrow range of shares.
MORE_HALVINGS = 40


@kernel
def contact_line_search(m, d, gained, curve, before):
    """Return the share of contact_step to take: 1 unless the potential rises within the step.

    `gained`, `curve` and `before` are sums over the contacts, see compare_with_law. At the start
    of the step the slope of the potential is -(E + h curve), where E is twice the kinetic energy
    of the change. Bisection finds the share at which the slope is zero.
    """
    stops = exact_stops(m, d)
    if stops:
        here = stop_work(m, d, 0.0)
        gained += stop_work(m, d, 1.0) - here
        curve += here - stop_work_used(m, d)
        before += here
    if gained + curve >= -SLOPE_TOLERANCE * curve:
        return 1.0  # the terms of the contacts suffice to decide
    h = m.opt.timestep
    kinetic = _kinetic(m, d)
    start = kinetic + h * curve
    if -h * (gained + curve) <= SLOPE_TOLERANCE * start:
        return 1.0
    low, high, share = 0.0, 1.0, 1.0
    for _ in range(MORE_HALVINGS if stops else HALVINGS):
        share = 0.5 * (low + high)
        slope = share * kinetic - start - h * (_work(m, d, share) - before)
        if abs(slope) <= SLOPE_TOLERANCE * start:
            break
        if slope > 0.0:
            high = share
        else:
            low = share
    return share


@kernel
def _work(m, d, share):
    """Return the sum of f . step over contacts and stops, with f after a share of the step."""
    work = stop_work(m, d, share) if exact_stops(m, d) else 0.0
    for c in range(d.ncon):
        step, way = load3(d.contact_step, c), d.contact_step[c, NORMAL]
        u = add3(load3(d.contact_vel, c), load3(d.contact_change, c))
        lagged, leaving = d.contact_lagged[c, 0], d.contact_vel[c, NORMAL] + share * way
        force, _ = normal_force(d, c, leaving + d.contact_change[c, NORMAL])
        f, _s, _t = friction(d, c, add3(u, scaled3(step, share)), lagged)
        work += force * way + dot3(f, step)
        if has_torque(d, c):
            normal = load3(d.contact_normal, c)
            turn = load3(d.contact_spin_step, c)
            w = add3(load3(d.contact_spin, c), load3(d.contact_spin_change, c))
            work += dot3(torque_at(d, c, normal, add3(w, scaled3(turn, share)), lagged), turn)
    return work


@kernel
def _kinetic(m, d):
    """Return twice the kinetic energy of the change from the iterate to the solution."""
    h, total = m.opt.timestep, 0.0
    for i in range(1, m.nbody):
        change = add_scaled6(load6(d.a, i), load6(d.iterate_a, i), -1.0)
        total += dot6(change, inertia_times(load10(d.cinert, i), change))
    for k in range(m.nv):
        change = d.qacc_step[k] - d.iterate_qacc[k]
        total += (m.dof_armature[k] + h * d.dof_viscosity[k]) * change * change
    return total * h * h
