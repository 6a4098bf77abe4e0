# SPDX-License-Identifier: Apache-2.0
"""Equations of motion constraints: position error, its rate, and the terms of K qacc = k.

An equation is stored as the wrenches that a unit constraint force exerts on bodies. K is their
projection onto the joints, and the derivative of the position errors.

Source: RBDA eq 3.11, section 3.4; loop joints are in loops.py.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    cross3,
    dot3,
    load3,
    load6,
    load9,
    mat_vec,
    scaled3,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.constraints.loops import loop_equations
from rbdyn_ros.engine.constraints.wrenches import (
    add_to_row,
    attach,
    clear,
    gear_rows,
    length_rows,
    roll_rows,
)
from rbdyn_ros.engine.joints.follow import is_driven
from rbdyn_ros.engine.tree.points import (
    NO_LENGTH,
    point_acceleration_bias,
    point_velocity,
    turn_rate,
)
from rbdyn_ros.model.tree.constraints import ROLL_ROWS

#: A row of K counts as a rounding error if it is below this fraction of the terms in its sum.
NOISE = 1e-10


@optional_stage("constraint_stage")
def _by_address(table, row):
    constraint(model_at(table), data_at(table, row))


@kernel
def constraint(m, d):
    """Write efc_pos, efc_vel, efc_aref, efc_J and efc_wrench.

    Call `com_vel` and `bias_force` first.
    """
    clear(m, d)
    for i in range(m.nloop):
        if m.loop_efcnum[i] > 0:
            loop_equations(m, d, i)
    for i in range(m.nlength):
        _length(m, d, i, length_rows(m) + i)
    for i in range(m.ngear):
        _gear(m, d, i, gear_rows(m) + i)
    for i in range(m.nroll):
        _roll(m, d, i, roll_rows(m) + ROLL_ROWS * i)
    jacobian(m, d)


@kernel
def jacobian(m, d):
    """Write efc_J and row_terms, the largest term in each row's sum."""
    for r in range(m.nefc):
        d.row_terms[r] = 0.0
        for k in range(m.nv):
            d.efc_J[r, k] = 0.0
        first = m.efc_wrenchadr[r]
        for w in range(first, first + m.efc_wrenchnum[r]):
            add_to_row(m, d, r, m.wrench_bodyid[w], load6(d.efc_wrench, w))
    for i in range(m.ngear):
        r, first = gear_rows(m) + i, m.gear_termadr[i]
        for n in range(first, first + m.gear_termnum[i]):
            j = m.term_jntid[n]
            k = m.jnt_dofadr_all[j] + m.term_coord[n]
            if not is_driven(m, k):
                factor = m.jnt_mimic_ratio[j] * m.term_factor[n]
                d.efc_J[r, m.jnt_dofadr[j] + m.term_coord[n]] += factor
                d.row_terms[r] = max(d.row_terms[r], abs(factor))
    for r in range(m.nefc):
        _clean_row(m, d, r)


@kernel
def _clean_row(m, d, r):
    """Set row r of efc_J to zero if all its entries are rounding errors."""
    longest = 0.0
    for k in range(m.nv):
        longest = max(longest, abs(d.efc_J[r, k]))
    if longest <= NOISE * d.row_terms[r]:
        for k in range(m.nv):
            d.efc_J[r, k] = 0.0


@kernel
def _length(m, d, i, r):
    # the sum of |x2 - x1| is the length; its rate is the sum of u.(v2 - v1), with u along each
    # piece
    first, number = m.length_pointadr[i], m.length_pointnum[i]
    pieces = number if m.length_closed[i] else number - 1
    w = m.efc_wrenchadr[r]
    total = 0.0
    for n in range(pieces):
        other = n + 1 if n + 1 < number else 0
        body1, x1 = _corner(m, d, first + n)
        body2, x2 = _corner(m, d, first + other)
        line = sub3(x2, x1)
        length = np.sqrt(dot3(line, line))
        total += length
        u = scaled3(line, 1.0 / max(length, NO_LENGTH))
        attach(m, d, r, w + n, body1, x1, (0.0, 0.0, 0.0), scaled3(u, -1.0))
        attach(m, d, r, w + other, body2, x2, (0.0, 0.0, 0.0), u)
        # k holds the terms without qacc: centripetal accelerations and the rotation of u
        slip = sub3(point_velocity(m, d, body2, x2), point_velocity(m, d, body1, x1))
        along = dot3(u, slip)
        across = dot3(slip, slip) - along * along
        change = sub3(
            point_acceleration_bias(m, d, body2, x2), point_acceleration_bias(m, d, body1, x1)
        )
        d.efc_aref[r] -= dot3(u, change) + (across / length if length > NO_LENGTH else 0.0)
    d.efc_pos[r] = total - m.length_total[i]


