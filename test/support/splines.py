# SPDX-License-Identifier: Apache-2.0
"""Evaluate trajectories by SciPy, as reference for the loop."""

import numpy as np
from scipy.interpolate import BPoly, CubicHermiteSpline


def sample(trajectory, t, start, start_velocity=None, start_acceleration=None):
    """Return position, velocity and acceleration (n,) at time t >= 0 from the start.

    Unless its first point is at time 0, the trajectory begins at the position `start` (n,) with
    the given velocity and acceleration (default zero). After the last point the position stays
    constant. At a knot the derivatives belong to the piece that begins there.
    """
    times, knots = _knots(trajectory, start, start_velocity, start_acceleration)
    if t >= times[-1]:
        return knots[0][-1], np.zeros(len(start)), np.zeros(len(start))
    curve = _curve(trajectory.order, times, *knots)
    return curve(t), curve.derivative(1)(t), curve.derivative(2)(t)


def _knots(trajectory, start, start_velocity, start_acceleration):
    n = len(start)
    first = [
        np.asarray(start, float),
        np.zeros(n) if start_velocity is None else np.asarray(start_velocity, float),
        np.zeros(n) if start_acceleration is None else np.asarray(start_acceleration, float),
    ]
    rows = (trajectory.positions, trajectory.velocities, trajectory.accelerations)
    if trajectory.times[0] == 0.0:
        return trajectory.times, list(rows)
    joined = [np.vstack([one, more]) for one, more in zip(first, rows, strict=True)]
    return np.concatenate([[0.0], trajectory.times]), joined


def _curve(order, times, q, v, a):
    if order == 1:
        return BPoly.from_derivatives(times, q[:, None])
    if order == 3:
        return CubicHermiteSpline(times, q, v)
    return BPoly.from_derivatives(times, np.stack([q, v, a], axis=1))
