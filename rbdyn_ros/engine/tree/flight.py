# SPDX-License-Identifier: Apache-2.0
"""Free bodies in flight: the step conserves their energy and momentum.

A step of a single body on a free joint is a kick, then a drift. The kick changes the velocities by
the forces of the step, at the initial pose. In the drift the body moves without forces: its centre
of mass moves along a straight line, and the body rotates by exp(h W) with

    J (w' - w) = -h' W x J W,  W = (w + w') / 2,  h' = 2 tan(h |W| / 2) / |W|,

with J and w about the centre of mass, in body axes. The first equation conserves the energy w . J
w / 2, because its right side is normal to W. With this h' it also conserves the angular momentum:
R' J w' = R J w. Then the velocities are converted from the centre of mass to the body's frame. A
body that rotates about a principal axis, or does not rotate, moves as in Euler's semi-implicit
step.

Bodies that touch the world, directly or through other bodies, are held: within the step, contacts
act against gyroscopic torque. The contacts are solved with the torque at the start of the step.
Then w' solves J (w' - w) = impulse - h' W x J W with the impulse of the contacts, so only the work
of this impulse changes the energy. The body rotates by w', for which the contacts were solved, and
keeps this velocity.

An impact with restitution is instantaneous: bodies with such contacts are in flight for the rest
of the step. With gyroscopic torque in the impact, w' would not be the velocity at which
restitution and friction do no work, and the energy would change by the order h |w|. The
integrators euler and implicit have no flight. In a step with such an impact they move the bodies
in contact as implicit_damping does.

Source: Simo, Wong, Unconditionally stable algorithms for rigid body dynamics that exactly preserve
energy and momentum, 1991; Strang, On the construction and comparison of difference schemes, 1968
(splitting). The first iteration is Kahan's method of 1993.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    add_scaled3,
    cross3,
    dot3,
    load3,
    load6,
    load9,
    mat_vec,
    scaled3,
    select3,
    store6,
    sub3,
    symmetric_times,
)
from rbdyn_ros.engine.compiler.jit import inline, is_known, is_zero, kernel
from rbdyn_ros.engine.joints.frames import quat_mat
from rbdyn_ros.model.declared.contact_arrays import NORMAL, REBOUNDS
from rbdyn_ros.model.declared.options import (
    FORCE,
    IMPLICIT,
    IMPLICIT_DAMPING,
    IMPLICIT_MIDPOINT,
    RK4,
)

#: Values of flight_mode of a root: PLAIN for a tree that moves as in Euler's step, FLYING for a
#: single body in flight, HELD for a single body held by contacts, TREE for a tree in flight
#: (momentum.py). Odd values are without contact.
PLAIN, FLYING, HELD, TREE = 0, 1, 2, 3

#: flight_mode of other bodies with contact, if the integrator is euler or implicit.
TOUCHING = 4

#: Largest number of iterations of Newton's method, and three errors of the equation, as parts of
#: the momentum. If the error is below NEAR, the next iteration is exact. If it is below NEARER,
#: the next iteration is exact even with the slopes of the last one. Below EXACT no further
#: iteration is needed.
ITERATIONS, NEAR, NEARER, EXACT = 5, 1e-9, 1e-11, 1e-15

#: A body that rotates by more than this in a step [rad] keeps its angular velocity.
LARGEST_TURN = 1.5

#: A body that rotates by less than this [rad] has the initial gyroscopic torque in the whole step.
SLIGHT = 1e-6


@kernel
def start_flight(m, d, h, tries):
    """Write flight_mode and the bias forces of the kick.

    `tries` is true if rk4 uses trial states, which have no kick.
    """
    second_order = m.opt.integrator_id == RK4 or m.opt.integrator_id == IMPLICIT_MIDPOINT
    singles = second_order or m.opt.integrator_id == IMPLICIT_DAMPING
    if m.opt.integrator_id == RK4 and tries:
        second_order = singles = False
    touches = m.ncontact > 0 and d.ncon > 0
    if (
        touches and d.nmutual > 0
    ):  # if bodies touch each other, all implicit integrators make the same step
        singles = singles or m.opt.integrator_id == IMPLICIT
    for i in range(m.nbody):
        d.flight_mode[i] = PLAIN
    if touches and not singles:
        _mark_touching(d)
    for n in range(m.nflight):
        i = m.flight_bodyid[n]
        flies = (singles or d.flight_mode[i] == TOUCHING) and not has_drive(m, d, i)
        d.flight_mode[i] = FLYING if flies else PLAIN
    for n in range(m.nflighttree):
        i = m.flight_rootid[n]
        d.flight_mode[i] = TREE if second_order and not has_drive(m, d, i) else PLAIN
    if touches:
        _find_held(m, d)
    write_kick_bias(m, d, h)


@inline
def write_kick_bias(m, d, h):
    """Write flight_work, the bias force that replaces cfrc_bias in the step, by flight_mode."""
    g = m.opt.gravity
    for n in range(m.nflight):
        i = m.flight_bodyid[n]
        mass, torque = m.body_mass[i], ZERO3
        if d.flight_mode[i] == HELD and not _is_still(_turn_rate(m, d, i), h):
            torque = mat_vec(load9(d.xmat, i), _gyroscopic(m, d, i, h))
        x, y, z = torque
        store6(d.flight_work, i, (x, y, z, -mass * g[0], -mass * g[1], -mass * g[2]))


@inline
def has_drive(m, d, i):
    """Return whether the acceleration of a dof of a body is prescribed."""
    driven = False
    if d.accelerate_stage != 0:
        for k in range(m.body_dofadr[i], m.body_dofadr[i] + 6):
            driven = driven or d.drive_mode[k] != FORCE
    return driven


@inline
def _mark_touching(d):
    """Mark bodies with contact.

    With the integrators euler and implicit only these can be in flight.
    """
    for c in range(d.ncon):
        for side in range(2):
            d.flight_mode[d.contact_body[c, side]] = TOUCHING


@kernel
def _find_held(m, d):
    """Mark as held all bodies that touch a body not in flight, directly or through other bodies.

    Bodies that bounce are not held: the gyroscopic torque after the impact would do work on the
    change of the velocity.
    """
    found = True
    while found:
        found = False
        for c in range(d.ncon):
            root1, root2 = m.body_rootid[d.contact_body[c, 0]], m.body_rootid[d.contact_body[c, 1]]
            flies1, flies2 = d.flight_mode[root1] & 1, d.flight_mode[root2] & 1
            if flies1 != flies2:
                changed = root1 if flies1 else root2
                single = d.flight_mode[changed] == FLYING
                if single and d.contact_spring[c, REBOUNDS] > 0.0:
                    continue
                d.flight_mode[changed] = HELD if single else PLAIN
                # begin with the bodies that touch the world
                found = d.nmutual > 0


@inline
def fly(m, d, h):
    """Make qacc_step include the drift, and write the motion of the step to flight_work.

    Call `start_flight` first, and solve for the accelerations of the kick. Afterwards row 0 of
    flight_mode is PLAIN if all bodies move by their velocities at the end of the step, as bodies
    at rest do.
    """
    other = m.ncontact > 0 and d.hits[0] != 0
    if m.ncontact > 0 and d.ncon > 0:
        _find_free(m, d, h)
    for n in range(m.nflight):
        i = m.flight_bodyid[n]
        if d.flight_mode[i] != PLAIN:
            other = _drift(m, d, i, h) or other
    d.flight_mode[0] = FLYING if other else PLAIN


@inline
def _find_free(m, d, h):
    """Mark held bodies as in flight again if no contact presses them in this step."""
    held = 0
    for n in range(m.nflight):
        i = m.flight_bodyid[n]
        if d.flight_mode[i] == HELD:
            d.flight_mode[i], held = -HELD, held + 1
    for c in range(d.ncon):
        if held == 0:  # every held body is pressed by a contact
            return
        if d.contact_end[c, NORMAL] > 0.0:
            for side in range(2):
                i = d.contact_body[c, side]
                if d.flight_mode[i] < 0:
                    d.flight_mode[i], held = HELD, held - 1
    for n in range(m.nflight):
        i = m.flight_bodyid[n]
        if d.flight_mode[i] < 0:
            d.flight_mode[i] = FLYING
            x, y, z = inertia_columns(load6(m.body_fullinertia, i))
            change = scaled3(solved3(x, y, z, _gyroscopic(m, d, i, h)), h)
            k, R = m.body_dofadr[i], quat_mat(d.qpos, m.jnt_qposadr[i - 1] + 3)
            _accelerate(d, k + 3, change, h)
            away = mat_vec(R, cross3(change, load3(m.body_ipos, i)))
            # the centre of mass keeps its old velocity
            _accelerate(d, k, scaled3(away, -1.0), h)


@inline
def _accelerate(d, k, change, h):
    for n in range(3):
        d.qacc_step[k + n] += change[n] / h


@inline
def _gyroscopic(m, d, i, h):
    """Return the gyroscopic torque w x J w of a body at the start of the step, in body axes."""
    w = _turn_rate(m, d, i)
    if _is_still(w, h) or not is_slow(w, h):
        return ZERO3
    return cross3(w, symmetric_times(load6(m.body_fullinertia, i), w))


@inline
def _turn_rate(m, d, i):
    k = m.body_dofadr[i] + 3
    return d.qvel[k], d.qvel[k + 1], d.qvel[k + 2]


@inline
def _drift(m, d, i, h):
    """Write a body's drift; return whether the drift differs from the final velocity times h."""
    k, r = m.body_dofadr[i], load3(m.body_ipos, i)
    v, w = _end_of_kick(d, k, h), _end_of_kick(d, k + 3, h)
    mean = after = w
    central = is_zero(r[0]) and is_zero(r[1]) and is_zero(r[2])
    if d.flight_mode[i] == FLYING:
        turns = not _is_still(w, h)
        if turns:
            mean, after = turn(load6(m.body_fullinertia, i), w, h)
    else:
        turns = not _is_slight(d, k + 3, w, h)
        if turns:
            mean = after = _pressed_turn(m, d, i, w, h)
    if turns:
        _accelerate(d, k + 3, sub3(after, w), h)
    if not central:
        # the frame moves around the centre of mass, which moves along a straight line
        R = quat_mat(d.qpos, m.jnt_qposadr[i - 1] + 3)
        t = scaled3(mean, half_step(mean, h))
        com_vel = cross3(w, r)
        _accelerate(d, k, mat_vec(R, _frame_turns(com_vel, t, cross3(after, r))), h)
        away = scaled3(turned_away(t, r), -1.0 / h)
        v = add3(v, mat_vec(R, add3(com_vel, away)))
    x, y, z = v
    store6(d.flight_work, i, (x, y, z, mean[0], mean[1], mean[2]))
    return turns or not central


