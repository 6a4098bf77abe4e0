# SPDX-License-Identifier: Apache-2.0
"""Kernels that search a path for the first pose in which an arm is too near to itself."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.arrays import Ints
from rbdyn_ros.control.base.kernels import entry, kernel
from rbdyn_ros.control.motion.sampling import raise_peaks, sample
from rbdyn_ros.engine.collision.near import near_pairs
from rbdyn_ros.engine.compiler.jit import Cube, Matrix, Vector
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: Shortest step between two checked poses: how far two points of the arm may move relative to each
#: other [m].
RESOLUTION = 1e-3
#: Pairs that are farther apart than the margin plus this distance are not measured [m].
SIGHT = 0.2
#: Largest number of poses that are checked on one path. The checks then take some seconds.
MOST_POSES = 200_000

CLEAR, TOO_LONG = -1, -2

_sample = sample.kernel


@entry
def first_breach(
    m: Model, d: Data, times: Vector, nodes: Cube, order: int, dofs: Ints, reach: Vector,
    bounds: Vector, margin: float, skipped: Ints, place: Matrix, sweep: Ints, axes: Matrix,
    found: Ints, out: Matrix, rows: Matrix, peaks: Matrix, result: Vector,
) -> int:  # fmt: skip
    """Return the number of the first pair that comes too near on a path, CLEAR or TOO_LONG.

    `bounds` are the smallest distances of the pairs; `skipped` are pairs that are not checked.
    `reach` is the largest relative speed of two points per unit of velocity of each dof. `result`
    receives the time and the distance; the other arrays after `skipped` are work space.
    """
    last, segment, fastest = len(times) - 1, -1, 0.0
    t = times[0]
    for _ in range(MOST_POSES):
        _sample(times, nodes, order, t, rows)
        for k in range(len(dofs)):
            d.qpos[dofs[k]] = rows[0, k]
        number = near_pairs(m, d, margin + SIGHT, skipped, place, sweep, axes, found, out)
        room = SIGHT
        for n in range(number):
            left = out[n, 0] - bounds[found[n]]
            if left < 0.0:
                result[0], result[1] = t, out[n, 0]
                return found[n]
            room = min(room, left)
        while segment < last and t >= times[segment + 1]:
            segment += 1
            fastest = _fastest(times, nodes, order, segment, last, reach, peaks)
        if segment == last:
            return CLEAR
        step = max(room, RESOLUTION) / fastest if fastest > 0.0 else np.inf
        t = min(times[segment + 1], t + step)
    return TOO_LONG


@kernel
def _fastest(times, nodes, order, segment, last, reach, peaks):
    """Return a bound for the relative speed of any two points of the arm on a segment of a path.

    `last` is the index of the last point, `reach` as for first_breach, `peaks` work space.
    """
    if segment == last:
        return 0.0
    fastest = 0.0
    for k in range(len(reach)):
        peaks[0, k] = peaks[1, k] = 0.0
    raise_peaks(times, nodes, order, segment, peaks)
    for k in range(len(reach)):
        fastest += peaks[0, k] * reach[k]
    return fastest
