"""The work of contacts in a step: an impact with restitution and friction must not add energy.

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

#: Work that counts as none, as a part of what the impulses would do at the start of the step.
NO_WORK = 1e-6


@kernel
def work_of_impacts(m, d):
    """Return the mean power of rigid contacts in the step; zero without restitution.

    Rounding errors count as zero.
    """
    total, size = 0.0, 0.0
    if not _any_bounces(m, d):
        return 0.0
    for c in range(d.ncon):
        if d.contact_spring[c, IS_SPRING] > 0.0 and not bounces(m, d, c, _leaving(d, c)):
            continue
        there, turn = moved_contact(d, c, d.a)
        half, f, v = 0.5 * m.opt.timestep, load3(d.contact_force, c), velocity_of(m, d, c)
        total += dot3(f, add_scaled3(v, there, half))
        size += abs(dot3(f, v))
        if has_torque(d, c):
            torque, w = load3(d.contact_torque, c), spin_of(d, c)
            total += dot3(torque, add_scaled3(w, turn, half))
            size += abs(dot3(torque, w))
    return total if abs(total) > NO_WORK * size else 0.0


@inline
def _any_bounces(m, d):
    found = False
    for c in range(d.ncon):
        found = found or bounces(m, d, c, _leaving(d, c))
    return found


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
