# SPDX-License-Identifier: Apache-2.0
"""The force of dry friction and joint limits ("stops") on a dof at a velocity.

With u the velocity of the dof at the end of the step,

    friction = memory - D u, at most dof_frictionloss in either direction
    limit    = max(0, push - slope u), with the opposite signs for an upper limit

The memory is the friction of the step before. A step without motion has u = (memory - friction) /
D, so a joint that holds a constant load does not move, for any D. A change of the load causes 1e-6
of its full effect on u, which is then set to zero.

A limit is nearly rigid and also remembers its force. Inside the range, push = slope beyond / h,
with a negative `beyond`, makes a step end exactly on the limit. On the limit push = memory, so a
joint that is pressed against its limit stands still. The same holds farther beyond the limit while
the joint moves outwards or its load is more than the softer force can carry. Otherwise a joint
farther beyond than AT_LIMIT returns with the time constant RETURN, at most at the speed EMERGE,
under the softer force. So joints do not bounce, a joint that is set beyond its limit returns
slowly, and a joint that is held there receives no large force. A drive mode overrides limits. If
the time constant t of jnt_solref is longer than a step, k = I / (t z)^2 and b = 2 I / t are as in
the smooth law (passive.py). Then push and slope are computed as for a spring (one_sided.py),
linearised about the motion of I alone.

stick_qfrc is the sum of friction and limit force; the part above dof_frictionloss is the limit's.

A limited ball joint has one such limit, along the axis of its rotation from zero.

Source: Cundall, Strack, A discrete numerical model for granular assemblies, 1979 (memory);
Rockafellar, Monotone operators and the proximal point algorithm, 1976 (why rest is exact).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import dot3, load3, store3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.manifold import ball_angle
from rbdyn_ros.engine.stops.one_sided import spring_of_mass
from rbdyn_ros.model.declared.options import FORCE

#: Pieces of the friction law in which the joint slides: friction pushes along or against the
#: coordinate. In piece 0 friction holds the joint.
ALONG, AGAINST = 1, 2

#: Number that is added to a piece while the lower or the upper limit pushes.
LOW, HIGH = 3, 6

#: Columns of stop_spring: the pushes of both limits, their slopes, and the remembered friction.
LOWER, UPPER, LOWER_SLOPE, UPPER_SLOPE, REMEMBERED = 0, 1, 2, 3, 4

#: Push of a limit that does not exist.
NEVER = -1e300

#: D = STICK I / h, with I = dof_inertia0.
STICK = 1e6

#: slope = RIGID I / h of a nearly rigid limit.
RIGID = 1e6

#: slope = SOFTER I / h of a limit that is exceeded.
SOFTER = 20.0

#: Time constant [s] of a joint that comes back into its range.
RETURN = 0.1

#: Largest speed [rad/s or m/s] at which a joint returns to its range, and at which a stiff contact
#: leaves an obstacle, so that objects placed inside an obstacle do not shoot out.
EMERGE = 0.3

#: A joint up to this far [rad or m] beyond its limit counts as at the limit.
AT_LIMIT = 1e-6

#: Values of stop_place: where a dof is relative to its limits.
INSIDE, AT, BEYOND = 0, 1, 2


@inline
def exact_stops(m, d):
    """Return whether the Model has dry friction or joint limits, and opt.exact_stops applies."""
    exact = m.opt.exact_stops != 0 and d.step_stage == 0
    return exact and m.nstop > 0 and m.opt.passive != 0


@kernel
def find_stops(m, d):
    """Write the constants of the step and nstopped; add the present forces to qfrc_passive.

    nstopped counts the dofs that are held by friction, are at a limit, or reach a limit in the
    step at their present velocity. A step needs the solver only if such dofs exist.
    """
    for k in range(m.nv):
        d.passive_rest[k] = d.qfrc_passive[k]
        d.stop_slope[k] = 0.0
        d.stop_place[k] = INSIDE
        spring = d.stop_spring[k]
        spring[LOWER] = spring[UPPER] = NEVER
        spring[LOWER_SLOPE] = spring[UPPER_SLOPE] = 0.0
        spring[REMEMBERED] = _friction_of(m, d, k, 0.0)
    for j in range(m.njnt):
        if m.jnt_limited[j] and m.jnt_dofnum[j] == 1:
            k, q = m.jnt_dofadr[j], d.qpos[m.jnt_qposadr[j]]
            _write_limit(m, d, j, k, q, m.jnt_range[j, 0], m.jnt_range[j, 1])
    for c in range(m.nlimit):
        k = m.limit_dofid[c]
        j = m.dof_jntid[k]
        q = d.qpos[m.jnt_qposadr[j] + k - m.jnt_dofadr[j]]
        _write_limit(m, d, j, k, q, m.limit_range[c, 0], m.limit_range[c, 1])
    d.nstopped = 0
    if m.ncone > 0 and d.accelerate_stage != 0:
        _find_cones(m, d)
    for k in range(m.nv):
        if has_stop(m, d, k):
            friction, _limit, slope, _p = stop_force(m, d, k, d.qvel[k])
            d.qfrc_passive[k] += friction
            if slope > 0.0 or d.stop_place[k] != INSIDE:
                d.nstopped = d.nstopped + 1


@inline
def _write_limit(m, d, j, k, q, lower, upper):
    """Write the pushes of a dof's limits, and stop_place; add the present forces of the limits."""
    spring, inertia, v = d.stop_spring[k], m.dof_inertia0[k], d.qvel[k]
    if d.drive_mode[k] != FORCE:
        return
    rest = d.stick_qfrc[k] - spring[REMEMBERED]  # the part of the force that the limit carried
    spring[LOWER], spring[LOWER_SLOPE], below, low = _spring(m, j, inertia, lower - q, -v, rest)
    spring[UPPER], spring[UPPER_SLOPE], above, high = _spring(m, j, inertia, q - upper, v, -rest)
    d.qfrc_passive[k] += below - above
    d.stop_place[k] = max(low, high)
    if is_soft(m, j):  # a soft limit has no memory
        spring[REMEMBERED] = _friction_of(m, d, k, below - above)