@inline
def _corner(m, d, n):
    """Return the body to which point n of a length is fixed, and its position in the world."""
    body = m.point_bodyid[n]
    return body, add3(load3(d.xpos, body), mat_vec(load9(d.xmat, body), load3(m.point_pos, n)))


@kernel
def _gear(m, d, i, r):
    first = m.gear_termadr[i]
    d.efc_pos[r] = -m.gear_offset[i]
    for n in range(first, first + m.gear_termnum[i]):
        j = m.term_jntid[n]
        q, k = m.jnt_qposadr_all[j] + m.term_coord[n], m.jnt_dofadr_all[j] + m.term_coord[n]
        d.efc_pos[r] += m.term_factor[n] * d.qpos_all[q]
        d.efc_vel[r] += m.term_factor[n] * d.qvel_all[k]
        if is_driven(m, k):
            d.efc_aref[r] -= m.term_factor[n] * d.qacc_all[k]


@kernel
def _roll(m, d, i, r):
    """Write the equations of a body that touches a plane and does not slip on it.

    The equation that keeps the contact is holonomic; the two that prevent slip are not. The slip
    is the velocity of the body minus the velocity of the plane at the contact point c. Because c
    moves on both, the rate of the slip contains (w_body - w_plane) x dc/dt. Source: RBDA eq 3.29.
    """
    body, plane = m.roll_bodyid[i, 0], m.roll_bodyid[i, 1]
    R = load9(d.xmat, plane)
    normal = mat_vec(R, load3(m.roll_normal, i))
    spin, turn = turn_rate(d, body), turn_rate(d, plane)
    centre = add3(load3(d.xpos, body), mat_vec(load9(d.xmat, body), load3(m.roll_centre, i)))
    radius, change = _spoke(m, d, i, body, normal, spin, turn)
    contact = add3(centre, radius)
    moves = add3(point_velocity(m, d, body, centre), change)
    slip = sub3(point_velocity(m, d, body, contact), point_velocity(m, d, plane, contact))
    shift = cross3(sub3(spin, turn), moves)
    point = add3(load3(d.xpos, plane), mat_vec(R, load3(m.roll_point, i)))
    d.efc_pos[r] = dot3(normal, sub3(contact, point))
    side = _perpendicular(load3(m.roll_normal, i))
    for n in range(3):
        u = normal
        if n > 0:
            u = mat_vec(R, side)
        if n == 2:
            u = cross3(normal, u)
        w = m.efc_wrenchadr[r + n]
        attach(m, d, r + n, w, body, contact, (0.0, 0.0, 0.0), u)
        attach(m, d, r + n, w + 1, plane, contact, (0.0, 0.0, 0.0), scaled3(u, -1.0))
        d.efc_aref[r + n] -= dot3(u, shift) + dot3(cross3(turn, u), slip)


@inline
def _spoke(m, d, i, body, normal, spin, turn):
    """Return the vector from a rolling body's centre to its contact, and the vector's rate."""
    r = m.roll_radius[i]
    own = load3(m.roll_axis, i)
    normal_dot = cross3(turn, normal)
    if dot3(own, own) == 0.0:  # a sphere
        return scaled3(normal, -r), scaled3(normal_dot, -r)
    # the contact point of a disc is opposite to the normal's projection onto the disc's plane
    axis = mat_vec(load9(d.xmat, body), own)
    axis_dot = cross3(spin, axis)
    lean = dot3(normal, axis)
    lean_dot = dot3(normal_dot, axis) + dot3(normal, axis_dot)
    up = sub3(normal, scaled3(axis, lean))
    up_dot = sub3(sub3(normal_dot, scaled3(axis, lean_dot)), scaled3(axis_dot, lean))
    length = max(np.sqrt(dot3(up, up)), NO_LENGTH)
    unit = scaled3(up, 1.0 / length)
    unit_dot = scaled3(sub3(up_dot, scaled3(unit, dot3(unit, up_dot))), 1.0 / length)
    return scaled3(unit, -r), scaled3(unit_dot, -r)


@inline
def _perpendicular(n):
    """Return a unit vector perpendicular to a unit vector."""
    x, y, z = n
    if abs(x) < 0.8:
        return scaled3((0.0, z, -y), 1.0 / np.sqrt(y * y + z * z))
    return scaled3((-z, 0.0, x), 1.0 / np.sqrt(x * x + z * z))
