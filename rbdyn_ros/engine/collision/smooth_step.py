# SPDX-License-Identifier: Apache-2.0
"""A step of Newton's method for the normal of two cores, whose equations are in smooth.py.

The features of a solution are in F and pairs, as a simplex: one row for each pair of features.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import ZERO3, add3, cross3, dot3, load3, scaled3, sub3
from rbdyn_ros.engine.collision.simplex import ROW, WEIGHT
from rbdyn_ros.engine.collision.support import HIGH_RIM
from rbdyn_ros.engine.compiler.jit import inline, kernel

LONGEST_STEP = 0.5  # [rad]
IN_LINE = 1e-6  # three pairs' points count as on a line if the sine of their angle is smaller

#: If the squared sine of the angle between v and the axis is smaller, a rim has no farthest point.
UPRIGHT_SQUARE = 1e-12


@kernel
def newton_step(m, a, b, R, t, v, F, pairs, count):
    """Take a step of Newton's method; return the number of pairs, the step's length and the new v.

    If the points of three pairs are on a line, the pair with the least weight is dropped. The
    number of pairs is 0 if the height has no minimum.
    """
    axis = (R[2], R[5], R[8])
    sine_a, turned = v[0] * v[0] + v[1] * v[1], cross3(axis, v)
    sine_b = dot3(turned, turned)
    rim_a, rim_b, sum_w = 0.0, 0.0, ZERO3
    for k in range(count):
        weight = F[k, WEIGHT]
        upright_a = pairs[k, 0] < 0 and sine_a < UPRIGHT_SQUARE
        upright_b = pairs[k, 1] < 0 and sine_b < UPRIGHT_SQUARE
        if upright_a or upright_b:
            return 0, 0.0, v
        place_features(m, a, b, R, t, v, F, pairs, k)
        w = load3(F, k)
        sum_w = add3(sum_w, scaled3(w, weight))
        rim_a += weight if pairs[k, 0] < 0 else 0.0
        rim_b += weight if pairs[k, 1] < 0 else 0.0
    e, f = tangents(v)
    height, slope = dot3(sum_w, v), (dot3(sum_w, e), dot3(sum_w, f))
    curve = (-height, 0.0, -height)
    if rim_a > 0.0:
        around = v[0] * e[1] - v[1] * e[0], v[0] * f[1] - v[1] * f[0]
        curve = _with_rim(curve, rim_a * m.geom_size[a, 0], sine_a, around)
    if rim_b > 0.0:
        around = dot3(turned, e), dot3(turned, f)
        curve = _with_rim(curve, rim_b * m.geom_size[b, 0], sine_b, around)
    if count == 3:
        kept, step = _of_three(F, v, e, f, slope, curve)
        if kept == 2:
            _drop_lightest(F, pairs)
            return 2, 1.0, v
        ok = kept == 3
    elif count == 2:
        ok, step = _of_two(F, v, e, f, slope, curve)
    else:
        ok, step = _of_one(slope, curve)
    length = np.sqrt(step[0] * step[0] + step[1] * step[1])
    if not (ok and length < np.inf):
        return 0, 0.0, v
    share = min(1.0, LONGEST_STEP / length) if length > 0.0 else 1.0
    v = add3(v, add3(scaled3(e, share * step[0]), scaled3(f, share * step[1])))
    return count, length, scaled3(v, 1.0 / np.sqrt(dot3(v, v)))


@inline
def _with_rim(curve, radius, square, around):
    """Return the height's second derivative with the term of a rim added: r / sine along the rim.

    `around` is the cross product of the cylinder's axis and v, in the tangent plane. `square` is
    its squared length, which is the squared sine of the angle between them.
    """
    xx, xy, yy = curve
    c, (p, q) = radius / (square * np.sqrt(square)), around
    return xx + c * p * p, xy + c * p * q, yy + c * q * q


@inline
def _drop_lightest(F, pairs):
    """Drop the pair with the least weight from three pairs."""
    least = 0
    for k in range(1, 3):
        least = k if F[k, WEIGHT] < F[least, WEIGHT] else least
    for column in range(ROW):
        F[least, column] = F[2, column]
    pairs[least, 0], pairs[least, 1] = pairs[2, 0], pairs[2, 1]
    share = F[0, WEIGHT] + F[1, WEIGHT]
    F[0, WEIGHT], F[1, WEIGHT] = F[0, WEIGHT] / share, F[1, WEIGHT] / share


@inline
def _of_one(slope, curve):
    """Return whether a step for one pair exists, and the step, from the height's derivatives."""
    xx, xy, yy = curve
    det = xx * yy - xy * xy
    a, b = (xy * slope[1] - yy * slope[0]) / det, (xy * slope[0] - xx * slope[1]) / det
    return det > 0.0 and xx > 0.0, (a, b)