@inline
def _friction_of(m, d, k, limit):
    """Return the part of stick_qfrc that was friction and not the force of a limit."""
    most = m.dof_frictionloss[k]
    return min(max(d.stick_qfrc[k] - limit, -most), most)


@inline
def is_soft(m, j):
    """Return whether the limit of a joint is a spring."""
    return m.jnt_solref[j, 0] > m.opt.timestep / np.pi


@inline
def _spring(m, j, inertia, beyond, speed, memory):
    """Return push and slope of a limit, its force at the present state, and INSIDE, AT or BEYOND.

    beyond: distance past the limit; speed: its rate; memory: force of the limit in the last step.
    AT means that the limit holds the joint where it is.
    """
    h, t, ratio = m.opt.timestep, m.jnt_solref[j, 0], m.jnt_solref[j, 1]
    if is_soft(m, j):
        k, b = inertia / (t * t * ratio * ratio), 2.0 * inertia / t
        now = max(0.0, k * beyond + b * speed) if beyond > 0.0 else 0.0
        if beyond < 0.0 and beyond + h * speed <= 0.0:
            return NEVER, 0.0, now, INSIDE
        push, slope = spring_of_mass(k, b, inertia / h, h, -beyond, -speed)
        return push, slope, now, BEYOND if beyond >= 0.0 else INSIDE
    slope, memory = RIGID * inertia / h, max(memory, 0.0)
    if beyond < 0.0:
        return max(slope * beyond / h, NEVER), slope, 0.0, INSIDE
    softer = SOFTER * inertia / h
    if beyond <= AT_LIMIT or h * speed > AT_LIMIT or memory > softer * EMERGE:
        return memory, slope, memory, AT
    push = memory + softer * min((beyond - AT_LIMIT) / RETURN, EMERGE)
    return push, softer, memory, BEYOND


@kernel
def ends_beyond_limit(m, d):
    """Return whether a joint is at or beyond a limit at the end of the step.

    Overwrites qfrc_passive and the stop_ and cone_ fields with values of the present state.
    """
    for k in range(m.nv):
        d.qfrc_passive[k] = 0.0
    find_stops(m, d)
    found = False
    for k in range(m.nv):
        found = found or d.stop_place[k] != INSIDE
    for c in range(m.ncone):
        found = found or d.cone_beyond[c] >= 0.0
    return found


@inline
def has_stop(m, d, k):
    """Return whether a dof has dry friction or a limit."""
    spring = d.stop_spring[k]
    return m.dof_frictionloss[k] > 0.0 or spring[LOWER_SLOPE] > 0.0 or spring[UPPER_SLOPE] > 0.0


