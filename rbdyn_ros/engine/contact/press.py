"""The law at the contacts of an iterate, and its sums over bodies, which the dynamics solve with.

A force f(u0 + du) is f0 - C du with C the slope at u0. As the velocity that a step gives a point
is v + h a, a body gets the force sum(f0 + C (u0 - v)) - h C a: the sum is in cfrc_contact, and C
in contact_slope, which the articulated inertia takes up (aba.py, yielding.py). Of two moving
bodies, a is the difference of their accelerations.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.constraints.wrenches import point_velocity, turn_rate
from rbdyn_ros.engine.contact.heaviest import find_heaviest
from rbdyn_ros.engine.contact.law import (
    first_lagged,
    prepare,
    press_normally,
    press_now,
    roll,
    rub,
    twist,
)
from rbdyn_ros.engine.contact.passes import moved_contact
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.loads import press_on_joints
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
    load9,
    mat_vec,
    scaled3,
    store3,
    store6,
    sub3,
)
from rbdyn_ros.engine.symmetric import add21, add_outer, add_rigid_inertia, load21, store21


@optional_stage("press_stage")
def _press_by_address(table, row):
    press(model_at(table), data_at(table, row))


@kernel
def start_contacts(m, d):
    """Write the velocities and the constants of the contacts; needs recall."""
    clear_sums(m, d)
    d.nmutual = 0
    for c in range(d.ncon):
        if d.contact_body[c, 0] > 0:
            d.nmutual = d.nmutual + 1
    if d.nmutual > 0:
        find_heaviest(m, d)
    for c in range(d.ncon):
        one, i, x = d.contact_body[c, 0], d.contact_body[c, 1], load3(d.contact_pos, c)
        v = add3(point_velocity(m, d, i, x), _belts(m, d, c))
        store3(d.contact_arm2, c, sub3(x, load3(d.subtree_com, m.body_rootid[i])))
        if one > 0:
            v = sub3(v, point_velocity(m, d, one, x))
            store3(d.contact_arm1, c, sub3(x, load3(d.subtree_com, m.body_rootid[one])))
        prepare(m, d, c, dot3(load3(d.contact_normal, c), v))
        store3(d.contact_vel, c, v)
        store3(d.contact_force, c, ZERO3)
        store3(d.contact_torque, c, ZERO3)
        if d.contact_grip[c, 2] > 0.0:
            w = turn_rate(d, i)
            store3(d.contact_spin, c, sub3(w, turn_rate(d, one)) if one > 0 else w)


@inline
def _belts(m, d, c):
    """Return the velocity of the surface of geom2 relative to that of geom1, moved by belts."""
    return sub3(_belt(m, d, c, 1), _belt(m, d, c, 0))


@inline
def _belt(m, d, c, side):
    """Return the velocity of a geometry's surface relative to its body, along the surface."""
    v = load3(m.geom_velocity, d.contact_geom[c, side])
    if v[0] == 0.0 and v[1] == 0.0 and v[2] == 0.0:
        return ZERO3
    v, normal = mat_vec(load9(d.xmat, d.contact_body[c, side]), v), load3(d.contact_normal, c)
    return sub3(v, scaled3(normal, dot3(normal, v)))


@kernel
def press(m, d):
    """Write the forces at the present positions and velocities, and their sums."""
    clear_sums(m, d)
    for c in range(d.ncon):
        if d.contact_dist[c] < 0.0:
            normal, v = load3(d.contact_normal, c), load3(d.contact_vel, c)
            force = press_now(m, d, c, dot3(normal, v))
            friction, _r, _t = rub(d, c, load3(d.contact_memory, c), v, normal, force)
            store3(d.contact_force, c, add3(scaled3(normal, force), friction))
            if d.contact_grip[c, 2] > 0.0:
                torque = torque_at(d, c, normal, load3(d.contact_spin, c), force)
                store3(d.contact_torque, c, torque)
            _add_force(d, c)
    press_on_joints(m, d)


@optional_stage("force_stage")
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
    press_on_joints(m, d)


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
def press_first(m, d):
    """Write the law at the velocities of the start, and the sums of the bodies."""
    clear_sums(m, d)
    for c in range(d.ncon):
        leaving = dot3(load3(d.contact_normal, c), load3(d.contact_vel, c))
        force = first_lagged(d, c, leaving)
        d.contact_lagged[c, 0] = d.contact_lagged[c, 1] = force
        d.contact_gap[c, 0] = d.contact_gap[c, 1] = 0.0
        store3(d.contact_change, c, ZERO3)
        if d.contact_grip[c, 2] > 0.0:
            store3(d.contact_spin_change, c, ZERO3)
        _linearise(d, c)
        if d.contact_pressed[c] > 0.0:
            _press_on(d, c, leaving)
    add_to_bodies(d)


