"""The force of dry friction and limits on a dof at a velocity.

With u the velocity of the dof at the end of the step,

    friction = memory - D u, at most dof_frictionloss in either direction
    limit    = max(0, push - slope u), for an upper limit the other way round

The memory is the friction of the step before. A step without motion has u = (memory - friction)
/ D, so a joint that holds a constant load does not move, for any D; what is left of u, 1e-6 of
what the change of the load would do, is then set to zero.

A limit is nearly rigid and remembers its force as well. Inside the range, push = slope beyond / h
with a negative `beyond` makes the step end on the limit; there, push = memory, so a joint that
leans on its limit stands still. What is farther beyond than NEAR comes back with the time constant
RETURN, at most at EMERGE and by a softer force: nothing bounces, a joint that is put there does
not shoot back, and one that something holds there is not broken. A drive mode overrules limits.
Where the time constant t of jnt_solref is longer than a step, k = I / (t z)^2 and b = 2 I / t are
those of the smooth law (passive.py), push = k beyond and slope = b + h k.

stick_qfrc is the sum of both: what exceeds dof_frictionloss was the limit's.

A limited ball joint has one such limit along the axis by which it is turned.

Source: Cundall, Strack, A discrete numerical model for granular assemblies, 1979 (memory);
Rockafellar, Monotone operators and the proximal point algorithm, 1976 (why rest is exact).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.joints.manifold import ball_angle
from rbdyn_ros.engine.spatial import dot3, load3, store3
from rbdyn_ros.model.options import FORCE

#: Pieces of the law of friction beside 0, in which it holds.
ALONG, AGAINST = 1, 2

#: What the lower and the upper limit add to them.
LOW, HIGH = 3, 6

#: Push of a limit that is not there.
NEVER = -1e300

#: D = STICK I / h, with I = dof_inertia0.
STICK = 1e6

#: slope = RIGID I / h of a nearly rigid limit.
RIGID = 1e6

#: slope = SOFTER I / h of one that is exceeded.
SOFTER = 20.0

#: Time constant [s] of a joint that comes back into its range.
RETURN = 0.1

#: Largest speed [rad/s or m/s] of that.
EMERGE = 0.3

#: Up to here beyond its limit [rad or m] a joint is at it.
NEAR = 1e-6


@inline
def exact_stops(m, d):
    """Return whether friction and limits of joints act exactly, not by the smooth law."""
    exact = m.opt.exact_stops != 0 and d.step_stage == 0
    return exact and m.nstop > 0 and m.opt.passive != 0


@kernel
def find_stops(m, d):
    """Write the constants of the step and nstopped; add the present forces to qfrc_passive.

    nstopped counts the dofs that stand still by friction, are at a limit, or reach one in the step
    if they keep their velocity. Only with them a step has to be solved.
    """
    for k in range(m.nv):
        d.passive_rest[k] = d.qfrc_passive[k]
        d.stop_slope[k] = 0.0
        d.stop_still[k] = d.stop_place[k] = 0
        spring, most = d.stop_spring[k], m.dof_frictionloss[k]
        spring[0] = spring[1] = NEVER
        spring[2] = 0.0
        spring[3] = min(max(d.stick_qfrc[k], -most), most)
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
    for k in range(m.nv):
        if has_stop(m, d, k):
            friction, _limit, slope, _p = stop_force(m, d, k, d.qvel[k])
            d.qfrc_passive[k] += friction
            if slope > 0.0 or d.stop_place[k] != 0:
                d.nstopped = d.nstopped + 1
    if m.ncone > 0 and d.accelerate_stage != 0:
        _find_cones(m, d)


@inline
def _write_limit(m, d, j, k, q, lower, upper):
    """Write the limits of a dof, and stop_place: 1 at a rigid limit, 2 farther beyond, else 0."""
    spring, inertia, v = d.stop_spring[k], m.dof_inertia0[k], d.qvel[k]
    if d.drive_mode[k] != FORCE:
        return
    rest = d.stick_qfrc[k] - spring[3]  # what a limit has carried beside friction
    spring[0], spring[2], below = _spring(m, j, inertia, lower - q, -v, rest)
    spring[1], spring[2], above = _spring(m, j, inertia, q - upper, v, -rest)
    d.qfrc_passive[k] += below - above
    beyond = max(lower - q, q - upper)
    if beyond >= 0.0:
        soft = m.jnt_solref[j, 0] > m.opt.timestep / np.pi
        d.stop_place[k] = 2 if soft or beyond > NEAR else 1


@inline
def _spring(m, j, inertia, beyond, speed, memory):
    """Return push and slope of a limit, and its force at the present position and velocity."""
    h, t, ratio = m.opt.timestep, m.jnt_solref[j, 0], m.jnt_solref[j, 1]
    if t > h / np.pi:
        k, b = inertia / (t * t * ratio * ratio), 2.0 * inertia / t
        push = k * beyond if beyond + h * speed > 0.0 else NEVER  # it acts where the joint is
        now = max(0.0, push + b * speed) if beyond > 0.0 else 0.0
        return push, b + h * k, now
    slope, memory = RIGID * inertia / h, max(memory, 0.0)
    if beyond < 0.0:
        return max(slope * beyond / h, NEVER), slope, 0.0
    if beyond <= NEAR:
        return memory, slope, memory
    slope = SOFTER * inertia / h
    memory = min(memory, slope * EMERGE)
    return memory + slope * min((beyond - NEAR) / RETURN, EMERGE), slope, memory


@kernel
def outside(m, d):
    """Return whether a joint is beyond a limit: the constants of a step are written anew."""
    for k in range(m.nv):
        d.qfrc_passive[k] = 0.0
    find_stops(m, d)
    found = False
    for k in range(m.nv):
        found = found or d.stop_place[k] != 0
    for c in range(m.ncone):
        found = found or d.cone_beyond[c] >= 0.0
    return found


@inline
def has_stop(m, d, k):
    """Return whether a dof has dry friction or a limit."""
    return m.dof_frictionloss[k] > 0.0 or d.stop_spring[k, 2] > 0.0


@inline
def stop_force(m, d, k, u):
    """Return friction and limit force of a dof at the velocity u, their slope -df / du, a piece.

    The law is linear in each of its pieces: friction holds (0), pushes ALONG or AGAINST the
    coordinate, and LOW and HIGH more where a limit pushes.
    """
    friction, limit, slope, piece, most = 0.0, 0.0, 0.0, 0, m.dof_frictionloss[k]
    if most > 0.0:
        penalty = grip(m, k)
        friction = d.stop_spring[k, 3] - penalty * u
        if abs(friction) < most:
            slope = penalty
        else:
            friction, piece = (most, ALONG) if friction > 0.0 else (-most, AGAINST)
    rise = d.stop_spring[k, 2]
    low, high = d.stop_spring[k, 0] - rise * u, d.stop_spring[k, 1] + rise * u
    if low > 0.0:
        limit, slope, piece = limit + low, slope + rise, piece + LOW
    if high > 0.0:
        limit, slope, piece = limit - high, slope + rise, piece + HIGH
    return friction, limit, slope, piece


@inline
def grip(m, k):
    """Return D of a dof."""
    return STICK * m.dof_inertia0[k] / m.opt.timestep


@kernel
def _find_cones(m, d):
    """Write the cone_ fields, add the present forces and count the cones that act."""
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
                memory -= along * (d.stick_qfrc[k + n] - d.stop_spring[k + n, 3])
            beyond = angle - m.jnt_range[j, 1]
            push, slope, now = _spring(m, j, inertia, beyond, speed, memory)
            store3(d.cone_axis, c, axis)
            d.cone_dof[c], d.cone_beyond[c] = k, beyond
            d.cone_spring[c, 0], d.cone_spring[c, 1], d.cone_slope[c] = push, slope, 0.0
            d.qfrc_passive[k] -= now * axis[0]
            d.qfrc_passive[k + 1] -= now * axis[1]
            d.qfrc_passive[k + 2] -= now * axis[2]
            if beyond >= 0.0 or push + slope * speed > 0.0:
                d.nstopped = d.nstopped + 1
            c += 1


@inline
def cone_force(d, c, u):
    """Return the force of a ball joint's limit against its axis at the speed u, and its slope."""
    force = d.cone_spring[c, 0] + d.cone_spring[c, 1] * u
    return (force, d.cone_spring[c, 1]) if force > 0.0 else (0.0, 0.0)


@inline
def along_cone(d, c, x):
    """Return the component of x (nv,) along the axis of a cone."""
    k = d.cone_dof[c]
    return dot3(load3(d.cone_axis, c), (x[k], x[k + 1], x[k + 2]))