@inline
def _frame_turns(com_vel, t, end):
    """Return the change of the frame's velocity while the centre of mass keeps its velocity.

    com_vel and `end` are the velocities of the centre of mass relative to the frame, before and
    after the rotation `t` (see turned_away).
    """
    return sub3(com_vel, add3(end, turned_away(t, end)))


@kernel
def land(m, d, h):
    """Replace the qacc of the whole step by the qacc of the kick; the inverse of `fly`.

    The drift is reversible: from w' it leads back to the end of the kick.
    """
    for n in range(m.nflight):
        i = m.flight_bodyid[n]
        if d.flight_mode[i] != PLAIN:
            _go_back(m, d, i, h)


@inline
def _go_back(m, d, i, h):
    k, J, r = m.body_dofadr[i], load6(m.body_fullinertia, i), load3(m.body_ipos, i)
    start = (d.qvel[k + 3], d.qvel[k + 4], d.qvel[k + 5])
    after = add_scaled3(start, (d.qacc[k + 3], d.qacc[k + 4], d.qacc[k + 5]), h)
    mean = kicked = after
    if d.flight_mode[i] == FLYING:
        mean, kicked = turn(J, after, -h)
    elif not _is_slight(d, k + 3, after, h):
        W = scaled3(add3(start, after), 0.5)
        impulse = symmetric_times(J, sub3(after, start))
        impulse = add_scaled3(impulse, cross3(W, symmetric_times(J, W)), 2.0 * half_step(W, h))
        x, y, z = inertia_columns(J)
        impulse = add_scaled3(impulse, _gyroscopic(m, d, i, h), -h)
        kicked = add3(start, solved3(x, y, z, impulse))
    change = sub3(kicked, after)
    for n in range(3):
        d.qacc[k + 3 + n] += change[n] / h
    if not (is_zero(r[0]) and is_zero(r[1]) and is_zero(r[2])):
        R = quat_mat(d.qpos, m.jnt_qposadr[i - 1] + 3)
        t = scaled3(mean, half_step(mean, h))
        change = mat_vec(R, _frame_turns(cross3(kicked, r), t, cross3(after, r)))
        for n in range(3):
            d.qacc[k + n] -= change[n] / h


