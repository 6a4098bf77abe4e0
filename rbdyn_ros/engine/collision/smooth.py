"""Newton's method for the nearest or deepest points of two cores.

It helps GJK and EPA where one core is a cylinder: A - B is smooth there, so they come closer to
its surface by a fixed part at a time. It helps any two cores that nearly touch: the difference of
their nearest points is mostly rounding. Near a solution the support function of A - B is the
largest of up to three smooth ones, of pairs of features: corners of a core, or rims of a cylinder,

    h(n) = max_k w_k(n) . n ,   w_k(n) the farthest point of pair k along n.

The distance is -h where h is least on the unit sphere, and there, with weights l_k >= 0,

    sum l_k w_k(n) = h n ,   w_k(n) . n = h for each k ,   sum l_k = 1 .

A side of a cylinder is both of its rims; an end has its own closed form, since a rim has no
farthest point along its axis.

Source: Nocedal, Wright, Numerical Optimization, 2006, section 18.1 (Newton's method for KKT).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.collision.distances import distance
from rbdyn_ros.engine.collision.kinds import BOX, CYLINDER
from rbdyn_ros.engine.collision.simplex import ROW, WEIGHT, weighted
from rbdyn_ros.engine.collision.support import HIGH_RIM, farthest
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import (
    ZERO3,
    add3,
    cross3,
    dot3,
    load3,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)

STEPS = 8  # of Newton's method; it takes three or four
LAST_STEP = 1e-7  # a step by less [rad] is the last one: the next would be its square
LONGEST_STEP = 0.5  # length of a step [rad]
HEIGHT_TOLERANCE = 1e-13  # heights that differ by this part of the size are equal, as weights
NORMAL_TOLERANCE = 1e-11  # the weighted points are along the normal up to this part of the size
END_COSINE = 0.9  # cosine of the angle to an axis at which an end may be nearest
UPRIGHT_SQUARE = 1e-12  # square of the sine of that angle, below which a rim has no farthest point
IN_LINE = 1e-6  # sine of the angle between points of three pairs that count as on a line


@inline
def has_cylinder(m, a, b):
    """Return whether one of two geometries is a cylinder."""
    return m.geom_type[a] == CYLINDER or m.geom_type[b] == CYLINDER


@kernel
def refined(m, a, b, R, t, v, S, names, n, F, pairs):
    """Find the normal for the features of a simplex, from a direction v, a unit vector.

    The simplex S, names has n <= 3 rows with weights. The solution is written to F, pairs, as a
    simplex: one row for each pair of features.

    Returns:
        Number of rows of the solution, 0 if there is none that is right for all of A - B; its
        normal n, and its height h(n).
    """
    size = m.geom_rbound[a] + m.geom_rbound[b]
    count, normal, height = _at_end(m, a, b, R, t, v, S, n, F, pairs, HEIGHT_TOLERANCE * size)
    if count > 0:
        return count, normal, height
    count = _merged(S, names, n, F, pairs)
    last = False
    for _ in range(STEPS):
        count, step, v = _stepped(m, a, b, R, t, v, F, pairs, count)
        if count == 0:
            return 0, v, 0.0
        if step <= LAST_STEP:
            last = True
            break
    if not last:
        return 0, v, 0.0
    height, total = -np.inf, 0.0
    for k in range(count):
        if F[k, WEIGHT] < -HEIGHT_TOLERANCE:
            return 0, v, 0.0
        F[k, WEIGHT] = max(F[k, WEIGHT], 0.0)
        total += F[k, WEIGHT]
        _place(m, a, b, R, t, v, F, pairs, k)
        height = max(height, dot3(load3(F, k), v))
    sum_w = ZERO3
    for k in range(count):
        F[k, WEIGHT] /= total
        sum_w = add3(sum_w, scaled3(load3(F, k), F[k, WEIGHT]))
    beside = sub3(sum_w, scaled3(v, height))
    if dot3(beside, beside) > (NORMAL_TOLERANCE * size) ** 2:
        return 0, v, 0.0
    w, _x, _y, _i, _j = farthest(m, a, b, R, t, v, 0, 0)
    if dot3(w, v) > height + HEIGHT_TOLERANCE * size:
        return 0, v, 0.0  # another feature is farther
    return count, v, height


@kernel
def is_least(m, a, b, R, t, F, count, depth):
    """Return whether a solution of `refined` is known to have the least depth of all.

    It has if a ball of this radius around the deepest point of B is inside A: then along no
    direction A - B is less deep. The same holds for A in B.
    """
    x, y = weighted(F, count)
    enough = depth - HEIGHT_TOLERANCE * (m.geom_rbound[a] + m.geom_rbound[b])
    return (
        _depth_in(m, a, y) >= enough
        or _depth_in(m, b, mat_vec(transposed(R), sub3(x, t))) >= enough
    )


@inline
def _depth_in(m, g, x):
    kind, depth = m.geom_type[g], -np.inf
    if kind == CYLINDER or kind == BOX:
        dist, _away = distance(kind, load3(m.geom_size, g), x)
        depth = -dist
    return depth


@kernel
def _merged(S, names, n, F, pairs):
    """Write the pairs of features of a simplex with the sums of their weights; return how many."""
    count = 0
    for row in range(n):
        found = -1
        for k in range(count):
            if pairs[k, 0] == names[row, 0] and pairs[k, 1] == names[row, 1]:
                found = k
        if found >= 0:
            F[found, WEIGHT] += S[row, WEIGHT]
        else:
            for column in range(ROW):
                F[count, column] = S[row, column]
            pairs[count, 0], pairs[count, 1] = names[row, 0], names[row, 1]
            count += 1
    return count


@kernel
def _place(m, a, b, R, t, v, F, pairs, k):
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


@kernel
def _stepped(m, a, b, R, t, v, F, pairs, count):
    """Take one step of Newton's method; return the number of pairs, its length, and the new v.

    A pair is dropped if three of them leave no direction. The number is 0 if there is no least
    height.
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
        _place(m, a, b, R, t, v, F, pairs, k)
        w = load3(F, k)
        sum_w = add3(sum_w, scaled3(w, weight))
        rim_a += weight if pairs[k, 0] < 0 else 0.0
        rim_b += weight if pairs[k, 1] < 0 else 0.0
    height = dot3(sum_w, v)
    # second derivative on the sphere: that of a rim of radius r is r / sine along the rim
    e, f = tangents(v)
    xx, xy, yy = -height, 0.0, -height
    if rim_a > 0.0:
        c = rim_a * m.geom_size[a, 0] / (sine_a * np.sqrt(sine_a))
        p, q = v[0] * e[1] - v[1] * e[0], v[0] * f[1] - v[1] * f[0]
        xx, xy, yy = xx + c * p * p, xy + c * p * q, yy + c * q * q
    if rim_b > 0.0:
        c = rim_b * m.geom_size[b, 0] / (sine_b * np.sqrt(sine_b))
        p, q = dot3(turned, e), dot3(turned, f)
        xx, xy, yy = xx + c * p * p, xy + c * p * q, yy + c * q * q
    slope = (dot3(sum_w, e), dot3(sum_w, f))
    if count == 3:
        kept, step = _of_three(F, v, e, f, slope, (xx, xy, yy))
        if kept == 2:
            least = 0
            for k in range(1, 3):
                least = k if F[k, WEIGHT] < F[least, WEIGHT] else least
            for column in range(ROW):
                F[least, column] = F[2, column]
            pairs[least, 0], pairs[least, 1] = pairs[2, 0], pairs[2, 1]
            share = F[0, WEIGHT] + F[1, WEIGHT]
            F[0, WEIGHT], F[1, WEIGHT] = F[0, WEIGHT] / share, F[1, WEIGHT] / share
            return 2, 1.0, v
        ok = kept == 3
    elif count == 2:
        ok, step = _of_two(F, v, e, f, slope, (xx, xy, yy))
    else:
        det = xx * yy - xy * xy
        ok = det > 0.0 and xx > 0.0
        step = (
            (xy * slope[1] - yy * slope[0]) / det,
            (xy * slope[0] - xx * slope[1]) / det,
        )
    length = np.sqrt(step[0] * step[0] + step[1] * step[1])
    if not (ok and length < np.inf):
        return 0, 0.0, v
    share = min(1.0, LONGEST_STEP / length) if length > 0.0 else 1.0
    v = add3(v, add3(scaled3(e, share * step[0]), scaled3(f, share * step[1])))
    return count, length, scaled3(v, 1.0 / np.sqrt(dot3(v, v)))