@inline
def _press_on(d, c, leaving):
    """Linearise a contact that has pressed as one that does, for the first pass.

    Where it leaves at the start of the step, the forces of the step may hold it.
    """
    push, slope = d.contact_spring[c, 0], d.contact_spring[c, 1]
    if push <= slope * leaving:
        pulls = scaled3(load3(d.contact_normal, c), push - slope * leaving)
        d.contact_bend[c, 0] = slope
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
def look_ahead(m, d):
    """Compare the forces at the end of contact_step with those the last pass has used.

    Returns what the forces of the law miss, with the discs as they are; what the discs miss; what
    friction misses because of that; the largest normal force; and of the way there, the sum of
    (f1 - f0) . step, that of step . C step and that of f0 . step.
    """
    missed, disc, wrong, most, gained, curve, before = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(d.ncon):
        normal, step, lagged = (
            load3(d.contact_normal, c), load3(d.contact_step, c), d.contact_lagged[c, 0],
        )  # fmt: skip
        u = add3(add3(load3(d.contact_vel, c), load3(d.contact_change, c)), step)
        force, _ = press_normally(d, c, dot3(normal, u))
        d.contact_gap[c, 0] = force - lagged
        most = max(most, force)
        f = load_at(d, c, normal, u, lagged)
        if d.contact_grip[c, 1] < np.inf and force != lagged:
            disc = max(disc, d.contact_grip[c, 1] * abs(force - lagged))
            wrong = max(wrong, largest_of(sub3(load_at(d, c, normal, u, force), f)))
        missed = max(missed, largest_of(sub3(f, load3(d.contact_force, c))))
        start = dot3(load3(d.contact_load, c), step)
        gained += dot3(f, step) - start
        before += start
        curve += dot3(bent(d, c, normal, step), step)
        if d.contact_grip[c, 2] > 0.0:
            size, turn = d.contact_grip[c, 5], load3(d.contact_spin_step, c)
            w = add3(add3(load3(d.contact_spin, c), load3(d.contact_spin_change, c)), turn)
            torque = torque_at(d, c, normal, w, lagged)
            missed = max(missed, largest_of(sub3(torque, load3(d.contact_torque, c))) / size)
            longest = max(d.contact_grip[c, 3], d.contact_grip[c, 4])
            disc = max(disc, longest / size * abs(force - lagged))
            right = torque_at(d, c, normal, w, force)
            wrong = max(wrong, largest_of(sub3(right, torque)) / size)
            start = dot3(load3(d.contact_load_torque, c), turn)
            gained += dot3(torque, turn) - start
            before += start
            curve += dot3(bent_torque(d, c, normal, turn), turn)
    return missed, disc, wrong, most, gained, curve, before


@inline
def largest_of(x):
    """Return the largest part of a vector."""
    return max(abs(x[0]), abs(x[1]), abs(x[2]))


@kernel
def press_again(m, d, share):
    """Go on by a share of contact_step; write the law there and the sums of the bodies."""
    clear_sums(m, d)
    for c in range(d.ncon):
        step = scaled3(load3(d.contact_step, c), share)
        store3(d.contact_change, c, add3(load3(d.contact_change, c), step))
        if d.contact_grip[c, 2] > 0.0:
            turn = scaled3(load3(d.contact_spin_step, c), share)
            store3(d.contact_spin_change, c, add3(load3(d.contact_spin_change, c), turn))
        _linearise(d, c)
    add_to_bodies(d)


@kernel
def press_there(m, d):
    """Write the law at the iterate settle_a, for a new list of contacts, and the sums."""
    h = m.opt.timestep
    clear_sums(m, d)
    for c in range(d.ncon):
        normal = load3(d.contact_normal, c)
        there, a = moved_contact(d, c, d.settle_a)
        change = scaled3(there, h)
        store3(d.contact_change, c, change)
        if d.contact_grip[c, 2] > 0.0:
            store3(d.contact_spin_change, c, scaled3(a, h))
        leaving = dot3(normal, add3(load3(d.contact_vel, c), change))
        force, _ = press_normally(d, c, leaving)
        d.contact_lagged[c, 0] = d.contact_lagged[c, 1] = force
        d.contact_gap[c, 0] = d.contact_gap[c, 1] = 0.0
        _linearise(d, c)
    add_to_bodies(d)


@kernel
def press_viscously(m, d):
    """Replace friction by a viscous force, at the present velocity mu times the lagged force."""
    clear_sums(m, d)
    for c in range(d.ncon):
        normal, v = load3(d.contact_normal, c), load3(d.contact_vel, c)
        leaving = dot3(normal, v)
        across = sub3(v, scaled3(normal, leaving))
        force, along = press_normally(d, c, leaving)
        penalty, mu = d.contact_grip[c, 0], d.contact_grip[c, 1]
        if mu < np.inf:
            most, speed = mu * d.contact_lagged[c, 0], np.sqrt(dot3(across, across))
            if most <= penalty * speed:
                penalty = most / speed if speed > 0.0 else 0.0
        store3(d.contact_change, c, ZERO3)
        store3(d.contact_load, c, sub3(scaled3(normal, force), scaled3(across, penalty)))
        bend = d.contact_bend[c]
        bend[0], bend[1], bend[2], bend[3], bend[4] = along, penalty, 0.0, 0.0, 0.0
        if d.contact_grip[c, 2] > 0.0:
            store3(d.contact_spin_change, c, ZERO3)
            store3(d.contact_load_torque, c, ZERO3)
            d.contact_bend_torque[c, 0] = d.contact_bend_torque[c, 1] = 0.0
    add_to_bodies(d)