@kernel
def exchange_bias(m, d):
    """Exchange cfrc_bias of bodies in flight and the bias force of their kick, in flight_work."""
    for n in range(m.nflight):
        i = m.flight_bodyid[n]
        if d.flight_mode[i] != PLAIN:
            for c in range(6):
                d.cfrc_bias[i, c], d.flight_work[i, c] = d.flight_work[i, c], d.cfrc_bias[i, c]


@inline
def _end_of_kick(d, k, h):
    return (
        d.qvel[k] + h * d.qacc_step[k], d.qvel[k + 1] + h * d.qacc_step[k + 1],
        d.qvel[k + 2] + h * d.qacc_step[k + 2],
    )  # fmt: skip


@inline
def _is_slight(d, k, after, h):
    """Return whether the gyroscopic torque stays constant in a step, up to rounding."""
    w = (d.qvel[k], d.qvel[k + 1], d.qvel[k + 2])
    return h * h * (dot3(w, w) + dot3(after, after)) < SLIGHT * SLIGHT


@inline
def _pressed_turn(m, d, i, after, h):
    """Return w' after the contacts' impulse, with the gyroscopic torque of the mean velocity.

    The contacts are solved with the torque at the start of the step, so the impulse is right if
    they hold the body against this torque. Only the work of the impulse changes the energy.
    """
    k, J = m.body_dofadr[i] + 3, load6(m.body_fullinertia, i)
    w, torque = (d.qvel[k], d.qvel[k + 1], d.qvel[k + 2]), _gyroscopic(m, d, i, h)
    impulse = add_scaled3(symmetric_times(J, sub3(after, w)), torque, h)
    mean, _solved = mean_of_turn(J, w, impulse, h)
    return add_scaled3(scaled3(mean, 2.0), w, -1.0)


