# SPDX-License-Identifier: Apache-2.0
"""Islands: groups of trees that are connected by contacts.

Nothing couples two islands in a step, so each island is solved separately: a solved island is not
factored again while others still iterate, and each island takes its own share of a Newton step
(newton.py). An island has the number of one of its bodies. body_island is the island of a body.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.model.declared.contact_arrays import NORMAL

#: Columns of island_search: the error of its forces; its largest normal force; the measure of the
#: line search at the iterate, at the trial, and at the best trial; the shares of the step at the
#: trial and at the best trial.
MISSED, MOST, START, TRIAL, BEST, TRIAL_SHARE, BEST_SHARE = 0, 1, 2, 3, 4, 5, 6
#: More columns: the number of short steps; the number of passes that found the island solved; the
#: force e over which the law is smoothed; the number of bad steps; the number of contacts; and the
#: mean normal force at the start.
SHORT, NEAR, ROUND, BAD, CONTACTS, FORCE = 7, 8, 9, 10, 11, 12

#: Values of island_works: the island is given up, is solved, is unsolved, or its share of the step
#: is found.
GIVEN_UP, SOLVED, WORKS, SEARCHED = -1, 0, 1, 2

#: A step is short if less than the share LONG of it is taken. After MOST_SHORT such steps the
#: island is given up.
MOST_SHORT, LONG = 12, 1.0 / 16.0

#: A step that reduces the measure to less than this part is taken without another trial.
GOOD = 0.01

#: A step is bad if it leaves more than the part SLOW of the measure. After MOST_BAD such steps the
#: law is smoothed, at first over e = FIRST_ROUND times the mean force.
MOST_BAD, SLOW, FIRST_ROUND = 2, 0.4, 0.1

#: Factors of e: after a whole step that leaves less than 1e-4, less than 1e-2, or more of the
#: measure, and after a share of more than a fifth. If e is below LEAST_ROUND times the mean force,
#: it becomes zero.
QUICKLY, STEADILY, CAREFULLY, HARDLY, LEAST_ROUND = 1e-3, 0.1, 0.3, 0.7, 1e-4

#: After every STUCK short steps e is multiplied by MORE, and the whole step is taken.
STUCK, MORE = 3, 100.0

#: If the error of an island is below the tolerance, but above this part of it, the island takes
#: one more step.
EXACT = 0.2

#: Largest number of halvings of a step's share.
HALVINGS = 10


@kernel
def find_islands(m, d):
    """Write body_island, and mark all islands as unsolved."""
    for i in range(m.nbody):
        d.body_island[i] = m.body_rootid[i]
        d.island_works[i] = WORKS
        for k in (SHORT, NEAR, ROUND, BAD, CONTACTS, FORCE):
            d.island_search[i, k] = 0.0
    for c in range(d.ncon):
        if d.contact_body[c, 0] > 0:
            a = _top(d, m.body_rootid[d.contact_body[c, 0]])
            b = _top(d, m.body_rootid[d.contact_body[c, 1]])
            d.body_island[max(a, b)] = min(a, b)
    for i in range(1, m.nbody):
        # the number of a root is at most the body's, and the number of an island at most the
        # root's
        d.body_island[i] = d.body_island[d.body_island[i]]


@kernel
def measure_forces(d):
    """Write the mean normal force of each island."""
    for c in range(d.ncon):
        search = d.island_search[island_of(d, c)]
        search[CONTACTS] += 1.0
        search[FORCE] += (abs(d.contact_end[c, NORMAL]) - search[FORCE]) / search[CONTACTS]


@inline
def _top(d, i):
    while d.body_island[i] != i:
        i = d.body_island[i]
    return i


@inline
def island_of(d, c):
    """Return the island of a contact."""
    return d.body_island[d.contact_body[c, 1]]


@inline
def works(d, i):
    """Return whether the island of body i still takes steps."""
    return d.island_works[d.body_island[i]] > SOLVED


@kernel
def mark_islands(m, d, tolerance):
    """Write island_works: solved if the force error is within `tolerance` times the largest force.

    Return the number of islands that are not solved, and how many of them still take steps.
    """
    most, missing, working = 0.0, 0, 0
    for i in range(1, m.nbody):
        if d.body_island[i] == i:
            most = max(most, d.island_search[i, MOST])
    for i in range(1, m.nbody):
        if d.body_island[i] == i:
            search, d.island_works[i] = d.island_search[i], SOLVED
            near = search[MISSED] <= tolerance * most  # false for NaN
            search[NEAR] += near
            exact = search[MISSED] <= EXACT * tolerance * most or search[NEAR] > 1.0
            if not (near and exact):
                d.island_works[i] = WORKS if search[SHORT] < MOST_SHORT else GIVEN_UP
                missing += 1
                working += search[SHORT] < MOST_SHORT
    return missing, working


@kernel
def mark_rows(m, d):
    """Write row_works: 1 for the rows of islands that still take steps, else 0."""
    for i in range(1, m.nbody):
        found = 1 if works(d, i) else 0
        for k in range(m.body_dofadr[i], m.body_dofadr[i] + m.body_dofnum[i]):
            d.row_works[d.skyline_row[k]] = found


@kernel
def start_search(m, d):
    """Begin the line search of the unsolved islands with their whole steps."""
    for i in range(1, m.nbody):
        if d.body_island[i] == i and works(d, i):
            search = d.island_search[i]
            search[TRIAL], search[BEST] = 0.0, np.inf
            search[TRIAL_SHARE] = search[BEST_SHARE] = 1.0


@kernel
def next_shares(m, d):
    """Halve the shares of trials that are not good enough; return whether any needs another trial.

    If the step of an island is not finite because a pivot was zero, the island is given up.
    """
    found = False
    for i in range(1, m.nbody):
        if d.body_island[i] != i or d.island_works[i] != WORKS:
            continue
        search = d.island_search[i]
        if not search[TRIAL] < np.inf:  # the step is not finite, so no share of it helps
            search[SHORT], d.island_works[i] = MOST_SHORT, GIVEN_UP
            continue
        better = search[TRIAL] < search[BEST]
        if better:
            search[BEST], search[BEST_SHARE] = search[TRIAL], search[TRIAL_SHARE]
        enough = search[BEST] < GOOD * search[START]
        if enough or (not better and search[BEST] < search[START]):
            d.island_works[i] = SEARCHED
        else:
            found = True
        search[TRIAL], search[TRIAL_SHARE] = 0.0, 0.5 * search[TRIAL_SHARE]
    return found


@kernel
def round_off(m, d):
    """Choose e of the unsolved islands for the next pass.

    An island begins with e = 0. After bad steps e becomes a part of its mean force, and it shrinks
    as the steps succeed. If steps become short, the path of solutions turns back or ends at the
    present e; then e grows, and the island takes a whole step.
    """
    for i in range(1, m.nbody):
        if d.body_island[i] == i and works(d, i):
            _round_off(d.island_search[i])


@inline
def _round_off(search):
    share, left = search[BEST_SHARE], search[BEST] / search[START]
    if search[BAD] < MOST_BAD:
        search[BAD] += left > SLOW
        if search[BAD] == MOST_BAD:
            search[ROUND] = FIRST_ROUND * search[FORCE]
        return
    if share == 1.0:
        fast = STEADILY if left < 1e-2 else CAREFULLY
        search[ROUND] *= QUICKLY if left < 1e-4 else fast
    elif share > 0.2:
        search[ROUND] *= HARDLY
    least = LEAST_ROUND * search[FORCE]
    if share < LONG:
        search[SHORT] += 1.0
        if search[SHORT] % STUCK == 0.0:
            search[ROUND] = min(max(search[ROUND], least) * MORE, search[FORCE])
            search[BEST_SHARE] = 1.0
    elif search[ROUND] < least:
        search[ROUND] = 0.0
