# SPDX-License-Identifier: Apache-2.0
"""The contact forces of a step: Newton's method over the articulated-body pass.

If the normal forces that bound friction are held fixed (lagged forces), the contact forces are the
gradient of a convex potential, so Newton's method with a line search converges. An iteration is
one pass of dynamics with linearised contacts (linearise.py) and an evaluation of the law at the
new velocities. Once the forces have converged for the lagged forces, the lagged forces are moved
(lagged.py). If these moves do not converge, Newton's method moves them too (lagged_newton.py). If
moving bodies touch each other, a pass factors a matrix (coupled_bodies.py).

In a Model in which moving bodies can touch each other, Newton's method for velocities and all
forces together (newton.py) is tried first, on the islands that the first pass has not solved. It
requires that no joint is held by friction or a limit. If it does not converge, the iteration above
follows, and Newton's method is tried again from its iterates.

Then contacts that begin in the step because of the forces are listed, and the iteration continues,
with Newton's method first (late_contacts.py).

A body at rest needs one pass: its remembered forces are the solution. If a step is not solved
after STUBBORN passes, near-rigid contacts become softer. If it has not converged after MAX_PASSES,
it is counted in nunsolved. Its lagged forces are then held, and the remaining problem is convex:
the normal forces are exact, and friction dissipates energy. If this does not converge in
HELD_PASSES, friction becomes viscous.

Source: Baraff, Witkin, Large steps in cloth simulation, 1998 (one iteration); Castro et al., An
unconstrained convex formulation of compliant contact, 2022 (line search); Castro et al.,
Irrotational contact fields, 2023 (lagged normal forces).
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage, data_at, model_at, optional_stage
from rbdyn_ros.engine.contact.law.contact_constants import soften
from rbdyn_ros.engine.contact.points.hits import find_hits, hold_back
from rbdyn_ros.engine.contact.solve.arcs import follow_arcs
from rbdyn_ros.engine.contact.solve.convergence import (
    FORCE_TOLERANCE,
    compare_with_law,
    write_step_and_forces,
)
from rbdyn_ros.engine.contact.solve.impacts import any_rebounds, weaken_rebounds, work_of_impacts
from rbdyn_ros.engine.contact.solve.lagged import move_lagged
from rbdyn_ros.engine.contact.solve.lagged_newton import newton_step
from rbdyn_ros.engine.contact.solve.late_contacts import list_late_contacts
from rbdyn_ros.engine.contact.solve.line_search import contact_line_search
from rbdyn_ros.engine.contact.solve.linearise import (
    linearise_after_step,
    linearise_at_iterate,
    linearise_at_start,
    linearise_viscous,
)
from rbdyn_ros.engine.contact.solve.newton import newton_applies
from rbdyn_ros.engine.contact.solve.passes import keep_iterate, move_iterate, pass_once
from rbdyn_ros.engine.stops.stop_law import exact_stops
from rbdyn_ros.engine.stops.stop_pieces import (
    SETTLINGS,
    find_wrong_pieces,
    keep_stops,
    move_stop_iterate,
    settle_still,
    start_stops,
    stop_viscously,
    switch_wrong_pieces,
    take_pieces_at_iterate,
)
from rbdyn_ros.engine.stops.stop_solver import MAX_SWITCHES

#: Largest number of passes of dynamics in a step.
MAX_PASSES = 200

#: Newton's method for all forces is tried again after this many passes with lagged forces. The
#: number more than doubles for each further try.
RETRY = 20

#: Number of passes after which near-rigid contacts become softer.
STUBBORN = 60

#: Number of passes at the end in which the lagged forces no longer move.
HELD_PASSES = 20

#: The list of contacts that begin in the step is made at most this often.
LATE_LISTS = 3

#: An impact that adds energy is solved again at most this often, with smaller restitution.
CHORDS = 4

#: The lagged forces move if the error of the law is less than this part of the error of friction
#: that they cause.
SETTLED = 0.3

#: EXACTLY_SETTLED replaces SETTLED for moves by Newton's method. The first EASY moves do not use
#: this method.
EXACTLY_SETTLED, EASY = 0.1, 6


@optional_stage("solve_step_stage")
def _by_address(table, row):
    solve_step(model_at(table), data_at(table, row))


@kernel
def solve_step(m, d):
    """Write qacc_step, the acceleration of the step, and the contact forces in it."""
    stops, passes = exact_stops(m, d), 0
    if m.nskyline > 0:
        d.ordered[0] = 0
    follow_arcs(m, d)
    linearise_at_start(m, d)
    if stops:
        start_stops(m, d)
    solved, exact = _solve(m, d, stops, False, False)
    for _ in range(LATE_LISTS):
        if not exact:
            break
        found, carried = list_late_contacts(m, d)
        if not found:
            break
        passes += d.solver_niter
        if stops:
            move_stop_iterate(m, d, 1.0)
        follow_arcs(m, d)
        linearise_at_iterate(m, d)
        solved, exact = _solve(m, d, stops, True, carried)
    if exact and any_rebounds(d):
        gained = work_of_impacts(m, d)
        if gained > 0.0:
            passes += d.solver_niter
            solved, exact = _solve_without_gain(m, d, stops, gained)
    if d.nmutual > 0:
        find_hits(d)
        hold_back(m, d)
    d.solver_niter += passes
    if not exact:
        d.nunsolved = d.nunsolved + 1
    if stops:
        for _ in range(SETTLINGS if solved else 0):
            if not settle_still(m, d):
                break
            pass_once(m, d)
            write_step_and_forces(m, d)
        keep_stops(m, d, solved)


@kernel
def _solve(m, d, stops, moved, carried):
    """Find the forces of the listed contacts.

    `moved` is true if an iterate exists, from which the line search starts. `carried` is true if
    the forces contact_end cause the accelerations of the iterate, so that Newton's method can
    start from them. Return whether the forces satisfy the law for the lagged forces, and whether
    the lagged forces are right.
    """
    solved = exact = softer = False
    switches = held = newton = 0
    retry = 0 if m.nskyline > 0 and not stops else MAX_PASSES + 1
    _restart_lagged(d)
    n = d.solver_niter = 0
    if carried and retry == 0 and newton_applies(m, d):
        if _solved_by_newton(m, d):
            return True, True
        retry, newton = RETRY, d.newton_passes[0]
    while held < HELD_PASSES:
        if n >= STUBBORN and not softer:
            softer = True
            _soften(m, d)
        pass_once(m, d)
        n += 1
        held += n > MAX_PASSES
        d.solver_niter = n + newton
        # true if a joint has stopped, or has begun to move
        wrong_piece = stops and find_wrong_pieces(m, d)
        if wrong_piece and switches < MAX_SWITCHES:
            switch_wrong_pieces(m, d)
            switches += 1
            continue
        if not wrong_piece:
            switches = 0
        solved = exact = write_step_and_forces(m, d) and not wrong_piece
        if solved:
            break
        if retry <= n <= MAX_PASSES and newton_applies(m, d):
            retry, moved = 2 * n + RETRY, True
            solved = exact = _solved_by_newton(m, d)
            newton += d.newton_passes[0]
            d.solver_niter = n + newton
            if solved:
                break
            continue
        missed, disc, wrong, most, gained, curve, before = compare_with_law(d)
        there = missed <= FORCE_TOLERANCE * most and not wrong_piece
        exact = there and wrong <= FORCE_TOLERANCE * most
        solved = exact or (there and n >= MAX_PASSES)
        if solved:
            break
        # at the solution for these lagged forces the line search would compare rounding errors
        share = contact_line_search(m, d, gained, curve, before) if moved and not there else 1.0
        if moved:
            move_iterate(m, d, share)
        else:
            keep_iterate(m, d)
        moved = True
        if stops:
            move_stop_iterate(m, d, share)
        if share == 1.0 and n < MAX_PASSES and not wrong_piece:
            n += _move_lagged_forces(m, d, missed, disc, wrong)
        linearise_after_step(m, d, share)
        if wrong_piece:
            take_pieces_at_iterate(m, d)
    if not solved:
        linearise_viscous(m, d)
        if stops:
            stop_viscously(m, d)
        pass_once(m, d)
        write_step_and_forces(m, d)
    return solved, exact


@kernel
def _solve_without_gain(m, d, stops, gained):
    """Solve the step again with the largest share of restitution that adds no energy (impacts.py).

    Return the result of `_solve`. `gained` is the energy that the full restitution adds.
    """
    low, high, passes = 0.0, 1.0, 0
    solved, exact = _solve_again(m, d, stops, low)
    lost, work = work_of_impacts(m, d), 0.0
    for _ in range(CHORDS):
        if not exact or lost >= 0.0:
            break
        passes += d.solver_niter
        share = low + (high - low) * lost / (lost - gained)
        solved, exact = _solve_again(m, d, stops, share)
        work = work_of_impacts(m, d)
        if work > 0.0:
            high, gained = share, work
        else:
            low, lost = share, work
    if not exact or work > 0.0:
        passes += d.solver_niter
        solved, exact = _solve_again(m, d, stops, low)
    d.solver_niter += passes
    return solved, exact


@inline
def _solve_again(m, d, stops, share):
    """Solve from the present solution, with a share of the restitution; see `_solve`."""
    keep_iterate(m, d)
    if stops:
        move_stop_iterate(m, d, 1.0)
    weaken_rebounds(m, d, share)
    linearise_at_iterate(m, d)
    return _solve(m, d, stops, True, True)


@kernel
def _solved_by_newton(m, d):
    """Solve the step by Newton's method, keep its last iterate; return whether it converged."""
    _restart_lagged(d)
    call_stage(m.newton_stage, m, d)
    d.solver_niter = d.newton_passes[0]
    if d.newton_solved[0] == 1:
        return True
    keep_iterate(m, d)
    linearise_after_step(m, d, 0.0)
    return False


@inline
def _move_lagged_forces(m, d, missed, disc, wrong):
    """Move the lagged forces if the error `missed` is small; return the number of passes used."""
    if d.lagged_count[0] < EASY:
        if missed <= SETTLED * disc:
            move_lagged(d)
    elif missed <= EXACTLY_SETTLED * disc:
        return newton_step(m, d, wrong)
    return 0


@inline
def _restart_lagged(d):
    """Clear the record of the moves of the lagged forces."""
    d.lagged_count[0] = d.lagged_pairs[0] = 0
    d.lagged_missed[0] = 0.0


@kernel
def _soften(m, d):
    """Make contacts softer, and continue from the present iterate."""
    for c in range(d.ncon):
        soften(m, d, c)
    _restart_lagged(d)
    linearise_after_step(m, d, 0.0)
