# SPDX-License-Identifier: Apache-2.0
"""Newton's method for velocities and contact forces together, island by island.

The lagged forces of solve_step.py converge only linearly. Here the bound of friction changes with
the normal force within a pass: if a contact slips in the direction t, the slope of its friction
contains mu t (df_n / du_n), so the matrix is not symmetric (skyline_lu.py).

The unknowns are the velocities and the forces f. The equations of motion hold exactly from the
first pass on, so only the law of contact can be violated. An augmented Lagrangian (augmented.py)
decides which contacts press and which slip. If the velocity alone decided, a small step would
change the force of a near-rigid contact by many times its size. The measure of an iterate is the
sum of the squared errors of f, each divided by r. Each island takes the share of its step at which
the measure is least. If its steps leave too much of the measure, the law is smoothed, less from
pass to pass (islands.py).

An island is given up after too many short steps, or if a step is not finite. The passes with
lagged forces then continue (solve_step.py).

Source: Alart, Curnier, A mixed formulation for frictional contact problems prone to Newton like
solution methods, 1991; Qi, Sun, A nonsmooth version of Newton's method, 1993.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    ZERO6,
    add3,
    add6,
    add_scaled3,
    add_scaled6,
    dot3,
    dot6,
    load3,
    load6,
    scaled3,
    scaled6,
    store3,
    store6,
    sub3,
)
from rbdyn_ros.engine.algebra.symmetric import ZERO21, columns21, scaled21, times21
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.contact.law.body_sums import (
    add_wrench_pair,
    any_slope,
    at_point,
    is_point,
    next_bodies,
    slope_of_point,
    with_slopes,
    with_torque,
    wrench_at,
)
from rbdyn_ros.engine.contact.law.force import (
    friction,
    has_torque,
    is_viscous,
    normal_force,
    slip_of,
)
from rbdyn_ros.engine.contact.solve.augmented import (
    grip_slopes,
    misses,
    pressed,
    presses_by_law,
    write_steep,
)
from rbdyn_ros.engine.contact.solve.body_blocks import (
    add_point,
    add_slopes,
    block_of,
    write_block,
)
from rbdyn_ros.engine.contact.solve.convergence import FORCE_TOLERANCE, largest_of
from rbdyn_ros.engine.contact.solve.coupled_bodies import (
    begin_coupled,
    is_heap,
    list_paths,
    order_and_grow,
)
from rbdyn_ros.engine.contact.solve.free_bodies import (
    are_free,
    inertia_with_damping,
    write_acceleration,
    write_force,
)
from rbdyn_ros.engine.contact.solve.islands import (
    BEST_SHARE,
    HALVINGS,
    MISSED,
    MOST,
    ROUND,
    START,
    TRIAL,
    TRIAL_SHARE,
    WORKS,
    find_islands,
    island_of,
    mark_islands,
    mark_rows,
    measure_forces,
    next_shares,
    round_off,
    start_search,
    works,
)
from rbdyn_ros.engine.contact.solve.passes import moved_contact
from rbdyn_ros.engine.tree.aba import applied_bias, implicit_damping
from rbdyn_ros.engine.tree.block_lu import factor_blocks, solve_blocks
from rbdyn_ros.engine.tree.points import moved_point
from rbdyn_ros.engine.tree.skyline import diagonal_of, place_of
from rbdyn_ros.engine.tree.skyline_lu import factor_lu, solve_lu
from rbdyn_ros.model.declared.contact_arrays import (
    ACROSS,
    ALONG,
    NORMAL,
    PENALTY,
    PUSH,
    SLIP,
    SLOPE,
    WIDTH,
)
from rbdyn_ros.model.declared.options import IMPLICIT

#: Largest number of Newton iterations in a step. Then the passes with lagged forces continue.
MOST_STEPS = 40


@optional_stage("newton_stage")
def _by_address(table, row):
    solve_by_newton(model_at(table), data_at(table, row))


@inline
def newton_applies(m, d):
    """Return whether the method covers all forces and couplings of the step."""
    applies = m.nmimic + m.nefc == 0 and d.accelerate_stage == 0
    applies = applies and (d.nmutual > 0 or m.opt.integrator_id < IMPLICIT)
    for c in range(d.ncon):
        applies = applies and not has_torque(d, c)
    return applies


@kernel
def solve_by_newton(m, d):
    """Solve the step, starting after a pass of dynamics; write newton_passes and newton_solved.

    It reads contact_step and contact_end of that pass. Before the first pass (solver_niter is 0)
    it starts from the solution for a shorter list of contacts.

    Whether solved or not, the last iterate is in qacc_step, a, contact_change, contact_end and
    contact_lagged.
    """
    d.newton_solved[0] = d.newton_passes[0] = 0
    if d.nmutual == 0 or d.solver_niter == 0:
        begin_coupled(m, d)
    find_islands(m, d)
    for c in range(d.ncon):
        write_steep(m, d, c)
        _move_contact(d, c, 1.0)
    measure_forces(d)
    while True:
        _look(m, d)
        missing, working = mark_islands(m, d, FORCE_TOLERANCE)
        d.newton_solved[0] = 1 if missing == 0 else 0
        if working == 0 or d.newton_passes[0] == MOST_STEPS:
            break
        if d.ordered[0] == 0 and is_heap(m, d):
            order_and_grow(m, d)
        d.newton_passes[0] += 1
        mark_rows(m, d)
        _pass(m, d)
        _search(m, d)
        round_off(m, d)
        _move(m, d)
    for c in range(d.ncon):
        force = max(d.contact_end[c, NORMAL], 0.0)
        d.contact_lagged[c, 0] = d.contact_lagged[c, 1] = force
        store3(d.contact_step, c, ZERO3)  # an island that was given up may have left NaN here
        d.contact_step[c, NORMAL] = 0.0


@kernel
def _look(m, d):
    """Write the errors of the forces of unsolved islands at the iterate."""
    for i in range(1, m.nbody):
        if d.body_island[i] == i and works(d, i):
            search = d.island_search[i]
            search[MISSED] = search[MOST] = search[START] = 0.0
    for c in range(d.ncon):
        if not works(d, d.contact_body[c, 1]):
            continue
        search = d.island_search[island_of(d, c)]
        u = add3(load3(d.contact_vel, c), load3(d.contact_change, c))
        leaving = d.contact_vel[c, NORMAL] + d.contact_change[c, NORMAL]
        across, force = load3(d.contact_end, c), d.contact_end[c, NORMAL]
        pressing, _s = normal_force(d, c, leaving)
        f, _s, _t = friction(d, c, u, pressing)
        missed = max(largest_of(sub3(f, across)), abs(pressing - force))
        search[MISSED] = max(search[MISSED], missed)
        search[MOST] = max(search[MOST], pressing)
        search[START] += misses(d, c, u, leaving, across, force, search[ROUND])


@kernel
def _pass(m, d):
    """Write iterate_qacc and iterate_a of the linearised law, for unsolved islands."""
    _linearise(m, d)
    _fill_matrix(m, d)
    _fill_forces(m, d)
    store6(d.iterate_a, 0, ZERO6)
    if are_free(m, d):
        factor_blocks(m, d, False)
        solve_blocks(m, d, d.skyline_x)
        for i in range(1, m.nbody):
            if works(d, i):
                write_acceleration(m, d, i, d.iterate_a, d.iterate_qacc)
        return
    factor_lu(m, d)
    solve_lu(m, d, d.skyline_x)
    for k in range(m.nv):
        if d.row_works[d.skyline_row[k]] != 0:
            d.iterate_qacc[k] = d.skyline_x[d.skyline_row[k]]
    for i in range(1, m.nbody):
        if works(d, i):
            a, first = load6(d.iterate_a, m.body_parentid[i]), m.body_dofadr[i]
            for k in range(first, first + m.body_dofnum[i]):
                a = add_scaled6(a, load6(d.cdof, k), d.iterate_qacc[k])
            store6(d.iterate_a, i, a)


@kernel
def _linearise(m, d):
    """Write the slopes of the law, its forces at the start of the step, and their sums."""
    for i in range(1, m.nbody):
        if works(d, i):
            store6(d.cfrc_contact, i, ZERO6)
    for c in range(d.ncon):
        if works(d, d.contact_body[c, 1]):
            _linearise_contact(d, c)
            f, t = at_point(d, c, load3(d.contact_load, c), d.contact_load[c, NORMAL])
            add_wrench_pair(d, c, f, t)


@inline
def _linearise_contact(d, c):
    start, change, slope = load3(d.contact_vel, c), load3(d.contact_change, c), ZERO3
    e, end = d.island_search[island_of(d, c), ROUND], load3(d.contact_end, c)
    leaving = d.contact_vel[c, NORMAL] + d.contact_change[c, NORMAL]
    pressing, part = pressed(d, c, leaving, d.contact_end[c, NORMAL], e)
    load, along = _press(d, c, leaving, pressing, part, e)
    f, across, rate = scaled3(start, -d.contact_grip[c, PENALTY]), d.contact_grip[c, PENALTY], 0.0
    if not is_viscous(d, c):
        across, k, t, rate, force = grip_slopes(d, c, add3(start, change), end, pressing, e)
        f = add3(load3(d.contact_memory, c), f)
        f = scaled3(f, across / d.contact_grip[c, PENALTY])
        if k < across:
            force += k * dot3(t, change) + rate * (load - pressing)
            f = add_scaled3(f, t, force - dot3(t, f))
            slope = scaled3(t, np.sqrt(1.0 - k / across))
            rate /= np.sqrt(1.0 - k / across)
    store3(d.contact_load, c, f)
    d.contact_load[c, NORMAL], d.contact_steep[c, 2] = load, rate
    d.contact_force_slope[c, ALONG], d.contact_force_slope[c, ACROSS] = along, across
    for n in range(3):
        d.contact_force_slope[c, SLIP + n] = slope[n]
    _write_grip(d, c, along, slope)


@inline
def _press(d, c, leaving, pressing, part, e):
    """Return the linearised normal force at the start of the step, and its slope."""
    if pressing == 0.0:
        return 0.0, 0.0
    change, slope, steep = (
        d.contact_change[c, NORMAL], d.contact_spring[c, SLOPE], d.contact_steep[c, 0],
    )  # fmt: skip
    if d.contact_spring[c, WIDTH] != 0.0:
        load, slope = normal_force(d, c, leaving)
        return load + slope * change, slope
    if e == 0.0 or presses_by_law(d, c):
        return d.contact_spring[c, PUSH] - slope * d.contact_vel[c, NORMAL], slope
    rest = 1.0 - part + part * steep / slope
    along, force = part * steep / rest, d.contact_end[c, NORMAL]
    return force + (pressing - force) / rest + along * change, along


@inline
def _write_grip(d, c, along, slip):
    """Write contact_closes (a unit normal force) and contact_grows (friction by closing speed)."""
    if not is_viscous(d, c):
        arm, steep = load3(d.contact_arm2, c), d.contact_steep[c, 2] * along
        f, t = at_point(d, c, scaled3(slip, steep), 0.0)
        store6(d.contact_grows, c, with_torque(wrench_at(arm, f), t))
        store6(d.contact_closes, c, wrench_at(arm, load3(d.contact_normal, c)))


@inline
def _slips(d, c):
    """Return whether the friction of a contact grows with its normal force."""
    slip = slip_of(d.contact_force_slope[c])
    return d.contact_force_slope[c, ALONG] > 0.0 and dot3(slip, slip) > 0.0


@inline
def _growth(d, c):
    """Return the derivative of a contact's friction by its velocity along the normal."""
    return d.contact_steep[c, 2] * d.contact_force_slope[c, ALONG] if _slips(d, c) else 0.0