@inline
def _of_two(F, v, e, f, slope, curve):
    """Return whether a step for two pairs exists, and the step; add its change of the weights."""
    xx, xy, yy = curve
    w = sub3(load3(F, 1), load3(F, 0))
    p, q = dot3(w, e), dot3(w, f)
    square = p * p + q * q
    back = -dot3(w, v) / square
    # first the step to equal heights, then the step along the line of equal heights
    a, b = back * p, back * q
    bend = xx * q * q - 2.0 * xy * p * q + yy * p * p
    along = slope[1] * p - slope[0] * q + (xy * p - xx * q) * a + (yy * p - xy * q) * b
    a, b = a + q * along / bend, b - p * along / bend
    up = slope[0] + xx * a + xy * b, slope[1] + xy * a + yy * b
    weight = -(p * up[0] + q * up[1]) / square
    F[0, WEIGHT] -= weight
    F[1, WEIGHT] += weight
    return bend > 0.0 and square > 0.0, (a, b)


@inline
def _of_three(F, v, e, f, slope, curve):
    """Return 3 and the step for three pairs, or 2 if their points are on a line.

    The weights in F change as well.
    """
    xx, xy, yy = curve
    w, z = sub3(load3(F, 1), load3(F, 0)), sub3(load3(F, 2), load3(F, 0))
    p, q, r, s = dot3(w, e), dot3(w, f), dot3(z, e), dot3(z, f)
    det = p * s - q * r
    kept, step = 2, (0.0, 0.0)
    if abs(det) > IN_LINE * np.sqrt((p * p + q * q) * (r * r + s * s)):
        c, d = -dot3(w, v), -dot3(z, v)
        a, b = (s * c - q * d) / det, (p * d - r * c) / det
        up = slope[0] + xx * a + xy * b, slope[1] + xy * a + yy * b
        second, third = (r * up[1] - s * up[0]) / det, (q * up[0] - p * up[1]) / det
        F[0, WEIGHT] -= second + third
        F[1, WEIGHT] += second
        F[2, WEIGHT] += third
        kept, step = 3, (a, b)
    return kept, step


@kernel
def place_features(m, a, b, R, t, v, F, pairs, k):
    """Write the farthest points of a pair of features along v."""
    x, y = (F[k, 3], F[k, 4], F[k, 5]), (F[k, 6], F[k, 7], F[k, 8])
    if pairs[k, 0] < 0:
        rho = np.sqrt(v[0] * v[0] + v[1] * v[1])
        r, half = m.geom_size[a, 0], m.geom_size[a, 1]
        x = (r * v[0] / rho, r * v[1] / rho, half if pairs[k, 0] == HIGH_RIM else -half)
        F[k, 3], F[k, 4], F[k, 5] = x
    if pairs[k, 1] < 0:
        axis = (R[2], R[5], R[8])
        out = sub3(scaled3(axis, dot3(axis, v)), v)
        r, half = m.geom_size[b, 0], m.geom_size[b, 1]
        y = add3(t, scaled3(axis, half if pairs[k, 1] == HIGH_RIM else -half))
        y = add3(y, scaled3(out, r / np.sqrt(dot3(out, out))))
        F[k, 6], F[k, 7], F[k, 8] = y
    F[k, 0], F[k, 1], F[k, 2] = sub3(x, y)


@inline
def tangents(v):
    """Return two unit vectors perpendicular to a unit vector and to each other."""
    # Duff et al., Building an orthonormal basis, revisited, 2017
    sign = 1.0 if v[2] >= 0.0 else -1.0
    a = -1.0 / (sign + v[2])
    b = v[0] * v[1] * a
    return (
        (1.0 + sign * v[0] * v[0] * a, sign * b, -sign * v[0]),
        (b, sign + v[1] * v[1] * a, -v[1]),
    )
