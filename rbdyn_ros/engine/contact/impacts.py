"""The work of contacts in a step, which an impact with restitution and friction must not add.

Restitution e gives a contact -e times its speed, whatever friction does, and friction that turns
the slip around can then add energy (Kane, Levinson, Dynamics: theory and applications, 1985).
Impulses P change the kinetic energy by P . (v + u) / 2. Without restitution this is at most zero,
and with the share s of each contact's e it is convex in s as long as the same contacts press and
slip. So the share at which the chord between two shares is zero adds no energy.

Source: Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988.
"""

from __future__ import annotations

from rbdyn_ros.engine.contact.contact_constants import bounces, rebound
from rbdyn_ros.engine.contact.law import IS_SPRING, has_torque
from rbdyn_ros.engine.contact.passes import moved_contact
from rbdyn_ros.engine.contact.start import spin_of, velocity_of
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import add_scaled3, dot3, load3

#: Work that counts as none, as a part of the work of all forces.
NO_WORK = 1e-6


@kernel
def work_of_impacts(m, d):
    """Return the mean power of rigid contacts in the step, zero if none has restitution.

    Rounding errors count as zero.
    """
    total, size, found = 0.0, 0.0, False
    for c in range(d.ncon):
        found = found or bounces(m, d, c, _leaving(d, c))
    if not found:
        return 0.0
    for c in range(d.ncon):
        if d.contact_spring[c, IS_SPRING] == 0.0 or bounces(m, d, c, _leaving(d, c)):
            there, turn = moved_contact(d, c, d.a)
            half, f = 0.5 * m.opt.timestep, load3(d.contact_force, c)
            power = dot3(f, add_scaled3(velocity_of(m, d, c), there, half))
            if has_torque(d, c):
                w = add_scaled3(spin_of(d, c), turn, half)
                power += dot3(load3(d.contact_torque, c), w)
            total += power
            size += abs(power)
    return total if abs(total) > NO_WORK * size else 0.0


@kernel
def weaken_rebounds(m, d, share):
    """Let all contacts of an impact leave with a share of their restitution."""
    for c in range(d.ncon):
        leaving = _leaving(d, c)
        if bounces(m, d, c, leaving):
            rebound(m, d, c, leaving, share)


@inline
def _leaving(d, c):
    return dot3(load3(d.contact_normal, c), load3(d.contact_vel, c))
