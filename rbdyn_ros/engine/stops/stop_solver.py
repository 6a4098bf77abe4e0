# SPDX-License-Identifier: Apache-2.0
"""Dry friction and limits of joints in a step without contact: Newton's method.

The forces are the gradient of a convex, piecewise quadratic potential. Each pass of dynamics
assumes one piece for each dof, and wrong pieces are switched before the next pass. A joint that
stays at rest or keeps sliding needs one pass. A joint that stops or breaks away needs two passes,
sometimes three or four. If switching does not end, a line search follows, which converges. In
steps with contact, the contact solver (contact/solve/solve_step.py) handles contacts and joints
together.
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
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
from rbdyn_ros.engine.stops.stop_potential import SLOPE_TOLERANCE, potential_slope
from rbdyn_ros.engine.tree.aba import accelerate_step

#: Largest number of passes of dynamics in a step, and number of first passes without line search.
MAX_PASSES, MAX_SWITCHES = 30, 3

HALVINGS = 40


@optional_stage("stop_stage")
def _by_address(table, row):
    solve_stops(model_at(table), data_at(table, row))


@kernel
def solve_stops(m, d):
    """Write qacc_step, the acceleration of the step, and the stop forces. Call `passive` first."""
    h, solved = m.opt.timestep, False
    start_stops(m, d)
    for n in range(MAX_PASSES):
        accelerate_step(m, d, h)
        d.solver_niter = n + 1
        solved = not find_wrong_pieces(m, d)
        if solved:
            break
        if n < MAX_SWITCHES:
            switch_wrong_pieces(m, d)
        else:
            move_stop_iterate(m, d, stop_line_search(m, d) if n > MAX_SWITCHES else 1.0)
            take_pieces_at_iterate(m, d)
    if not solved:
        stop_viscously(m, d)
        accelerate_step(m, d, h)
        d.nunsolved = d.nunsolved + 1
    else:
        for _ in range(SETTLINGS):
            if not settle_still(m, d):
                break
            accelerate_step(m, d, h)
    keep_stops(m, d, solved)


@kernel
def stop_line_search(m, d):
    """Return the share of the way to the end of the last pass at which the potential is least."""
    start = potential_slope(m, d, 0.0)
    if start >= 0.0 or potential_slope(m, d, 1.0) <= -SLOPE_TOLERANCE * start:
        return 1.0
    low, high, share = 0.0, 1.0, 1.0
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        slope = potential_slope(m, d, share)
        if abs(slope) <= -SLOPE_TOLERANCE * start:
            break
        if slope > 0.0:
            high = share
        else:
            low = share
    return share