@inline
def is_single(m, d, i):
    """Return whether a body is a single body, in flight or held."""
    return m.nflight > 0 and (d.flight_mode[i] == FLYING or d.flight_mode[i] == HELD)


@kernel
def take_motion(m, d, motion):
    """Replace the velocities of bodies in flight, in `motion`, by the drift in flight_work."""
    for n in range(m.nflight):
        i = m.flight_bodyid[n]
        if d.flight_mode[i] != PLAIN:
            k = m.body_dofadr[i]
            for c in range(6):
                motion[k + c] = d.flight_work[i, c]


@inline
def half_step(W, h):
    """Return h' / 2 = tan(h |W| / 2) / |W|, see the top of this file."""
    y = 0.25 * h * h * dot3(W, W)
    # Pade approximation: exact to the last digit up to 0.6 rad in a step, to 3e-6 up to 2 rad
    return 0.5 * h * (945.0 - y * (105.0 - y)) / (945.0 - y * (420.0 - 15.0 * y))


@inline
def turned_away(t, x):
    """Return (exp(h W) - 1) x with t = tan(h |W| / 2) W / |W|."""
    tx = cross3(t, x)
    return scaled3(add3(tx, cross3(t, tx)), 2.0 / (1.0 + dot3(t, t)))


@inline
def turn(J, w, h):
    """Return the mean and the final angular velocity of a rotation without impulse."""
    W, solved = mean_of_turn(J, w, ZERO3, h)
    if solved:
        return W, sub3(scaled3(W, 2.0), w)
    momentum, t = symmetric_times(J, w), scaled3(W, -half_step(W, h))
    x, y, z = inertia_columns(J)
    after = solved3(x, y, z, add3(momentum, turned_away(t, momentum)))
    return W, select3(is_slow(w, h), after, w)


@inline
def mean_of_turn(J, w, impulse, h):
    """Return the mean angular velocity of a rotation, and whether it is exact.

    The mean W solves J (W - w) + s W x J W = impulse / 2.
    """
    W, last, alike, (x, y, z) = w, False, False, inertia_columns(J)
    aim = add_scaled3(symmetric_times(J, w), impulse, 0.5)
    for n in range(ITERATIONS):
        s = half_step(W, h)
        JW = symmetric_times(J, W)
        missed = add_scaled3(sub3(JW, aim), cross3(W, JW), s)
        if is_known(s):
            error, scale = dot3(missed, missed), dot3(aim, aim)
            if n == 0 and error <= EXACT * EXACT * scale:
                return w, True
            last, alike = error <= NEAR * NEAR * scale, error <= NEARER * NEARER * scale
        if not alike:
            x, y, z = inertia_columns(J)
            x = add_scaled3(x, add3(cross3(W, x), cross3((1.0, 0.0, 0.0), JW)), s)
            y = add_scaled3(y, add3(cross3(W, y), cross3((0.0, 1.0, 0.0), JW)), s)
            z = add_scaled3(z, add3(cross3(W, z), cross3((0.0, 0.0, 1.0), JW)), s)
        W = sub3(W, solved3(x, y, z, missed))
        if last:
            break
    return select3(is_slow(w, h), W, w), last


@inline
def is_slow(w, h):
    """Return whether a body rotates so little in a step that the equation can be solved."""
    return h * h * dot3(w, w) < LARGEST_TURN * LARGEST_TURN


@inline
def _is_still(w, h):
    """Return whether a body rotates by less than a rounding error, so that J w' = J w."""
    return is_known(w[0]) and h * h * dot3(w, w) < EXACT * EXACT


@inline
def inertia_columns(J):
    return (J[0], J[3], J[4]), (J[3], J[1], J[5]), (J[4], J[5], J[2])


@inline
def solved3(x, y, z, f):
    """Return the solution of three linear equations; x, y and z are the columns of the matrix."""
    yz = cross3(y, z)
    f = scaled3(f, 1.0 / dot3(x, yz))
    return dot3(f, yz), dot3(f, cross3(z, x)), dot3(f, cross3(x, y))
