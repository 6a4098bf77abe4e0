# SPDX-License-Identifier: Apache-2.0
"""Compute derivatives by central differences of order eight.

The truncation error is h^8 / 630 of the ninth derivative: negligible at h = 0.01. Rounding is
about 100 eps of the largest value of the function. support.states moves positions without the
engine.
"""

import numpy as np

from support import states

#: Weights of f(k h) - f(-k h) for k = 1 to 4.
WEIGHTS = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
STEP = 0.01


def derivative(f, h=STEP):
    """Return df/dx at x = 0; f returns an array or a number."""
    parts = [w * (_kept(f(k * h)) - _kept(f(-k * h))) for k, w in enumerate(WEIGHTS, start=1)]
    return sum(parts) / h


def _kept(value):
    return np.array(value, float)


def by_position(m, d, f, h=STEP):
    """Return the derivative of f(), which reads d, by the position of each dof (last axis)."""
    start = d.qpos.copy()

    def moved(velocity):
        def at(s):
            d.qpos = start
            states.move(m, d, s, velocity)
            return f()

        return at

    columns = [derivative(moved(unit), h) for unit in np.eye(m.nv)]
    d.qpos = start
    return np.stack(columns, -1)


def by_entry(array, f, h=STEP):
    """Return the derivative of f() by each entry of an array (n,); entries are the last axis."""
    start = array.copy()

    def changed(k):
        def at(s):
            array[:] = start
            array[k] += s
            return f()

        return at

    columns = [derivative(changed(k), h) for k in range(len(array))]
    array[:] = start
    return np.stack(columns, -1)


def by_time(m, d, f, h=STEP):
    """Return the time derivative of f(), which reads d; driven joints move as prescribed."""
    start = d.copy()

    def at(s):
        # only velocity and acceleration at s = 0 are used, so positions may move along qvel
        d.qpos, d.qvel, d.qacc = start.qpos, start.qvel + s * start.qacc, start.qacc
        d.time = start.time + s
        states.move(m, d, s, start.qvel)
        return f()

    result = derivative(at, h)
    d.buffer[:] = start.buffer
    return result