@inline
def stop_force(m, d, k, u):
    """Return the friction and limit force of a dof at velocity u, -df / du, and the piece.

    The law is linear in each of its pieces. Friction holds (0), or pushes ALONG or AGAINST the
    coordinate; LOW or HIGH is added if a limit pushes.
    """
    friction, limit, slope, piece, most = 0.0, 0.0, 0.0, 0, m.dof_frictionloss[k]
    if most > 0.0:
        penalty = stiction_slope(m, k)
        friction = d.stop_spring[k, REMEMBERED] - penalty * u
        if abs(friction) < most:
            slope = penalty
        else:
            friction, piece = (most, ALONG) if friction > 0.0 else (-most, AGAINST)
    low, high = limit_pushes(d, k, u)
    if low > 0.0:
        limit, slope, piece = limit + low, slope + d.stop_spring[k, LOWER_SLOPE], piece + LOW
    if high > 0.0:
        limit, slope, piece = limit - high, slope + d.stop_spring[k, UPPER_SLOPE], piece + HIGH
    return friction, limit, slope, piece


@inline
def limit_pushes(d, k, u):
    """Return the forces of both limits of a dof at velocity u; below 0 a limit does not act."""
    spring = d.stop_spring[k]
    return spring[LOWER] - spring[LOWER_SLOPE] * u, spring[UPPER] + spring[UPPER_SLOPE] * u


@inline
def stiction_slope(m, k):
    """Return D of a dof, the slope of the friction that holds it."""
    return STICK * m.dof_inertia0[k] / m.opt.timestep


@kernel
def _find_cones(m, d):
    """Write the cone_ fields, add the present forces, and return how many cones act."""
    c = 0
    for j in range(m.njnt):
        if m.jnt_limited[j] and m.jnt_dofnum[j] == 3:
            k = m.jnt_dofadr[j]
            axis, angle = ball_angle(d.qpos, m.jnt_qposadr[j])
            inertia = max(m.dof_inertia0[k], m.dof_inertia0[k + 1], m.dof_inertia0[k + 2])
            speed = memory = 0.0
            for n in range(3):
                along = axis[0] if n == 0 else axis[1] if n == 1 else axis[2]
                speed += along * d.qvel[k + n]
                memory -= along * (d.stick_qfrc[k + n] - d.stop_spring[k + n, REMEMBERED])
            beyond = angle - m.jnt_range[j, 1]
            push, slope, now = _cone_spring(m, j, inertia, beyond, speed, memory)
            store3(d.cone_axis, c, axis)
            d.cone_dof[c], d.cone_beyond[c] = k, beyond
            d.cone_spring[c, 0], d.cone_spring[c, 1], d.cone_slope[c] = push, slope, 0.0
            for n in range(3):
                along = axis[0] if n == 0 else axis[1] if n == 1 else axis[2]
                d.qfrc_passive[k + n] -= now * along
                d.stop_spring[k + n, REMEMBERED] = _friction_of(m, d, k + n, -now * along)
            if beyond >= 0.0 or push + slope * speed > 0.0:
                d.nstopped = d.nstopped + 1
            c += 1


@inline
def _cone_spring(m, j, inertia, beyond, speed, memory):
    """Return the push and slope of a ball joint's limit, and the limit's force at this state.

    A step follows a straight line, so a joint that slides around its cone moves beyond it. The
    next step removes half of this error, at most at the speed EMERGE, so the limit needs no
    memory. A joint that is far beyond and does not move outwards returns like any other joint.
    """
    h = m.opt.timestep
    slope, softer = RIGID * inertia / h, SOFTER * inertia / h
    back = 0.5 * beyond / h
    near = back <= EMERGE or h * speed > AT_LIMIT
    if beyond >= 0.0 and near and not is_soft(m, j):
        push = slope * min(back, EMERGE)
        return push, slope, push
    memory = min(memory, softer * EMERGE)
    push, slope, now, _place = _spring(m, j, inertia, beyond, speed, memory)
    return push, slope, now


@inline
def cone_force(d, c, u):
    """Return the force of a ball joint's limit, against the axis, at speed u, and its slope."""
    force = d.cone_spring[c, 0] + d.cone_spring[c, 1] * u
    return (force, d.cone_spring[c, 1]) if force > 0.0 else (0.0, 0.0)


@inline
def along_cone(d, c, x):
    """Return the component of x (nv,) along the axis of a cone."""
    k = d.cone_dof[c]
    return dot3(load3(d.cone_axis, c), (x[k], x[k + 1], x[k + 2]))
