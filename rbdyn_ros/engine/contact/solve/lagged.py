# SPDX-License-Identifier: Apache-2.0
"""Move the lagged normal forces, which bound friction, until they equal the solution's.

The gap is the normal force minus the lagged force. Friction changes the normal forces, so if the
lagged forces were set to those of the last solution, the gap would shrink by a constant factor
each time, or not at all. A better move combines the last few moves such that their effects leave
the smallest gap.

Source: Anderson, Iterative procedures for nonlinear integral equations, 1965 (type II).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.model.declared.data_fields import LAGGED_MOVES

#: Part of the gap by which approach_lagged moves a lagged force.
GAP_SHARE = 0.5

#: The effect of a move is its change of the gap. Earlier moves are dropped if the part of the
#: effect that is independent of earlier effects is smaller than this.
NEW_EFFECT = 1e-2


@kernel
def move_lagged(d):
    """Move contact_lagged to make contact_gap, the normal force less the lagged force, small."""
    if d.lagged_count[0] > 0:
        _take_move(d)
    for c in range(d.ncon):
        d.contact_lagged[c, 1] = d.contact_lagged[c, 0]
        d.contact_gap[c, 1] = d.contact_gap[c, 0]
        d.contact_lagged[c, 0] += d.contact_gap[c, 0]
    for n in range(d.lagged_pairs[0]):
        share = 0.0
        for c in range(d.ncon):
            share += d.lagged_effect[c, n] * d.contact_gap[c, 0]
        for c in range(d.ncon):
            d.contact_lagged[c, 0] -= share * (d.lagged_effect[c, n] + d.lagged_move[c, n])
    for c in range(d.ncon):
        d.contact_lagged[c, 0] = max(d.contact_lagged[c, 0], 0.0)
    d.lagged_count[0] += 1


@kernel
def approach_lagged(d):
    """Move contact_lagged by a part of contact_gap.

    This is used if contacts alternate between two states.
    """
    for c in range(d.ncon):
        d.contact_lagged[c, 1] = d.contact_lagged[c, 0]
        d.contact_gap[c, 1] = d.contact_gap[c, 0]
        d.contact_lagged[c, 0] = max(d.contact_lagged[c, 0] + GAP_SHARE * d.contact_gap[c, 0], 0.0)
    d.lagged_pairs[0] = 0
    d.lagged_count[0] += 1


@kernel
def _take_move(d):
    """Store the last move in lagged_move, and its orthonormalised effect in lagged_effect.

    The effect is the change of the gap. Older moves are dropped if the effect is a combination of
    their effects, or if the gap has grown.
    """
    n, gap, last = d.lagged_pairs[0], 0.0, 0.0
    for c in range(d.ncon):
        gap += d.contact_gap[c, 0] * d.contact_gap[c, 0]
        last += d.contact_gap[c, 1] * d.contact_gap[c, 1]
    if n == LAGGED_MOVES or gap > last or not _take_as(d, n):
        n = 0
        _take_as(d, n)
    d.lagged_pairs[0] = n + 1


@inline
def _take_as(d, n):
    """Store the last move in column n.

    Return whether its effect is independent of the effects in the columns before n.
    """
    size, rest = 0.0, 0.0
    for c in range(d.ncon):
        d.lagged_move[c, n] = d.contact_lagged[c, 0] - d.contact_lagged[c, 1]
        effect = d.contact_gap[c, 0] - d.contact_gap[c, 1]
        d.lagged_effect[c, n] = effect
        size += effect * effect
    for k in range(n):
        share = 0.0
        for c in range(d.ncon):
            share += d.lagged_effect[c, k] * d.lagged_effect[c, n]
        for c in range(d.ncon):
            d.lagged_effect[c, n] -= share * d.lagged_effect[c, k]
            d.lagged_move[c, n] -= share * d.lagged_move[c, k]
    for c in range(d.ncon):
        rest += d.lagged_effect[c, n] * d.lagged_effect[c, n]
    scale = 1.0 / np.sqrt(rest) if rest > 0.0 else 0.0
    for c in range(d.ncon):
        d.lagged_effect[c, n] *= scale
        d.lagged_move[c, n] *= scale
    return rest > NEW_EFFECT * NEW_EFFECT * size
