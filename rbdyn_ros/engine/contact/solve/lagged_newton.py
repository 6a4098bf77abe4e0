# SPDX-License-Identifier: Apache-2.0
"""Newton's method for the lagged normal forces, used if the moves of lagged.py do not converge.

The normal forces n(N) of a step are a piecewise linear function of the lagged forces N: the
friction of a contact that slips is mu N, and changes the normal forces of all contacts. A pass of
dynamics with this friction alone gives a column of B = dn / dN, and the step is

    (1 + s - B) dN = n - N

with s = 0, except for a few moves if the gap does not shrink. If friction increases the normal
forces so much that it grows by itself (B > 1, as in Painleve's rod), this step leads away from the
solution, to a smaller N. Then the step is reversed, until the contact sticks.

A solution exists for any friction: n(N) is continuous, and bounded because contacts stick.

Source: Brouwer's fixed-point theorem (existence); Alart, Curnier, A mixed formulation for
frictional contact problems prone to Newton like solution methods, 1991; Dauphin et al.,
Identifying and attacking the saddle point problem, 2014 (reversed steps).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.dense import solve_square
from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    add_scaled6,
    dot3,
    load3,
    load6,
    scaled3,
    sub3,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import add_wrench_pair, at_point
from rbdyn_ros.engine.contact.law.force import has_torque, is_viscous, slip_of
from rbdyn_ros.engine.contact.solve.lagged import approach_lagged, move_lagged
from rbdyn_ros.engine.contact.solve.passes import pass_once
from rbdyn_ros.engine.tree.points import moved_point
from rbdyn_ros.model.declared.contact_arrays import ALONG, MU, ROLLING, TORSIONAL

#: s cycles through the first DAMPING_VALUES multiples of DAMPING_STEP, from 0, and keeps each for
#: DAMPING_MOVES moves.
DAMPING_MOVES, DAMPING_STEP, DAMPING_VALUES = 8, 0.5, 3

#: Newton's method changes up to EARLY_FORCES lagged forces at once, and after EARLY_MOVES moves up
#: to nlagged. If more contacts slip, moves by a part of the gap alternate with combined moves, in
#: blocks of BLOCK_MOVES.
EARLY_FORCES, EARLY_MOVES, BLOCK_MOVES = 8, 24, 12

#: A move is at most this many times as long as the largest force.
LONGEST_MOVE = 10.0


@kernel
def newton_step(m, d, missed):
    """Move contact_lagged by one step of Newton's method; return how many passes the step took.

    A step takes one pass for each contact that slips, and one more. If so many contacts slip that
    the lagged forces are moved as in lagged.py instead, 0 is returned. The Data must have the
    iterate of the last pass; `missed` is the error of the friction forces.
    """
    number, late = _list_slipping(m, d), d.lagged_count[0] - EARLY_MOVES
    if number > (EARLY_FORCES if late < 0 else m.nlagged):
        if late >= 0 and late // BLOCK_MOVES % 2 == 0:
            approach_lagged(d)
        else:
            move_lagged(d)
        return 0
    damping, size = _damping(d, missed), 0.0
    for c in range(d.ncon):
        size = max(size, d.contact_lagged[c, 0], abs(d.contact_gap[c, 0]))
    for a in range(number):
        _fill_column(m, d, a, number, size)
        d.lagged_matrix[a, a] += 1.0 + damping
    for a in range(number):
        d.lagged_step[a] = d.contact_gap[d.lagged_slipping[a], 0]
    solve_square(d.lagged_matrix, number, d.lagged_step)
    _follow_the_gap(d, number)
    for a in range(number):
        c = d.lagged_slipping[a]
        d.lagged_step[a] = min(max(d.lagged_step[a], -d.contact_lagged[c, 0]), LONGEST_MOVE * size)
        _add_friction(d, c, d.lagged_step[a])
    pass_once(m, d)
    for c in range(d.ncon):
        d.contact_lagged[c, 1], d.contact_gap[c, 1] = d.contact_lagged[c, 0], d.contact_gap[c, 0]
        change = (d.contact_gap[c, 0] + _change_of_force(m, d, c)) / (1.0 + damping)
        d.contact_lagged[c, 0] = max(d.contact_lagged[c, 0] + change, 0.0)
    for a in range(number):
        c = d.lagged_slipping[a]
        d.contact_lagged[c, 0] = d.contact_lagged[c, 1] + d.lagged_step[a]
    d.lagged_pairs[0] = 0
    return number + 1


@inline
def _damping(d, missed):
    """Count a move; return s of the next move.

    s is zero after a move that has halved the error of the friction forces.
    """
    before, d.lagged_missed[0] = d.lagged_missed[0], missed
    d.lagged_count[0] += 1
    if missed < 0.5 * before:
        return 0.0
    return DAMPING_STEP * (d.lagged_count[0] // DAMPING_MOVES % DAMPING_VALUES)


@inline
def _list_slipping(m, d):
    """Write lagged_slipping: the contacts whose friction depends on their lagged forces.

    Return the number of these contacts; at most nlagged of them are written.
    """
    number = 0
    for c in range(d.ncon):
        force, torque = _friction(d, c)
        if dot3(force, force) + dot3(torque, torque) > 0.0:
            if number < m.nlagged:
                d.lagged_slipping[number] = c
            number += 1
    return number


@inline
def _friction(d, c):
    """Return the derivatives of a contact's friction and torque by its lagged force."""
    force = torque = ZERO3
    if not is_viscous(d, c):
        across = scaled3(slip_of(d.contact_force_slope[c]), d.contact_grip[c, MU])
        force, torque = at_point(d, c, across, 0.0)
    if has_torque(d, c):
        slope, normal = d.contact_torque_slope[c], load3(d.contact_normal, c)
        torque = add3(torque, scaled3(slip_of(slope), d.contact_grip[c, ROLLING]))
        if slope[ALONG] == 0.0:
            torsional = dot3(normal, load3(d.contact_load_torque, c))
            most = d.contact_grip[c, TORSIONAL]
            torque = add3(torque, scaled3(normal, np.sign(torsional) * most))
    return force, torque


