# SPDX-License-Identifier: Apache-2.0
"""exp(-x) by basic arithmetic, without branches: all compiled code gives the same bits."""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, select

#: For a larger x, decay returns exp(-64) = 1.6e-28.
FARTHEST = 64.0

#: x is halved this often before the series is summed, and the sum is squared as often.
HALVINGS = 7

#: Factors 1 / 14, 1 / 13 ... 1 / 1 of the series. Since x / 128 is at most 0.5, 14 terms suffice.
DIVISORS = tuple(1.0 / k for k in range(14, 0, -1))

#: Below this x, mean_decay uses a series, because 1 - exp(-x) would lose digits.
SMALL = 1e-2


@inline
def decay(x):
    """Return exp(-x) for x >= 0 with a relative error of 1e-13; for x > 64, return exp(-64)."""
    y = select(x < FARTHEST, x, FARTHEST) / 128.0
    total = 1.0
    for share in DIVISORS:
        total = 1.0 + y * share * total
    for _ in range(HALVINGS):
        total = total * total
    return 1.0 / total


@inline
def mean_decay(x):
    """Return (1 - exp(-x)) / x for x >= 0: the mean of exp(-t) for t from 0 to x."""
    series = 1.0 - x / 2.0 * (1.0 - x / 3.0 * (1.0 - x / 4.0 * (1.0 - x / 5.0 * (1.0 - x / 6.0))))
    y = select(x < SMALL, SMALL, x)
    return select(x < SMALL, series, (1.0 - decay(y)) / y)
