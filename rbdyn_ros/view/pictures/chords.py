# SPDX-License-Identifier: Apache-2.0
"""The curves of chords in a picture of a connectivity graph, and the places of their labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array

POINTS = 61  # of a curve
LANES = 4  # number of lanes for chords


def chord_curve(p: Array, s: Array, radius: float, lane: int, bodies: Array) -> Array:
    """Return the points (POINTS, 2) of a bow between two bodies.

    Between bodies in one row it rises above the names of joints; otherwise it bends sideways,
    preferably to the right, far enough to pass other bodies.

    Args:
        p: position of the predecessor [inch].
        s: position of the successor [inch].
        radius: radius of a body [inch].
        lane: number of the chord, which separates neighbours.
        bodies: positions of all bodies (n, 2), to be avoided [inch].
    """
    across, apart = s - p, lane % LANES
    if abs(across[1]) < radius:
        up = np.array([0.0, radius])
        lift = up + np.array([0.0, 0.4 + 0.08 * min(abs(across[0]), 6.0) + 0.2 * apart])
        return _bezier(p + up, p + lift, s + lift, s + up)
    right = np.array([abs(across[1]), -across[0] * np.sign(across[1])])
    ends = (bodies == p).all(axis=1) | (bodies == s).all(axis=1)
    curves = []
    for lean in (0.25, 0.15, 0.35, 0.05, 0.45, -0.15, -0.3):
        aside = (lean + 0.1 * apart) * right
        curves.append(_bezier(p, p + across / 3.0 + aside, s - across / 3.0 + aside, s))
    # the first of the curves that cross the fewest bodies
    return min(curves, key=lambda curve: _crossed(curve, bodies[~ends], 1.5 * radius))


def _bezier(a: Array, b: Array, c: Array, d: Array) -> Array:
    t = np.linspace(0.0, 1.0, POINTS)[:, None]
    curve: Array = (1 - t) ** 3 * a + 3 * t * (1 - t) * ((1 - t) * b + t * c) + t**3 * d
    return curve


def _crossed(curve: Array, bodies: Array, radius: float) -> int:
    """Return the number of bodies closer to a curve than `radius`."""
    distance = np.linalg.norm(bodies[:, None] - curve[None], axis=2)
    return int((distance < radius).any(axis=1).sum())


def free_spot(curve: Array, size: Array, taken: Sequence[Array]) -> int:
    """Return the index of the curve point where a label of this size (2,) covers least.

    Args:
        curve: (n, 2) [inch]; its ends are left out, its middle is preferred.
        size: width and height [inch].
        taken: occupied rectangles (x0, y0, x1, y1).
    """
    first = len(curve) // 6
    candidates = curve[first : len(curve) - first]
    low, high = candidates - 0.5 * size, candidates + 0.5 * size
    cost = 1e-3 * np.abs(np.arange(len(candidates)) - 0.5 * len(candidates))
    for x0, y0, x1, y1 in taken:
        across = np.minimum(high[:, 0], x1) - np.maximum(low[:, 0], x0)
        along = np.minimum(high[:, 1], y1) - np.maximum(low[:, 1], y0)
        cost += np.maximum(across, 0.0) * np.maximum(along, 0.0) * 100.0
    return first + int(np.argmin(cost))
