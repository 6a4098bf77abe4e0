# SPDX-License-Identifier: Apache-2.0
"""The work of contacts in a step: an impact with restitution and friction must not add energy.

Restitution e gives a contact -e times its speed, whatever friction does, and friction that turns
the slip around can then add energy (Kane, Levinson, Dynamics: theory and applications, 1985).
Impulses P change the kinetic energy by P . (v + u) / 2. Without restitution this is at most zero,
and with the share s of each contact's e it is convex in s as long as the same contacts press and
slip. So the share at which the chord between two shares is zero adds no energy.

Source: Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import add_scaled3, dot3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import wrench_at_end
from rbdyn_ros.engine.contact.law.contact_constants import rebound
from rbdyn_ros.engine.contact.law.patches import spin_of
from rbdyn_ros.engine.contact.points.start import velocity_of
from rbdyn_ros.engine.contact.solve.passes import relative_acceleration
from rbdyn_ros.model.declared.contact_arrays import IS_SPRING, NORMAL, REBOUNDS

#: Work that counts as none, as a part of what the impulses would do at the start of the step.
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
    return total if abs(total) > NO_WORK * size else 0.0


@inline
def any_rebounds(d):
    """Return whether restitution acts at a contact."""
    found = False
    for c in range(d.ncon):
        found = found or d.contact_spring[c, REBOUNDS] > 0.0
    return found


@kernel
def weaken_rebounds(m, d, share):
    """Let all contacts of an impact leave with a share of their restitution."""
    for c in range(d.ncon):
        if d.contact_spring[c, REBOUNDS] > 0.0:
            rebound(m, d, c, d.contact_vel[c, NORMAL], share)
