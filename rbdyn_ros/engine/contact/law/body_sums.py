# SPDX-License-Identifier: Apache-2.0
"""The forces of the contacts and their slopes, summed over bodies.

The dynamics use these sums. A force is linearised at the velocity u0: f(u0 + du) = f0 - C du, with
C the slope at u0. A step gives a point the velocity v + h a, so a body gets the force sum(f0 + C
(u0 - v)) - h C a. The sum is in cfrc_contact. C is in contact_slope, which is added to the
articulated inertia (aba.py) or to M (contact_damping.py). For two moving bodies, a is the
difference of their accelerations.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    ZERO6,
    add3,
    add6,
    add_scaled3,
    add_scaled6,
    cross3,
    dot3,
    load3,
    load6,
    scaled3,
    store3,
    store6,
)
from rbdyn_ros.engine.algebra.symmetric import (
    add21,
    add_outer,
    add_rigid_inertia,
    load21,
    store21,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.contact.law.force import has_torque, slip_of
from rbdyn_ros.engine.tree.loads import contact_joint_forces
from rbdyn_ros.model.declared.contact_arrays import ACROSS, ALONG, NORMAL

#: Bits of body_touches: the body touches the world; it touches another moving body.
WORLD, MOVING = 1, 2


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
def add_to_bodies(d, moved):
    """Add forces to cfrc_contact of the bodies, and slopes to contact_slope.

    Only slopes of contacts with the world are added. Slopes of contacts between two moving bodies
    couple the dofs of both (coupled_bodies.py). `moved` is true if the iterate differs from the
    start of the step, so that contact_change is not zero.
    """
    c = 0
    while c < d.ncon:
        end = next_bodies(d, c)
        if d.contact_body[c, 0] == 0:
            _add_to_body(d, c, end, moved)
        else:
            for n in range(c, end):
                f, t = _load_at_start(d, n, moved)
                add_wrench_pair(d, n, f, t)
        c = end


@inline
def next_bodies(d, c):
    """Return the next contact after c of other bodies or with another contact_time, or ncon."""
    first, body1, body2 = c, d.contact_body[c, 0], d.contact_body[c, 1]
    while c < d.ncon and d.contact_body[c, 0] == body1 and d.contact_body[c, 1] == body2:
        if d.contact_time[c] != d.contact_time[first]:
            break
        c += 1
    return c


@inline
def _add_to_body(d, c, end, moved):
    """Add contacts c to end - 1 of a body with the world; the sums stay in registers."""
    body = d.contact_body[c, 1]
    wrench = load6(d.cfrc_contact, body)
    for n in range(c, end):
        f, t = _load_at_start(d, n, moved)
        wrench = add6(wrench, with_torque(wrench_at(load3(d.contact_arm2, n), f), t))
    d.body_touches[body] |= WORLD
    store6(d.cfrc_contact, body, wrench)
    store21(d.contact_slope, body, with_slopes(d, c, end, load21(d.contact_slope, body)))


@inline
def _load_at_start(d, c, moved):
    """Return a contact's force and torque at the velocity at the start of the step."""
    across, force = load3(d.contact_load, c), d.contact_load[c, NORMAL]
    if moved:
        across = add3(across, friction_slope_times(d, c, load3(d.contact_change, c)))
        force += d.contact_force_slope[c, ALONG] * d.contact_change[c, NORMAL]
    f, t = at_point(d, c, across, force)
    if has_torque(d, c):
        t = add3(t, load3(d.contact_load_torque, c))
        turn = load3(d.contact_spin_change, c)
        t = add3(t, torque_slope_times(d, c, load3(d.contact_normal, c), turn))
    return f, t


@inline
def at_point(d, c, friction, force):
    """Return the force and torque of a contact at its point, from its friction and normal force.

    The component of friction along the normal is a torque against spin, see patches.py.
    """
    normal, moment = load3(d.contact_normal, c), dot3(load3(d.contact_lever, c), friction)
    f = add_scaled3(friction, normal, force - dot3(normal, friction))
    return f, scaled3(normal, moment)