@inline
def _of_two(F, v, e, f, slope, curve):
    """Return whether there is a step for two pairs, and the step; add its weights."""
    xx, xy, yy = curve
    w = sub3(load3(F, 1), load3(F, 0))
    p, q = dot3(w, e), dot3(w, f)
    square = p * p + q * q
    back = -dot3(w, v) / square
    a, b = back * p, back * q  # to equal heights; then along the line of equal heights
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
    """Return 3 and the step for three pairs, or 2 if their points are on a line."""
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
def _at_end(m, a, b, R, t, v, S, n, F, pairs, rounding):
    """Try the ends of cylinders that face v: as a simplex of one row, as `refined`."""
    axis = (R[2], R[5], R[8])
    along = dot3(axis, v)
    if m.geom_type[a] == CYLINDER and abs(v[2]) > END_COSINE:
        up = (0.0, 0.0, 1.0 if v[2] > 0.0 else -1.0)
        w, _x, y, i, j = farthest(m, a, b, R, t, up, 0, 0)
        height, level = dot3(w, up), dot3(y, up)
        _near, near = weighted(S, n)
        found, y = _above_disc(y, near, ZERO3, up, level, m.geom_size[a, 0], rounding)
        if found:
            _write(F, pairs, add3(y, scaled3(up, height)), y, i, j)
            return 1, up, height
    if m.geom_type[b] == CYLINDER and abs(along) > END_COSINE:
        up = scaled3(axis, 1.0 if along > 0.0 else -1.0)
        w, x, _y, i, j = farthest(m, a, b, R, t, up, 0, 0)
        height, level = dot3(w, up), dot3(x, up)
        near, _near = weighted(S, n)
        found, x = _above_disc(x, near, t, up, level, m.geom_size[b, 0], rounding)
        if found:
            _write(F, pairs, x, sub3(x, scaled3(up, height)), i, j)
            return 1, up, height
    return 0, v, 0.0


@inline
def _write(F, pairs, x, y, i, j):
    F[0, 0], F[0, 1], F[0, 2] = sub3(x, y)
    F[0, 3], F[0, 4], F[0, 5] = x
    F[0, 6], F[0, 7], F[0, 8] = y
    F[0, WEIGHT] = 1.0
    pairs[0, 0], pairs[0, 1] = i, j


@inline
def _above_disc(x, near, centre, v, level, radius, rounding):
    """Return whether a farthest point x is within a disc's radius of its axis, and the point.

    Where a face is farthest it is any corner: then the point of the simplex, `near`, may be one.
    """
    found = _is_within(sub3(x, centre), v, radius)
    level_too = abs(dot3(near, v) - level) <= rounding
    if not found and level_too and _is_within(sub3(near, centre), v, radius):
        found, x = True, near
    return found, x


@inline
def _is_within(x, v, radius):
    along = dot3(x, v)
    return dot3(x, x) - along * along <= radius * radius