@kernel
def _fill_matrix(m, d):
    """Write skyline and skyline_upper of the unsolved islands: M + h B + h J^T C J."""
    free = are_free(m, d)
    if free:
        for i in range(1, m.nbody):
            if works(d, i):
                write_block(d, block_of(m, d, i), inertia_with_damping(m, d, i))
    else:
        _fill_rows(m, d)
    c = 0
    while c < d.ncon:
        end = next_bodies(d, c)
        if works(d, d.contact_body[c, 1]) and any_slope(d, c, end):
            alone = end == c + 1 and is_point(d, c)
            if free and alone:
                add_point(m, d, c, slope_of_point(d, c, m.opt.timestep, _growth(d, c)), False)
            elif free:
                _add_to_blocks(m, d, c, end)
            elif alone:
                _add_point(m, d, c)
            else:
                _add_contacts(m, d, c, end)
        c = end


@kernel
def _fill_rows(m, d):
    """Write M + h B of the unsolved islands to skyline and skyline_upper."""
    h = m.opt.timestep
    viscosity_step = h if m.opt.integrator_id >= IMPLICIT else implicit_damping(m, h)
    for k in range(m.nv):
        row = d.skyline_row[k]
        if d.row_works[row] == 0:
            continue
        end = diagonal_of(row)
        for n in range(place_of(d, row, d.skyline_first[row]), end):
            d.skyline[n] = d.skyline_upper[n] = 0.0
        start = end - d.skyline_depth[row]
        for e in range(m.M_rowadr[k], m.M_rowadr[k] + m.M_rownnz[k]):
            n = start + d.skyline_depth[d.skyline_row[m.M_colind[e]]]
            d.skyline[n] = d.skyline_upper[n] = d.M[e]
        d.skyline[end] += viscosity_step * d.dof_viscosity[k]


