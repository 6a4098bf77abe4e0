# SPDX-License-Identifier: Apache-2.0
"""Exponential decay by arithmetic alone, so that all code has the same bits and no branch."""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, select

#: exp(-x) is 1.6e-28 here, and less beyond.
FARTHEST = 64.0

#: Halvings of x before the series, and squarings after it.
HALVINGS = 7

#: 1 / 14, 1 / 13 ... 1 / 1: x / 128 is 0.5 at most, where 14 terms of the series are exact.
DIVISORS = tuple(1.0 / k for k in range(14, 0, -1))

#: Below this 1 - exp(-x) would cancel: a series takes over.
SMALL = 1e-2


@inline
def decay(x):
    """Return exp(-x) for x >= 0, to 1e-13 of itself; 1.6e-28 beyond x = 64."""
    y = select(x < FARTHEST, x, FARTHEST) / 128.0
    total = 1.0
    for share in DIVISORS:
        total = 1.0 + y * share * total
    for _ in range(HALVINGS):
        total = total * total
    return 1.0 / total


@inline
def mean_decay(x):
    """Return (1 - exp(-x)) / x for x >= 0: the mean of a decay from 1 over its time x."""
    series = 1.0 - x / 2.0 * (1.0 - x / 3.0 * (1.0 - x / 4.0 * (1.0 - x / 5.0 * (1.0 - x / 6.0))))
    y = select(x < SMALL, SMALL, x)
    return select(x < SMALL, series, (1.0 - decay(y)) / y)