@inline
def _add_friction(d, c, size):
    """Add the friction of a lagged force `size` to cfrc_contact."""
    force, torque = _friction(d, c)
    add_wrench_pair(d, c, scaled3(force, size), scaled3(torque, size))


@inline
def _fill_column(m, d, a, number, size):
    """Write column a of -B, the effect of a lagged force `size` of contact lagged_slipping[a]."""
    _add_friction(d, d.lagged_slipping[a], size)
    pass_once(m, d)
    _add_friction(d, d.lagged_slipping[a], -size)
    for b in range(number):
        d.lagged_matrix[b, a] = -_change_of_force(m, d, d.lagged_slipping[b]) / size


@inline
def _change_of_force(m, d, c):
    """Return the change of a contact's normal force between the accelerations iterate_a and a."""
    body1, body2 = d.contact_body[c, 0], d.contact_body[c, 1]
    change = add_scaled6(load6(d.a, body2), load6(d.iterate_a, body2), -1.0)
    there = moved_point(change, load3(d.contact_arm2, c))
    if body1 > 0:
        change = add_scaled6(load6(d.a, body1), load6(d.iterate_a, body1), -1.0)
        there = sub3(there, moved_point(change, load3(d.contact_arm1, c)))
    return (
        -d.contact_force_slope[c, ALONG] * m.opt.timestep * dot3(load3(d.contact_normal, c), there)
    )


@inline
def _follow_the_gap(d, number):
    """Reverse the step if its product with the gap n - N is negative."""
    along = 0.0
    for a in range(number):
        along += d.lagged_step[a] * d.contact_gap[d.lagged_slipping[a], 0]
    if along < 0.0:
        for a in range(number):
            d.lagged_step[a] = -d.lagged_step[a]