@inline
def load_at(d, c, normal, u, lagged):
    """Return the force at the velocity u."""
    force, _ = press_normally(d, c, dot3(normal, u))
    friction, _r, _t = rub(d, c, load3(d.contact_memory, c), u, normal, lagged)
    return add3(scaled3(normal, force), friction)


@inline
def torque_at(d, c, normal, w, lagged):
    """Return the torque at the angular velocity w."""
    memory = load3(d.contact_memory_torque, c)
    along, _s = twist(d, c, memory, w, normal, lagged)
    across, _r, _t = roll(d, c, memory, w, normal, lagged)
    return add3(scaled3(normal, along), across)


@inline
def _linearise(d, c):
    """Write contact_load and contact_bend, the force and its slope at the iterate."""
    normal, lagged = load3(d.contact_normal, c), d.contact_lagged[c, 0]
    u = add3(load3(d.contact_vel, c), load3(d.contact_change, c))
    force, along = press_normally(d, c, dot3(normal, u))
    friction, across, slip = rub(d, c, load3(d.contact_memory, c), u, normal, lagged)
    store3(d.contact_load, c, add3(scaled3(normal, force), friction))
    d.contact_bend[c, 0], d.contact_bend[c, 1] = along, across
    d.contact_bend[c, 2], d.contact_bend[c, 3], d.contact_bend[c, 4] = slip
    if d.contact_grip[c, 2] > 0.0:
        memory = load3(d.contact_memory_torque, c)
        w = add3(load3(d.contact_spin, c), load3(d.contact_spin_change, c))
        spin, along = twist(d, c, memory, w, normal, lagged)
        friction, across, slip = roll(d, c, memory, w, normal, lagged)
        store3(d.contact_load_torque, c, add3(scaled3(normal, spin), friction))
        d.contact_bend_torque[c, 0], d.contact_bend_torque[c, 1] = along, across
        bend = d.contact_bend_torque[c]
        bend[2], bend[3], bend[4] = slip


@inline
def bent(d, c, normal, du):
    """Return C du of a contact."""
    return _bent(d.contact_bend[c], normal, du)


@inline
def bent_torque(d, c, normal, dw):
    return _bent(d.contact_bend_torque[c], normal, dw)


@inline
def _bent(bend, normal, du):
    # C = along n n^T + across (1 - n n^T - t t^T)
    along, across, slip = bend[0], bend[1], (bend[2], bend[3], bend[4])
    by_normal = (along - across) * dot3(normal, du)
    by_slip = -across * dot3(slip, du)
    return add3(add3(scaled3(normal, by_normal), scaled3(slip, by_slip)), scaled3(du, across))


@kernel
def add_to_bodies(d):
    """Add the contacts to cfrc_contact of their bodies, and with the world to contact_slope.

    The slopes of contacts between two moving bodies join their dofs (islands.py).
    """
    c = 0
    while c < d.ncon:
        end = next_bodies(d, c)
        if d.contact_body[c, 0] == 0:
            _add_to_body(d, c, end)
        else:
            for n in range(c, end):
                f, t = _load(d, n)
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
        f, t = _load(d, n)
        turn = (t[0], t[1], t[2], 0.0, 0.0, 0.0)
        wrench = add6(wrench, add6(wrench_at(load3(d.contact_arm2, n), f), turn))
        A = with_slope(d, n, A)
        if d.contact_grip[n, 2] > 0.0:
            A = add21(A, slope_of_turning(d, n))
    d.body_touches[i] = 1
    store6(d.cfrc_contact, i, wrench)
    store21(d.contact_slope, i, A)


@inline
def _load(d, c):
    """Return force and torque of a contact at the velocity of the start of the step."""
    f = bent(d, c, load3(d.contact_normal, c), load3(d.contact_change, c))
    f, t = add3(load3(d.contact_load, c), f), ZERO3
    if d.contact_grip[c, 2] > 0.0:
        t = bent_torque(d, c, load3(d.contact_normal, c), load3(d.contact_spin_change, c))
        t = add3(t, load3(d.contact_load_torque, c))
    return f, t


@inline
def with_slope(d, c, A):
    """Return A plus the slope of a contact's force about the com of body 2's tree."""
    along, across = d.contact_bend[c, 0], d.contact_bend[c, 1]
    normal, arm = load3(d.contact_normal, c), load3(d.contact_arm2, c)
    A = add_rigid_inertia(A, _point_mass(across, arm))
    A = add_outer(A, wrench_at(arm, normal), along - across)
    slip = (d.contact_bend[c, 2], d.contact_bend[c, 3], d.contact_bend[c, 4])
    if across > 0.0 and dot3(slip, slip) > 0.0:
        A = add_outer(A, wrench_at(arm, slip), -across)
    return A


@inline
def slope_of_turning(d, c):
    """Return the slope of a contact's torque."""
    bend, n = d.contact_bend_torque[c], load3(d.contact_normal, c)
    across, b = bend[1], bend[0] - bend[1]
    s = (bend[2], bend[3], bend[4])
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
