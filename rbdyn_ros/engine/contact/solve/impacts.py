# SPDX-License-Identifier: Apache-2.0
"""The work of contacts in a step: an impact with restitution must not add energy.

With restitution e a contact separates with e times its closing speed, whatever friction does.
Friction that reverses the slip can then add energy (Kane, Levinson, Dynamics: theory and
applications, 1985). Impulses P change the kinetic energy by P . (v + u) / 2, with the velocities v
before and u after. Without restitution this is at most zero. If each contact has the share s of
its e, it is convex in s as long as the same contacts press and slip. So the share at which the
chord between two shares is zero adds no energy.

In robots the Coriolis forces c matter too. Because they are evaluated at the start of the step,
they change the energy by h (u . c(u) - (v + u) / 2 . c). This is of the order of h |w| times the
energy of the impact, with the angular velocity w.

Source: Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    add6,
    add_scaled3,
    add_scaled6,
    dot3,
    dot6,
    inertia_times,
    load6,
    load10,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import wrench_at_end
from rbdyn_ros.engine.contact.law.contact_constants import rebound
from rbdyn_ros.engine.contact.law.patches import spin_of
from rbdyn_ros.engine.contact.points.start import velocity_of
from rbdyn_ros.engine.contact.solve.passes import relative_acceleration
from rbdyn_ros.engine.tree.flight import is_single
from rbdyn_ros.engine.tree.kinematics import com_vel
from rbdyn_ros.engine.tree.rne import bias_force
from rbdyn_ros.model.declared.contact_arrays import IS_SPRING, NORMAL, REBOUNDS
from rbdyn_ros.model.declared.options import IMPLICIT, IMPLICIT_MIDPOINT

#: Work below this part of the impulses' work with the starting velocities counts as zero.
NO_WORK = 1e-6


@kernel
def work_of_impacts(m, d):
    """Return the mean power of rigid contacts in the step; rounding errors count as zero."""
    total, size = 0.0, 0.0
    for c in range(d.ncon):
        if d.contact_spring[c, IS_SPRING] > 0.0 and d.contact_spring[c, REBOUNDS] == 0.0:
            continue
        there, turn = relative_acceleration(d, c, d.a)
        half, v, w = 0.5 * m.opt.timestep, velocity_of(m, d, c), spin_of(d, c)
        f, torque = wrench_at_end(d, c)
        total += dot3(f, add_scaled3(v, there, half)) + dot3(torque, add_scaled3(w, turn, half))
        size += abs(dot3(f, v)) + abs(dot3(torque, w))
    if m.nbody - 1 > m.nflight:
        total += _power_of_coriolis(m, d)
    return total if abs(total) > NO_WORK * size else 0.0


@kernel
def _power_of_coriolis(m, d):
    """Return the mean power that the Coriolis forces of the step add to the bodies of robots.

    u . c(u) is cancelled by the change of M as the joints move on. The implicit integrators have
    c(v) + 2 s (c(v, u) - c(v)), with c(v, u) = 2 c((v + u) / 2) - (c(v) + c(u)) / 2.
    """
    s = 0.0
    if m.opt.integrator_id >= IMPLICIT and d.nmutual == 0:
        s = 0.5 if m.opt.integrator_id == IMPLICIT_MIDPOINT else 1.0
    for k in range(m.nv):
        d.rk_rate[k] = d.qvel[k]
    power = (3.0 * s - 1.0) * _power(m, d, 0.5)
    if s > 0.0:
        _take_velocity(m, d, 0.5)
        power -= 4.0 * s * _power(m, d, 0.0)
    _take_velocity(m, d, 1.0)
    power += _power(m, d, 0.0) + s * _power(m, d, -0.5)
    _take_velocity(m, d, 0.0)
    return power


@inline
def _take_velocity(m, d, share):
    """Write qvel and the bias forces after a share of the step; rk_rate holds the first qvel."""
    for k in range(m.nv):
        d.qvel[k] = d.rk_rate[k] + share * m.opt.timestep * d.qacc_step[k]
    com_vel(m, d)
    bias_force(m, d)


@kernel
def _power(m, d, share):
    """Return the power of the Coriolis forces at the velocities after a share of the step."""
    g, total = m.opt.gravity, 0.0
    gravity = (0.0, 0.0, 0.0, g[0], g[1], g[2])
    for i in range(1, m.nbody):
        if not is_single(m, d, i):
            f = add6(load6(d.cfrc_bias, i), inertia_times(load10(d.cinert, i), gravity))
            v = add_scaled6(load6(d.cvel, i), load6(d.a, i), share * m.opt.timestep)
            total += dot6(f, v)
    return total


@inline
def any_rebounds(d):
    """Return whether any contact bounces."""
    found = False
    for c in range(d.ncon):
        found = found or d.contact_spring[c, REBOUNDS] > 0.0
    return found


@kernel
def weaken_rebounds(m, d, share):
    """Multiply the restitution of all contacts that bounce by `share`."""
    for c in range(d.ncon):
        if d.contact_spring[c, REBOUNDS] > 0.0:
            rebound(m, d, c, d.contact_vel[c, NORMAL], share)