@inline
def friction_slope_times(d, c, du):
    """Return C du of a contact, with the slope of its friction C = across (1 - t t^T)."""
    across, slip = d.contact_force_slope[c, ACROSS], slip_of(d.contact_force_slope[c])
    return scaled3(add_scaled3(du, slip, -dot3(slip, du)), across)


@inline
def torque_slope_times(d, c, normal, dw):
    """Return C dw of a contact, with the slope C of its torque."""
    # C = along n n^T + across (1 - n n^T - t t^T)
    slope = d.contact_torque_slope[c]
    along, across, slip = slope[ALONG], slope[ACROSS], slip_of(slope)
    by_normal = (along - across) * dot3(normal, dw)
    by_slip = -across * dot3(slip, dw)
    return add3(add3(scaled3(normal, by_normal), scaled3(slip, by_slip)), scaled3(dw, across))


@inline
def is_point(d, c):
    """Return whether the forces of a contact act at its point, without torques."""
    lever = load3(d.contact_lever, c)
    return dot3(lever, lever) == 0.0 and not has_torque(d, c)


@inline
def any_slope(d, first, end):
    """Return whether a force of these contacts depends on velocity; open contacts have none."""
    found = False
    for c in range(first, end):
        slope = d.contact_force_slope[c]
        found = found or slope[ALONG] != 0.0 or slope[ACROSS] != 0.0
        if has_torque(d, c):
            turning = d.contact_torque_slope[c]
            found = found or turning[ALONG] != 0.0 or turning[ACROSS] != 0.0
    return found


@inline
def with_slopes(d, first, end, A):
    """Return A plus the slopes of contacts of two bodies about the com of body 2's tree.

    The friction of all contacts of a patch has the same radius, and acts at the same point, apart
    from the height along the normal.
    """
    shared = first_moment = second_moment = size = 0.0
    centre, axis = ZERO3, ZERO3
    for c in range(first, end):
        along, across = d.contact_force_slope[c, ALONG], d.contact_force_slope[c, ACROSS]
        normal, arm, lever = (
            load3(d.contact_normal, c), load3(d.contact_arm2, c), load3(d.contact_lever, c),
        )  # fmt: skip
        slip, radius = slip_of(d.contact_force_slope[c]), dot3(lever, normal)
        if radius > 0.0:
            A, height = add_outer(A, wrench_at(arm, normal), along), dot3(arm, normal)
            shared += across
            first_moment += across * height
            second_moment += across * height * height
            centre = add_scaled3(add3(arm, cross3(lever, normal)), normal, -height)
            axis, size = normal, radius
        else:
            A = add_rigid_inertia(A, _point_mass(across, arm))
            A = add_outer(A, wrench_at(arm, normal), along - across)
        if across > 0.0 and dot3(slip, slip) > 0.0:
            f, t = at_point(d, c, slip, 0.0)
            A = add_outer(A, with_torque(wrench_at(arm, f), t), -across)
        if has_torque(d, c):
            A = add21(A, _torque_slope(d, c))
        if shared > 0.0 and (c + 1 == end or not of_one_pair(d, c, c + 1)):
            mean = first_moment / shared
            spread = max(0.0, second_moment - mean * first_moment)
            A = _with_friction(A, axis, add_scaled3(centre, axis, mean), shared, spread, size)
            shared = first_moment = second_moment = 0.0
    return A


@inline
def slope_of_point(d, c, h, grows):
    """Return the rows of h C of a contact: derivatives of its force by the point's velocity.

    `grows` is the derivative of friction by the velocity along the normal.
    """
    slope, normal = d.contact_force_slope[c], load3(d.contact_normal, c)
    along, across, slip = h * slope[ALONG], h * slope[ACROSS], slip_of(slope)
    x = _row(normal, slip, along - across, h * grows, across, 0)
    y = _row(normal, slip, along - across, h * grows, across, 1)
    z = _row(normal, slip, along - across, h * grows, across, 2)
    return (
        (x[0] + across, x[1], x[2]),
        (y[0], y[1] + across, y[2]),
        (z[0], z[1], z[2] + across),
    )


