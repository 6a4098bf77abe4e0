"""The latched normal forces, which bound friction: where they are those of the solution.

Friction moves the normal forces, so latches that took over the normal forces of the last solution
would approach them by a constant part each time, or not at all. The last few moves and what they
changed give a better one: the combination of them that leaves the smallest gap.

Source: Anderson, Iterative procedures for nonlinear integral equations, 1965 (type II).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.jit import inline, kernel

#: Moves that are remembered.
DEPTH = 5

#: Part of the gap of a move that uses no others.
PART = 0.5

#: A move tells nothing new if less than this part of its effect differs from those before it.
NEW = 1e-2


@kernel
def move_latches(d):
    """Move contact_latch so that contact_gap, the normal force beyond it, becomes small."""
    if d.latch_moves[0] > 0:
        _take_move(d)
    for c in range(d.ncon):
        d.contact_latch[c, 1] = d.contact_latch[c, 0]
        d.contact_gap[c, 1] = d.contact_gap[c, 0]
        d.contact_latch[c, 0] += d.contact_gap[c, 0]
    for n in range(d.latch_pairs[0]):
        share = 0.0
        for c in range(d.ncon):
            share += d.latch_effect[c, n] * d.contact_gap[c, 0]
        for c in range(d.ncon):
            d.contact_latch[c, 0] -= share * (d.latch_effect[c, n] + d.latch_way[c, n])
    for c in range(d.ncon):
        d.contact_latch[c, 0] = max(d.contact_latch[c, 0], 0.0)
    d.latch_moves[0] += 1


@kernel
def approach_latches(d):
    """Move contact_latch by a part of contact_gap, as contacts go back and forth."""
    for c in range(d.ncon):
        d.contact_latch[c, 1] = d.contact_latch[c, 0]
        d.contact_gap[c, 1] = d.contact_gap[c, 0]
        d.contact_latch[c, 0] = max(d.contact_latch[c, 0] + PART * d.contact_gap[c, 0], 0.0)
    d.latch_pairs[0] = 0
    d.latch_moves[0] += 1


@kernel
def _take_move(d):
    """Add the last move to latch_way, and the change of the gap to latch_effect, orthonormal.

    Older moves are forgotten where the move contradicts them: it has no effect of its own beside
    theirs, or the gap has grown.
    """
    n, gap, last = d.latch_pairs[0], 0.0, 0.0
    for c in range(d.ncon):
        gap += d.contact_gap[c, 0] * d.contact_gap[c, 0]
        last += d.contact_gap[c, 1] * d.contact_gap[c, 1]
    if n == DEPTH or gap > last or not _take_as(d, n):
        n = 0
        _take_as(d, n)
    d.latch_pairs[0] = n + 1


@inline
def _take_as(d, n):
    """Take the last move as column n; return whether its effect is a new one."""
    size, rest = 0.0, 0.0
    for c in range(d.ncon):
        d.latch_way[c, n] = d.contact_latch[c, 0] - d.contact_latch[c, 1]
        effect = d.contact_gap[c, 0] - d.contact_gap[c, 1]
        d.latch_effect[c, n] = effect
        size += effect * effect
    for k in range(n):
        share = 0.0
        for c in range(d.ncon):
            share += d.latch_effect[c, k] * d.latch_effect[c, n]
        for c in range(d.ncon):
            d.latch_effect[c, n] -= share * d.latch_effect[c, k]
            d.latch_way[c, n] -= share * d.latch_way[c, k]
    for c in range(d.ncon):
        rest += d.latch_effect[c, n] * d.latch_effect[c, n]
    scale = 1.0 / np.sqrt(rest) if rest > 0.0 else 0.0
    for c in range(d.ncon):
        d.latch_effect[c, n] *= scale
        d.latch_way[c, n] *= scale
    return rest > NEW * NEW * size
