"""The law of the contacts linearised at an iterate, and its sums over bodies.

A force f(u0 + du) is f0 - C du with C the slope at u0. As the velocity that a step gives a point
is v + h a, a body gets the force sum(f0 + C (u0 - v)) - h C a: the sum is in cfrc_contact, and C
in contact_slope, which the articulated inertia takes up (aba.py, yielding.py). Of two moving
bodies, a is the difference of their accelerations.

The same sums over the forces themselves are two stages: of the forces at the present velocities,
and of the forces of the last step.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.contact.law import (
    ACROSS,
    ALONG,
    MU,
    PENALTY,
    PUSH,
    ROLLING,
    SIZE,
    SLIP,
    SLOPE,
    TORSIONAL,
    first_lagged,
    friction,
    has_torque,
    is_viscous,
    normal_force,
    normal_force_now,
    rolling_torque,
    slip_of,
    torsional_torque,
)
from rbdyn_ros.engine.contact.passes import moved_contact
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.loads import contact_joint_forces
from rbdyn_ros.engine.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.spatial import (
    ZERO3,
    ZERO6,
    add3,
    add6,
    add_scaled6,
    cross3,
    dot3,
    load3,
    load6,
    scaled3,
    store3,
    store6,
    sub3,
)
from rbdyn_ros.engine.symmetric import add21, add_outer, add_rigid_inertia, load21, store21


@optional_stage("forces_now_stage")
def _forces_now_by_address(table, row):
    forces_now(model_at(table), data_at(table, row))


@kernel
def forces_now(m, d):
    """Write the forces at the present positions and velocities, and their sums."""
    clear_sums(m, d)
    for c in range(d.ncon):
        if d.contact_dist[c] < 0.0:
            normal, v = load3(d.contact_normal, c), load3(d.contact_vel, c)
            force = normal_force_now(m, d, c, dot3(normal, v))
            across, _s, _t = friction(d, c, load3(d.contact_memory, c), v, normal, force)
            store3(d.contact_force, c, add3(scaled3(normal, force), across))
            if has_torque(d, c):
                torque = torque_at(d, c, normal, load3(d.contact_spin, c), force)
                store3(d.contact_torque, c, torque)
            _add_force(d, c)
    contact_joint_forces(m, d)


@optional_stage("sum_forces_stage")
def _sum_by_address(table, row):
    sum_forces(model_at(table), data_at(table, row))


@kernel
def sum_forces(m, d):
    """Write cfrc_contact and qfrc_contact: the forces that have moved the bodies.

    A stage of its own: no motion depends on it, so only the last of several steps needs it.
    """
    clear_sums(m, d)
    for c in range(d.ncon):
        _add_force(d, c)
    contact_joint_forces(m, d)


@inline
def _add_force(d, c):
    """Add the force of a contact to cfrc_contact of its bodies."""
    add_wrench_pair(d, c, load3(d.contact_force, c), load3(d.contact_torque, c))


@inline
def add_wrench_pair(d, c, f, t):
    """Add a force and a torque on body 2, and their opposites on body 1, to cfrc_contact."""
    one, i = d.contact_body[c, 0], d.contact_body[c, 1]
    turn = (t[0], t[1], t[2], 0.0, 0.0, 0.0)
    d.body_touches[i] = 1
    wrench = add6(wrench_at(load3(d.contact_arm2, c), f), turn)
    store6(d.cfrc_contact, i, add6(load6(d.cfrc_contact, i), wrench))
    if one > 0:
        d.body_touches[one] = 1
        wrench = add6(wrench_at(load3(d.contact_arm1, c), f), turn)
        store6(d.cfrc_contact, one, add_scaled6(load6(d.cfrc_contact, one), wrench, -1.0))


@kernel
def linearise_at_start(m, d):
    """Linearise at the velocities at the start of the step; write the sums of the bodies."""
    clear_sums(m, d)
    for c in range(d.ncon):
        leaving = dot3(load3(d.contact_normal, c), load3(d.contact_vel, c))
        force = first_lagged(d, c, leaving)
        d.contact_lagged[c, 0] = d.contact_lagged[c, 1] = force
        d.contact_gap[c, 0] = d.contact_gap[c, 1] = 0.0
        store3(d.contact_change, c, ZERO3)
        if has_torque(d, c):
            store3(d.contact_spin_change, c, ZERO3)
        _linearise(d, c)
        if d.contact_pressed[c] > 0.0:
            _keep_closed(d, c, leaving)
    add_to_bodies(d)


@inline
def _keep_closed(d, c, leaving):
    """Linearise a contact that has pressed as if it did, for the first pass.

    If it opens at the start of the step, the forces of the step may still hold it.
    """
    push, slope = d.contact_spring[c, PUSH], d.contact_spring[c, SLOPE]
    if push <= slope * leaving:
        pulls = scaled3(load3(d.contact_normal, c), push - slope * leaving)
        d.contact_force_slope[c, ALONG] = slope
        store3(d.contact_load, c, add3(load3(d.contact_load, c), pulls))


@kernel
def clear_sums(m, d):
    """Reset the sums of the bodies that had contacts."""
    for i in range(m.nbody):
        if d.body_touches[i] != 0:
            d.body_touches[i] = 0
            store6(d.cfrc_contact, i, ZERO6)
            for n in range(21):
                d.contact_slope[i, n] = 0.0


@kernel
def compare_with_law(m, d):
    """Compare the law at the end of contact_step with the linearised forces.

    Returns:
        Largest error of a force for the present lagged forces; largest error of the radius of a
        disc; largest change of friction if the discs were right; largest normal force; and, summed
        over contacts, (f1 - f0) . step, step . C step and f0 . step.
    """
    missed, disc, wrong, most, gained, curve, before = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(d.ncon):
        normal, step, lagged = (
            load3(d.contact_normal, c), load3(d.contact_step, c), d.contact_lagged[c, 0],
        )  # fmt: skip
        u = add3(add3(load3(d.contact_vel, c), load3(d.contact_change, c)), step)
        force, _ = normal_force(d, c, dot3(normal, u))
        d.contact_gap[c, 0] = force - lagged
        most = max(most, force)
        f = force_at(d, c, normal, u, lagged)
        if not is_viscous(d, c) and force != lagged:
            disc = max(disc, d.contact_grip[c, MU] * abs(force - lagged))
            wrong = max(wrong, largest_of(sub3(force_at(d, c, normal, u, force), f)))
        missed = max(missed, largest_of(sub3(f, load3(d.contact_force, c))))
        start = dot3(load3(d.contact_load, c), step)
        gained += dot3(f, step) - start
        before += start
        curve += dot3(force_slope_times(d, c, normal, step), step)
        if has_torque(d, c):
            size, turn = d.contact_grip[c, SIZE], load3(d.contact_spin_step, c)
            w = add3(add3(load3(d.contact_spin, c), load3(d.contact_spin_change, c)), turn)
            torque = torque_at(d, c, normal, w, lagged)
            missed = max(missed, largest_of(sub3(torque, load3(d.contact_torque, c))) / size)
            longest = max(d.contact_grip[c, TORSIONAL], d.contact_grip[c, ROLLING])
            disc = max(disc, longest / size * abs(force - lagged))
            right = torque_at(d, c, normal, w, force)
            wrong = max(wrong, largest_of(sub3(right, torque)) / size)
            start = dot3(load3(d.contact_load_torque, c), turn)
            gained += dot3(torque, turn) - start
            before += start
            curve += dot3(torque_slope_times(d, c, normal, turn), turn)
    return missed, disc, wrong, most, gained, curve, before


@inline
def largest_of(x):
    """Return the largest part of a vector."""
    return max(abs(x[0]), abs(x[1]), abs(x[2]))


@kernel
def linearise_after_step(m, d, share):
    """Go on by a share of contact_step, linearise there, and write the sums of the bodies."""
    clear_sums(m, d)
    for c in range(d.ncon):
        step = scaled3(load3(d.contact_step, c), share)
        store3(d.contact_change, c, add3(load3(d.contact_change, c), step))
        if has_torque(d, c):
            turn = scaled3(load3(d.contact_spin_step, c), share)
            store3(d.contact_spin_change, c, add3(load3(d.contact_spin_change, c), turn))
        _linearise(d, c)
    add_to_bodies(d)


@kernel
def linearise_at_iterate(m, d):
    """Linearise a new list of contacts at the iterate iterate_a; write the sums of the bodies."""
    h = m.opt.timestep
    clear_sums(m, d)
    for c in range(d.ncon):
        normal = load3(d.contact_normal, c)
        there, a = moved_contact(d, c, d.iterate_a)
        change = scaled3(there, h)
        store3(d.contact_change, c, change)
        if has_torque(d, c):
            store3(d.contact_spin_change, c, scaled3(a, h))
        leaving = dot3(normal, add3(load3(d.contact_vel, c), change))
        force, _ = normal_force(d, c, leaving)
        d.contact_lagged[c, 0] = d.contact_lagged[c, 1] = force
        d.contact_gap[c, 0] = d.contact_gap[c, 1] = 0.0
        _linearise(d, c)
    add_to_bodies(d)


@kernel
def linearise_viscous(m, d):
    """Linearise at the start of the step with viscous friction, the last resort.

    It is at most mu times the lagged force; there is no torsional and rolling friction.
    """
    clear_sums(m, d)
    for c in range(d.ncon):
        normal, v = load3(d.contact_normal, c), load3(d.contact_vel, c)
        leaving = dot3(normal, v)
        across = sub3(v, scaled3(normal, leaving))
        force, along = normal_force(d, c, leaving)
        penalty = d.contact_grip[c, PENALTY]
        if not is_viscous(d, c):
            most = d.contact_grip[c, MU] * d.contact_lagged[c, 0]
            speed = np.sqrt(dot3(across, across))
            if most <= penalty * speed:
                penalty = most / speed if speed > 0.0 else 0.0
        store3(d.contact_change, c, ZERO3)
        store3(d.contact_load, c, sub3(scaled3(normal, force), scaled3(across, penalty)))
        slope = d.contact_force_slope[c]
        slope[ALONG], slope[ACROSS] = along, penalty
        slope[SLIP], slope[SLIP + 1], slope[SLIP + 2] = ZERO3
        if has_torque(d, c):
            store3(d.contact_spin_change, c, ZERO3)
            store3(d.contact_load_torque, c, ZERO3)
            d.contact_torque_slope[c, ALONG] = d.contact_torque_slope[c, ACROSS] = 0.0
    add_to_bodies(d)


@inline
def force_at(d, c, normal, u, lagged):
    """Return the force at the velocity u."""
    force, _ = normal_force(d, c, dot3(normal, u))
    across, _s, _t = friction(d, c, load3(d.contact_memory, c), u, normal, lagged)
    return add3(scaled3(normal, force), across)


@inline
def torque_at(d, c, normal, w, lagged):
    """Return the torque at the angular velocity w."""
    memory = load3(d.contact_memory_torque, c)
    along, _s = torsional_torque(d, c, memory, w, normal, lagged)
    across, _s, _t = rolling_torque(d, c, memory, w, normal, lagged)
    return add3(scaled3(normal, along), across)


@inline
def _linearise(d, c):
    """Write contact_load and contact_force_slope, the force and its slope at the iterate."""
    normal, lagged = load3(d.contact_normal, c), d.contact_lagged[c, 0]
    u = add3(load3(d.contact_vel, c), load3(d.contact_change, c))
    force, along = normal_force(d, c, dot3(normal, u))
    tangential, across, slip = friction(d, c, load3(d.contact_memory, c), u, normal, lagged)
    store3(d.contact_load, c, add3(scaled3(normal, force), tangential))
    slope = d.contact_force_slope[c]
    slope[ALONG], slope[ACROSS] = along, across
    slope[SLIP], slope[SLIP + 1], slope[SLIP + 2] = slip
    if has_torque(d, c):
        memory = load3(d.contact_memory_torque, c)
        w = add3(load3(d.contact_spin, c), load3(d.contact_spin_change, c))
        torsional, along = torsional_torque(d, c, memory, w, normal, lagged)
        rolling, across, slip = rolling_torque(d, c, memory, w, normal, lagged)
        store3(d.contact_load_torque, c, add3(scaled3(normal, torsional), rolling))
        slope = d.contact_torque_slope[c]
        slope[ALONG], slope[ACROSS] = along, across
        slope[SLIP], slope[SLIP + 1], slope[SLIP + 2] = slip


@inline
def force_slope_times(d, c, normal, du):
    """Return C du of a contact, C being the slope of its force."""
    return _slope_times(d.contact_force_slope[c], normal, du)


@inline
def torque_slope_times(d, c, normal, dw):
    """Return C dw of a contact, C being the slope of its torque."""
    return _slope_times(d.contact_torque_slope[c], normal, dw)


@inline
def _slope_times(slope, normal, du):
    # C = along n n^T + across (1 - n n^T - t t^T)
    along, across, slip = slope[ALONG], slope[ACROSS], slip_of(slope)
    by_normal = (along - across) * dot3(normal, du)
    by_slip = -across * dot3(slip, du)
    return add3(add3(scaled3(normal, by_normal), scaled3(slip, by_slip)), scaled3(du, across))


@kernel
def add_to_bodies(d):
    """Add the contacts to cfrc_contact of their bodies, and with the world to contact_slope.

    The slopes of contacts between two moving bodies join their dofs (coupled_bodies.py).
    """
    c = 0
    while c < d.ncon:
        end = next_bodies(d, c)
        if d.contact_body[c, 0] == 0:
            _add_to_body(d, c, end)
        else:
            for n in range(c, end):
                f, t = _load_at_start(d, n)
                add_wrench_pair(d, n, f, t)
        c = end


@inline
def next_bodies(d, c):
    """Return the next contact with other bodies."""
    one, two = d.contact_body[c, 0], d.contact_body[c, 1]
    while c < d.ncon and d.contact_body[c, 0] == one and d.contact_body[c, 1] == two:
        c += 1
    return c


@kernel
def _add_to_body(d, c, end):
    """Add the contacts of a body with the world; the sums stay in registers."""
    i = d.contact_body[c, 1]
    wrench, A = load6(d.cfrc_contact, i), load21(d.contact_slope, i)
    for n in range(c, end):
        f, t = _load_at_start(d, n)
        turn = (t[0], t[1], t[2], 0.0, 0.0, 0.0)
        wrench = add6(wrench, add6(wrench_at(load3(d.contact_arm2, n), f), turn))
        A = with_force_slope(d, n, A)
        if has_torque(d, n):
            A = add21(A, torque_slope(d, n))
    d.body_touches[i] = 1
    store6(d.cfrc_contact, i, wrench)
    store21(d.contact_slope, i, A)


@inline
def _load_at_start(d, c):
    """Return force and torque of a contact at the velocity of the start of the step."""
    f = force_slope_times(d, c, load3(d.contact_normal, c), load3(d.contact_change, c))
    f, t = add3(load3(d.contact_load, c), f), ZERO3
    if has_torque(d, c):
        t = torque_slope_times(d, c, load3(d.contact_normal, c), load3(d.contact_spin_change, c))
        t = add3(t, load3(d.contact_load_torque, c))
    return f, t


@inline
def with_force_slope(d, c, A):
    """Return A plus the slope of a contact's force about the com of body 2's tree."""
    along, across = d.contact_force_slope[c, ALONG], d.contact_force_slope[c, ACROSS]
    normal, arm = load3(d.contact_normal, c), load3(d.contact_arm2, c)
    A = add_rigid_inertia(A, _point_mass(across, arm))
    A = add_outer(A, wrench_at(arm, normal), along - across)
    slip = slip_of(d.contact_force_slope[c])
    if across > 0.0 and dot3(slip, slip) > 0.0:
        A = add_outer(A, wrench_at(arm, slip), -across)
    return A


@inline
def torque_slope(d, c):
    """Return the slope of a contact's torque."""
    slope, n = d.contact_torque_slope[c], load3(d.contact_normal, c)
    across, b = slope[ACROSS], slope[ALONG] - slope[ACROSS]
    s = slip_of(slope)
    return (
        across + b * n[0] * n[0] - across * s[0] * s[0],
        b * n[0] * n[1] - across * s[0] * s[1],
        b * n[0] * n[2] - across * s[0] * s[2],
        0.0, 0.0, 0.0,
        across + b * n[1] * n[1] - across * s[1] * s[1],
        b * n[1] * n[2] - across * s[1] * s[2],
        0.0, 0.0, 0.0,
        across + b * n[2] * n[2] - across * s[2] * s[2],
        0.0, 0.0, 0.0,
        0.0, 0.0, 0.0,
        0.0, 0.0,
        0.0,
    )  # fmt: skip


@inline
def wrench_at(arm, f):
    """Return [moment; force] of a force at an arm."""
    n = cross3(arm, f)
    return n[0], n[1], n[2], f[0], f[1], f[2]


@inline
def _point_mass(mass, r):
    # as cinert
    x, y, z = r
    mx, my, mz = mass * x, mass * y, mass * z
    return (
        my * y + mz * z, mx * x + mz * z, mx * x + my * y, -mx * y, -mx * z, -my * z,
        mx, my, mz, mass,
    )  # fmt: skip