@kernel
def _add_point(m, d, c):
    """Add h J^T C J of the only contact of two bodies. J has the three rows of its velocity."""
    slope, normal, arm = (
        d.contact_force_slope[c], load3(d.contact_normal, c), load3(d.contact_arm2, c),
    )  # fmt: skip
    along, across, slip, h = slope[ALONG], slope[ACROSS], slip_of(slope), m.opt.timestep
    grows = _growth(d, c)
    _middle, number = list_paths(m, d, c)
    for n in range(number):
        store3(d.path_axis, n, moved_point(load6(d.path_axis, n), arm))
    for b in range(number):
        v, k = load3(d.path_axis, b), d.path_row[b]
        away = dot3(normal, v)
        f = add_scaled3(scaled3(v, h * across), normal, h * (along - across) * away)
        f = add_scaled3(f, slip, h * (grows * away - across * dot3(slip, v)))
        for a in range(number):
            _add_entry(d, d.path_row[a], k, dot3(load3(d.path_axis, a), f))


@inline
def _add_entry(d, i, k, value):
    """Add `value` to the entry in row i and column k of the matrix."""
    if i < k:
        d.skyline_upper[place_of(d, k, i)] += value
    else:
        d.skyline[place_of(d, i, k)] += value


@kernel
def _add_contacts(m, d, first, end):
    """Add h J^T C J of the contacts of two bodies."""
    A = with_slopes(d, first, end, ZERO21)
    _middle, number = list_paths(m, d, first)
    for b in range(number):
        axis, k = load6(d.path_axis, b), d.path_row[b]
        F = times21(A, axis)
        for c in range(first, end):
            if _slips(d, c):
                F = add_scaled6(
                    F, load6(d.contact_grows, c), dot6(load6(d.contact_closes, c), axis)
                )
        F = scaled6(F, m.opt.timestep)
        for a in range(number):
            _add_entry(d, d.path_row[a], k, dot6(load6(d.path_axis, a), F))


