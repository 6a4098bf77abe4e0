# SPDX-License-Identifier: Apache-2.0
"""The force, in a step, of a spring-damper that only pushes, as in a contact or a joint limit.

Contact can begin and end within a step, so the force of a step differs from the force at its
start. With q the distance (negative inside), and q0 = q - h v and q1 = q + h u its values a step
earlier and later,

    f = -k q                     if all three are inside
    f = -k q q1 / (q1 - q0)      if q0 is outside
    f = -k q q0 / (q0 - q1)      if q1 is outside

Then m (u^2 - v^2) / 2 = k (q0 q - q q1) / 2, with zero for a q0 or q1 outside. So a spring without
damping returns the full speed for any timestep, also in systems of many bodies and contacts.

A damper acts at the mean of v and u. Its force jumps when the contact begins, so it acts from that
moment on; the force of a step represents half a step before and half a step after its start. With
a damper the contact ends when the sum of both forces is zero, instead of when q is zero.

A step resolves h^2 k <= m and h b <= 2 m. If a spring is stiffer, the part of h k above m / h acts
as a damper. The part of b above 2 m / h acts at the end of the step. Both are stable.

Source: Gonzalez, Time integration and discrete Hamiltonian systems, 1996 (a force that is the
slope of the potential between two positions); Hairer, Lubich, Wanner, Geometric numerical
integration illustrated by the Stoermer-Verlet method, 2003 (two steps).
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline

#: Least width of the transition at the edge of contact, as a part of the motion inside.
NARROW = 0.01

#: Number of Newton steps for the velocity of a single mass. Few suffice, because the force is
#: convex or concave.
NEWTON_STEPS = 8


@inline
def late_slopes(k, b, by_h, h):
    """Return the parts of the damper and of the spring that act at the end of a step.

    They are slopes of the force by the velocity; by_h is the mass over h.
    """
    return max(0.5 * b, b - by_h), max(0.0, h * k - by_h)


@inline
def spring_in_step(k, b, by_h, h, dist, leaving):
    """Return the push, slope, edge and width of a spring-damper at `dist` with speed `leaving`.

    by_h: mass / h. The force at u is push - slope u; if width is not 0, see `at_its_edge`.
    """
    late, beyond = late_slopes(k, b, by_h, h)
    before, push, edge, width = dist - h * leaving, -k * dist, 0.0, 0.0
    if dist >= 0.0:
        part = max(0.0, 0.5 + dist / (h * leaving)) if dist + h * leaving < 0.0 else 0.0
        push = push if beyond > 0.0 else 0.0
    elif before > 0.0:
        part, edge = min(1.0, 0.5 + dist / (h * leaving)), -dist / h
        width = -max(before, -NARROW * dist) / h
    else:
        part, ahead = 1.0, h * k + b
        edge = push / ahead
        width = max(push + (h * k - b) * leaving, NARROW * push) / ahead
    return push - part * (b - late) * leaving, part * late + beyond, edge, width


@inline
def at_its_edge(force, slope, spring, past, width):
    """Return force and slope of a spring-damper in its first (width < 0) or last step of contact.

    Args:
        force: push - slope u.
        slope: derivative of -`force` by u.
        spring: -k q.
        past: u - edge.
        width: width of the transition, see spring_in_step.
    """
    if width > 0.0:
        if past <= 0.0:
            return force, slope
        part = width / (width + past)
        return force * part, (slope + max(force, 0.0) / (width + past)) * part
    if past >= 0.0:
        return force - spring, slope
    part = width / (width + past)
    return force - spring * part, slope - spring * part * part / width


@inline
def spring_of_mass(k, b, by_h, h, dist, leaving):
    """Return push and slope of the force in a step, linearised at the motion of a single mass."""
    push, slope, edge, width = spring_in_step(k, b, by_h, h, dist, leaving)
    if width == 0.0:
        return push, slope
    u, force, steep = leaving, push - slope * leaving, slope
    for _ in range(NEWTON_STEPS):
        force, steep = at_its_edge(push - slope * u, slope, -k * dist, u - edge, width)
        if force <= 0.0:
            force = steep = 0.0
        u -= (by_h * (u - leaving) - force) / (by_h + steep)
    return force + steep * u, steep
