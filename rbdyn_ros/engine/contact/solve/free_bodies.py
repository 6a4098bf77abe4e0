# SPDX-License-Identifier: Apache-2.0
"""The pass of dynamics if all bodies of a Model are free and some of them touch each other.

Its matrix has a block for each body (body_blocks.py). A body that touches no other moving body is
solved separately. A free joint has three linear axes e and three rotation axes r; a rotation about
r moves the centre of mass by s. Then a = S qacc is

    w = sum of r q,  v = sum of e q' + sum of s q,  with rotations q and translations q'
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import ZERO6, add3, dot3, load6, store6, sub3
from rbdyn_ros.engine.algebra.symmetric import (
    ZERO21,
    add_outer,
    columns21,
    rigid_inertia,
    scaled21,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import (
    MOVING,
    any_slope,
    is_point,
    next_bodies,
    slope_of_point,
    with_slopes,
)
from rbdyn_ros.engine.contact.solve.body_blocks import add_point, add_slopes, block_of, write_block
from rbdyn_ros.engine.tree.aba import add_contact_slope, applied_bias, implicit_damping
from rbdyn_ros.engine.tree.block_lu import factor_blocks, load_row, solve_blocks, store_row
from rbdyn_ros.engine.tree.floating_base import solve_six
from rbdyn_ros.model.declared.options import IMPLICIT


@inline
def are_free(m, d):
    """Return whether all bodies are single free bodies and nothing but contact constrains them."""
    return m.nflight == m.nbody - 1 and d.accelerate_stage == 0 and d.nstopped == 0


@kernel
def accelerate_free_bodies(m, d):
    """Write qacc_step and a, from the linearised contacts and the elimination tree in d."""
    h = m.opt.timestep
    for i in range(1, m.nbody):
        A, b = inertia_with_damping(m, d, i), block_of(m, d, i)
        if d.body_touches[i] != 0:
            A = add_contact_slope(d, i, h, A)
        d.row_works[6 * b] = d.body_touches[i] & MOVING
        if d.row_works[6 * b] != 0:
            write_block(d, b, A)
            write_force(m, d, i)
        else:
            a = solve_six(m, d, 6 * b, A, force_on(m, d, i), 0.0, 0.0)
            spread_acceleration(m, d, i, a, d.a, d.qacc_step)
    c = 0
    while c < d.ncon:
        end = next_bodies(d, c)
        if d.contact_body[c, 0] > 0 and any_slope(d, c, end):
            if end == c + 1 and is_point(d, c):
                add_point(m, d, c, slope_of_point(d, c, h, 0.0), True)
            else:
                _add_patches(m, d, c, end, h)
        c = end
    factor_blocks(m, d, True)
    solve_blocks(m, d, d.skyline_x)
    store6(d.a, 0, ZERO6)
    for i in range(1, m.nbody):
        if d.body_touches[i] & MOVING:
            write_acceleration(m, d, i, d.a, d.qacc_step)


@kernel
def _add_patches(m, d, c, end, h):
    add_slopes(m, d, c, columns21(scaled21(with_slopes(d, c, end, ZERO21), h)), True)


@inline
def inertia_with_damping(m, d, i):
    """Return the inertia of a body, plus the implicit damping of its dofs."""
    A, damped, first = rigid_inertia(d.cinert[i]), 0.0, m.body_dofadr[i]
    for k in range(first, first + 6):
        damped += d.dof_viscosity[k]
    return _with_damping(m, d, i, A) if damped > 0.0 else A


@kernel
def _with_damping(m, d, i, A):
    h, first = m.opt.timestep, m.body_dofadr[i]
    step = h if m.opt.integrator_id >= IMPLICIT else implicit_damping(m, h)
    shifts, turns, moves = _axes(m, d, i)
    for n in range(3):
        # the velocities of two dofs are q = r . w and q' = e . (v - sum of s q)
        e = shifts[0] if n == 0 else (shifts[1] if n == 1 else shifts[2])
        r = turns[0] if n == 0 else (turns[1] if n == 1 else turns[2])
        w = _sum(turns, _along(moves, e))
        by_shift = (-w[0], -w[1], -w[2], e[0], e[1], e[2])
        A = add_outer(A, by_shift, step * d.dof_viscosity[first + n])
        by_turn = (r[0], r[1], r[2], 0.0, 0.0, 0.0)
        A = add_outer(A, by_turn, step * d.dof_viscosity[first + 3 + n])
    return A


@inline
def _axes(m, d, i):
    """Return the axes e, r and s of the free joint of body i, see above."""
    k = m.body_dofadr[i]
    x, y, z = load6(d.cdof, k), load6(d.cdof, k + 1), load6(d.cdof, k + 2)
    r, s, t = load6(d.cdof, k + 3), load6(d.cdof, k + 4), load6(d.cdof, k + 5)
    shifts, moves = (_last(x), _last(y), _last(z)), (_last(r), _last(s), _last(t))
    return shifts, (_first(r), _first(s), _first(t)), moves


@inline
def _first(s):
    return s[0], s[1], s[2]


@inline
def _last(s):
    return s[3], s[4], s[5]


@inline
def _sum(axes, x):
    """Return the sum of three axes times x."""
    a, b, c = axes
    return (
        a[0] * x[0] + b[0] * x[1] + c[0] * x[2],
        a[1] * x[0] + b[1] * x[1] + c[1] * x[2],
        a[2] * x[0] + b[2] * x[1] + c[2] * x[2],
    )


@inline
def _along(axes, x):
    """Return the products of three axes and x."""
    return dot3(axes[0], x), dot3(axes[1], x), dot3(axes[2], x)


@inline
def write_force(m, d, i):
    """Write the force on a body at the start of the step to skyline_x."""
    store_row(d.skyline_x, 6 * block_of(m, d, i), force_on(m, d, i))


@inline
def force_on(m, d, i):
    """Return the force on a body at the step's start: F - p with S^T F = tau and bias force p."""
    first, (shifts, turns, moves) = m.body_dofadr[i], _axes(m, d, i)
    p = applied_bias(m, d, i, m.opt.timestep)
    force = _sum(shifts, _joint_force(d, first))
    torque = _sum(turns, sub3(_joint_force(d, first + 3), _along(moves, force)))
    torque, force = sub3(torque, _first(p)), sub3(force, _last(p))
    return torque[0], torque[1], torque[2], force[0], force[1], force[2]


@inline
def _joint_force(d, k):
    return add3(
        (d.qfrc_applied[k], d.qfrc_applied[k + 1], d.qfrc_applied[k + 2]),
        (d.qfrc_passive[k], d.qfrc_passive[k + 1], d.qfrc_passive[k + 2]),
    )


@inline
def write_acceleration(m, d, i, a, qacc):
    """Write a body's acceleration, from skyline_x, to `a`, and its dofs' accelerations to qacc."""
    found = load_row(d.skyline_x, 6 * block_of(m, d, i))
    spread_acceleration(m, d, i, found, a, qacc)


@inline
def spread_acceleration(m, d, i, found, a, qacc):
    """Write the acceleration `found` of a body to `a`, and its dofs' accelerations to `qacc`."""
    first, (shifts, turns, moves) = m.body_dofadr[i], _axes(m, d, i)
    store6(a, i, found)
    turn = _along(turns, _first(found))
    shift = sub3(_last(found), _sum(moves, turn))
    qacc[first], qacc[first + 1], qacc[first + 2] = _along(shifts, shift)
    qacc[first + 3], qacc[first + 4], qacc[first + 5] = turn