@kernel
def _add_to_blocks(m, d, first, end):
    """Add the contacts of two bodies to their blocks."""
    h = m.opt.timestep
    p, q, r, x, y, z = columns21(scaled21(with_slopes(d, first, end, ZERO21), h))
    for c in range(first, end):
        if _slips(d, c):
            grows, closes = scaled6(load6(d.contact_grows, c), h), load6(d.contact_closes, c)
            p, q = add_scaled6(p, grows, closes[0]), add_scaled6(q, grows, closes[1])
            r, x = add_scaled6(r, grows, closes[2]), add_scaled6(x, grows, closes[3])
            y, z = add_scaled6(y, grows, closes[4]), add_scaled6(z, grows, closes[5])
    add_slopes(m, d, first, (p, q, r, x, y, z), False)


@kernel
def _fill_forces(m, d):
    """Write skyline_x: all forces of the unsolved islands at the start of the step."""
    if are_free(m, d):
        for i in range(1, m.nbody):
            if works(d, i):
                write_force(m, d, i)
        return
    for i in range(1, m.nbody):
        if works(d, i):
            store6(d.pA, i, applied_bias(m, d, i, m.opt.timestep))
    for i in range(m.nbody - 1, 0, -1):
        parent = m.body_parentid[i]
        if parent > 0 and works(d, i):
            store6(d.pA, parent, add6(load6(d.pA, parent), load6(d.pA, i)))
    for k in range(m.nv):
        row = d.skyline_row[k]
        if d.row_works[row] != 0:
            force = d.qfrc_applied[k] + d.qfrc_passive[k]
            d.skyline_x[row] = force - dot6(load6(d.cdof, k), load6(d.pA, m.dof_bodyid[k]))


