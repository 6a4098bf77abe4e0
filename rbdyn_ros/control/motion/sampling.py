# SPDX-License-Identifier: Apache-2.0
"""Kernels of paths: sampling, peak velocities and accelerations, and extreme positions.

Nodes (3, p, n) are positions, velocities and accelerations at the points. Peaks (4, n) are the
largest velocity and acceleration, the lowest and the highest position of each joint.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.control.base.kernels import entry, kernel
from rbdyn_ros.engine.algebra.hermite import hermite
from rbdyn_ros.engine.compiler.jit import Cube, Matrix, Vector

#: Number of bisections of a segment, which reach the precision of the numbers.
HALVINGS = 60


@entry
def sample(times: Vector, nodes: Cube, order: int, t: float, rows: Matrix) -> None:
    """Write position, velocity and acceleration (3, n) at time t; joints rest outside the path."""
    last = len(times) - 1
    if t < times[0] or t >= times[last]:
        i = 0 if t < times[0] else last
        for k in range(rows.shape[1]):
            rows[0, k], rows[1, k], rows[2, k] = nodes[0, i, k], 0.0, 0.0
        return
    i = _segment(times, t, last)
    h = times[i + 1] - times[i]
    x = (t - times[i]) / h
    for k in range(rows.shape[1]):
        rows[0, k], rows[1, k], rows[2, k] = _between(nodes, order, i, k, x, h)


@kernel
def _segment(times, t, last):
    """Return the index of the point before time t, by bisection; `last` is the last index."""
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        if times[middle] <= t:
            low = middle
        else:
            high = middle
    return low


@kernel
def _between(nodes, order, i, k, x, h):
    """Return position, velocity and acceleration of joint k at the share x of segment i.

    The segment lasts h [s].
    """
    first = nodes[0, i, k], nodes[1, i, k], nodes[2, i, k]
    last = nodes[0, i + 1, k], nodes[1, i + 1, k], nodes[2, i + 1, k]
    return hermite(order, x, h, first, last)


@kernel
def write_peaks(times: Vector, nodes: Cube, order: int, peaks: Matrix) -> None:
    """Update the peaks (4, n) with all segments between the points."""
    for i in range(len(times) - 1):
        raise_peaks(times, nodes, order, i, peaks)


@kernel
def raise_peaks(times, nodes, order, i, peaks):
    """Update the peaks (4, n) with the segment that begins at point i."""
    h = times[i + 1] - times[i]
    for k in range(peaks.shape[1]):
        low, high = _jerk_roots(nodes, order, i, k, h)
        _climb(nodes, order, i, k, h, 0.0, low, peaks)
        _climb(nodes, order, i, k, h, low, high, peaks)
        _climb(nodes, order, i, k, h, high, 1.0, peaks)


@kernel
def _jerk_roots(nodes, order, i, k, h):
    """Return the x at which the acceleration of joint k in segment i has its extrema: low <= high.

    The acceleration is a cubic of the share x, and both results are from 0 to 1.
    """
    a0 = _between(nodes, order, i, k, 0.0, h)[2]
    a1 = _between(nodes, order, i, k, 1.0 / 3.0, h)[2]
    a2 = _between(nodes, order, i, k, 2.0 / 3.0, h)[2]
    a3 = _between(nodes, order, i, k, 1.0, h)[2]
    # Newton's forward differences; with s = 3 x the jerk is A s^2 + B s + C
    d1, d2, d3 = a1 - a0, a2 - 2.0 * a1 + a0, a3 - 3.0 * a2 + 3.0 * a1 - a0
    A, B, C = 0.5 * d3, d2 - d3, d1 - 0.5 * d2 + d3 / 3.0
    square = B * B - 4.0 * A * C
    if not square >= 0.0:
        return 0.0, 1.0
    q = -0.5 * (B + np.copysign(np.sqrt(square), B))
    first, second = _inside(q / A), _inside(C / q)
    return min(first, second), max(first, second)


@kernel
def _inside(s):
    """Return a root as a fraction of the segment, clamped to it; NaN becomes 0."""
    return min(s / 3.0, 1.0) if s > 0.0 else 0.0


@kernel
def _climb(nodes, order, i, k, h, low, high, peaks):
    """Update the peaks with joint k from x = low to high, where its acceleration is monotone.

    The peaks are at both ends, and where the acceleration is 0.
    """
    start, end = _between(nodes, order, i, k, low, h), _between(nodes, order, i, k, high, h)
    _raise(peaks, k, start)
    _raise(peaks, k, end)
    zero = high
    if (start[2] > 0.0) != (end[2] > 0.0):
        zero = _zero(nodes, order, i, k, h, 2, low, high)
        _raise(peaks, k, _between(nodes, order, i, k, zero, h))
    _turn(nodes, order, i, k, h, low, zero, peaks)
    _turn(nodes, order, i, k, h, zero, high, peaks)


@kernel
def _turn(nodes, order, i, k, h, low, high, peaks):
    """Update the extreme positions with joint k from x = low to high.

    Its velocity is monotone there, so its position is extreme where its velocity is 0.
    """
    start, end = _between(nodes, order, i, k, low, h), _between(nodes, order, i, k, high, h)
    if (start[1] > 0.0) != (end[1] > 0.0):
        zero = _zero(nodes, order, i, k, h, 1, low, high)
        _raise(peaks, k, _between(nodes, order, i, k, zero, h))


@kernel
def _zero(nodes, order, i, k, h, row, low, high):
    """Return the x, low to high, at which the velocity (row 1) or acceleration (row 2) is zero."""
    rising = _between(nodes, order, i, k, low, h)[row] > 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if (_between(nodes, order, i, k, middle, h)[row] > 0.0) == rising:
            low = middle
        else:
            high = middle
    return low


@kernel
def _raise(peaks, k, state):
    for r in range(2):
        value = abs(state[r + 1])
        if not value < np.inf:  # this is true for NaN, too
            value = np.inf
        peaks[r, k] = max(peaks[r, k], value)
    peaks[2, k] = min(peaks[2, k], state[0])
    peaks[3, k] = max(peaks[3, k], state[0])