@inline
def _row(normal, slip, along, grows, across, n):
    # (along n + grows t) n^T - across t t^T
    row = scaled3(normal, along * normal[n] + grows * slip[n])
    return add_scaled3(row, slip, -across * slip[n])


@inline
def of_one_pair(d, a, b):
    """Return whether two contacts are between the same geometries."""
    geoms_a, geoms_b = d.contact_geom[a], d.contact_geom[b]
    return geoms_a[0] == geoms_b[0] and geoms_a[1] == geoms_b[1]


@inline
def _with_friction(A, normal, centre, across, spread, radius):
    """Return A plus the friction slope `across` of a patch that sticks, with its radius."""
    A = add_rigid_inertia(A, _point_mass(across, centre))
    A = add_outer(A, wrench_at(centre, normal), -across)
    return _with_turns(A, normal, spread, across * radius * radius)


@inline
def _with_turns(A, n, x, y):
    # A + [x (1 - n n^T) + y n n^T, 0; 0, 0]
    a, b, c = scaled3(n, y - x)
    return (
        A[0] + x + a * n[0], A[1] + a * n[1], A[2] + a * n[2], A[3], A[4], A[5],
        A[6] + x + b * n[1], A[7] + b * n[2], A[8], A[9], A[10],
        A[11] + x + c * n[2], A[12], A[13], A[14],
        A[15], A[16], A[17],
        A[18], A[19],
        A[20],
    )  # fmt: skip


@inline
def _torque_slope(d, c):
    """Return the slope of a contact's torque by the angular velocity."""
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


@optional_stage("sum_forces_stage")
def _sum_by_address(table, row):
    sum_forces(model_at(table), data_at(table, row))


@kernel
def sum_forces(m, d):
    """Write contact_force, contact_torque, cfrc_contact and qfrc_contact of the last solution.

    This is a separate stage: no motion depends on it, so only the last of several steps needs it.
    """
    clear_sums(m, d)
    for c in range(d.ncon):
        f, torque = wrench_at_end(d, c)
        store3(d.contact_force, c, f)
        store3(d.contact_torque, c, torque)
        add_wrench_pair(d, c, f, torque)
    contact_joint_forces(m, d)


@inline
def wrench_at_end(d, c):
    """Return a contact's force and torque, at its point, after the last pass of dynamics."""
    f, torque = at_point(d, c, load3(d.contact_end, c), d.contact_end[c, NORMAL])
    if has_torque(d, c):
        torque = add3(torque, load3(d.contact_end_torque, c))
    return f, torque


@inline
def add_wrench_pair(d, c, f, t):
    """Add a force and a torque on body 2, and their opposites on body 1, to cfrc_contact."""
    body1, body2 = d.contact_body[c, 0], d.contact_body[c, 1]
    d.body_touches[body2] |= WORLD if body1 == 0 else MOVING
    wrench = with_torque(wrench_at(load3(d.contact_arm2, c), f), t)
    store6(d.cfrc_contact, body2, add6(load6(d.cfrc_contact, body2), wrench))
    if body1 > 0:
        d.body_touches[body1] |= MOVING
        wrench = with_torque(wrench_at(load3(d.contact_arm1, c), f), t)
        store6(d.cfrc_contact, body1, add_scaled6(load6(d.cfrc_contact, body1), wrench, -1.0))


@inline
def wrench_at(arm, f):
    """Return [moment; force] of the force f that acts at the end of `arm`."""
    n = cross3(arm, f)
    return n[0], n[1], n[2], f[0], f[1], f[2]


@inline
def with_torque(wrench, t):
    """Return a wrench plus a torque."""
    return add6(wrench, (t[0], t[1], t[2], 0.0, 0.0, 0.0))


@inline
def _point_mass(mass, r):
    # ten numbers, as in cinert
    x, y, z = r
    mx, my, mz = mass * x, mass * y, mass * z
    return (
        my * y + mz * z, mx * x + mz * z, mx * x + my * y, -mx * y, -mx * z, -my * z,
        mx, my, mz, mass,
    )  # fmt: skip