@kernel
def _search(m, d):
    """Write contact_step and the forces at its end; find the shares of the step to take."""
    h = m.opt.timestep
    for c in range(d.ncon):
        if works(d, d.contact_body[c, 1]):
            across, away, _turn = moved_contact(d, c, d.iterate_a)
            step = sub3(scaled3(across, h), load3(d.contact_change, c))
            way = h * away - d.contact_change[c, NORMAL]
            store3(d.contact_step, c, step)
            d.contact_step[c, NORMAL] = way
            _linear_forces(d, c, scaled3(across, h), h * away)
    start_search(m, d)
    for _ in range(HALVINGS):
        for c in range(d.ncon):
            i = island_of(d, c)
            if d.island_works[i] == WORKS:
                d.island_search[i, TRIAL] += _misses_at(d, c, d.island_search[i, TRIAL_SHARE])
        if not next_shares(m, d):
            break


@inline
def _linear_forces(d, c, change, away):
    """Write contact_next: the linearised forces after a change of the velocity at the start."""
    slope = d.contact_force_slope[c]
    slip = slip_of(slope)
    grows = _growth(d, c) * away
    f = add_scaled3(change, slip, -dot3(slip, change))
    f = add_scaled3(load3(d.contact_load, c), f, -slope[ACROSS])
    store3(d.contact_next, c, add_scaled3(f, slip, -grows))
    d.contact_next[c, NORMAL] = d.contact_load[c, NORMAL] - slope[ALONG] * away


@inline
def _misses_at(d, c, share):
    """Return the result of `misses` after a share of the step."""
    u = add3(load3(d.contact_vel, c), load3(d.contact_change, c))
    u = add_scaled3(u, load3(d.contact_step, c), share)
    leaving = d.contact_vel[c, NORMAL] + d.contact_change[c, NORMAL]
    leaving += share * d.contact_step[c, NORMAL]
    across, force = _between(d, c, share)
    return misses(d, c, u, leaving, across, force, d.island_search[island_of(d, c), ROUND])


@inline
def _between(d, c, share):
    """Return a contact's friction and normal force after a share of the step."""
    across = scaled3(load3(d.contact_end, c), 1.0 - share)
    force = (1.0 - share) * d.contact_end[c, NORMAL]
    across = add_scaled3(across, load3(d.contact_next, c), share)
    return across, force + share * d.contact_next[c, NORMAL]


@kernel
def _move(m, d):
    """Move the iterate of each unsolved island by its share of the step."""
    for c in range(d.ncon):
        i = island_of(d, c)
        if works(d, i):
            share = d.island_search[i, BEST_SHARE]
            _move_contact(d, c, share)
            across, force = _between(d, c, share)
            store3(d.contact_end, c, across)
            d.contact_end[c, NORMAL] = force
    for i in range(1, m.nbody):
        if works(d, i):
            share = d.island_search[d.body_island[i], BEST_SHARE]
            a = scaled6(load6(d.a, i), 1.0 - share)
            store6(d.a, i, add_scaled6(a, load6(d.iterate_a, i), share))
            for k in range(m.body_dofadr[i], m.body_dofadr[i] + m.body_dofnum[i]):
                d.qacc_step[k] += share * (d.iterate_qacc[k] - d.qacc_step[k])


@inline
def _move_contact(d, c, share):
    """Move contact_change by a share of contact_step."""
    step = load3(d.contact_step, c)
    store3(d.contact_change, c, add_scaled3(load3(d.contact_change, c), step, share))
    d.contact_change[c, NORMAL] += share * d.contact_step[c, NORMAL]
