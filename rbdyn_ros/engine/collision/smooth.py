# SPDX-License-Identifier: Apache-2.0
"""Newton's method for the nearest or deepest points of two cores.

It helps GJK and EPA if a core is a cylinder: A - B is then smooth, where GJK and EPA converge only
linearly. It also helps two cores that nearly touch, because the difference of their nearest points
is then mostly rounding error. Near a solution the support function of A - B is the largest of up
to three smooth functions, one for each pair of features (corners of a core, or rims of a
cylinder):

    h(n) = max_k w_k(n) . n ,   w_k(n) the farthest point of pair k along n.

The distance is -h where h is least on the unit sphere, and there, with weights l_k >= 0,

    sum l_k w_k(n) = h n ,   w_k(n) . n = h for each k ,   sum l_k = 1 .

The side of a cylinder is represented by both rims. For an end there is a closed form
(cylinder_ends.py).

Source: Nocedal, Wright, Numerical Optimization, 2006, section 18.1 (Newton's method for KKT).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    dot3,
    load3,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.cylinder_ends import at_end
from rbdyn_ros.engine.collision.distances import distance
from rbdyn_ros.engine.collision.kinds import BOX, CYLINDER
from rbdyn_ros.engine.collision.simplex import ROW, WEIGHT, weighted
from rbdyn_ros.engine.collision.smooth_step import newton_step, place_features
from rbdyn_ros.engine.collision.support import bound_of, farthest, kind_of
from rbdyn_ros.engine.compiler.jit import inline, kernel

MAX_STEPS = 8  # Newton's method needs three or four steps
LAST_STEP = 1e-7  # a smaller step [rad] is the last step: convergence is quadratic
HEIGHT_TOLERANCE = 1e-13  # heights or weights with a smaller relative difference count as equal
# the weighted sum of points may deviate from the normal by this part of the size
NORMAL_TOLERANCE = 1e-11


@inline
def has_cylinder(m, a, b):
    """Return whether one of two geometries is a cylinder."""
    return kind_of(m, a) == CYLINDER or kind_of(m, b) == CYLINDER


@kernel
def refined(m, a, b, R, t, v, S, names, n, F, pairs):
    """Find the normal for the features of a simplex by Newton's method, from the unit vector v.

    The simplex S, names has n <= 3 rows with weights. The solution is written to F, pairs, as a
    simplex: one row for each pair of features.

    Returns:
        Number of rows of the solution, 0 if no solution is valid for all of A - B; the normal n;
        and the height h(n).
    """
    size = bound_of(m, a) + bound_of(m, b)
    count, normal, height = at_end(m, a, b, R, t, v, S, n, F, pairs, HEIGHT_TOLERANCE * size)
    if count > 0:
        return count, normal, height
    count = _merged(S, names, n, F, pairs)
    last = False
    for _ in range(MAX_STEPS):
        count, step, v = newton_step(m, a, b, R, t, v, F, pairs, count)
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
        place_features(m, a, b, R, t, v, F, pairs, k)
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
        return 0, v, 0.0  # another feature is farther along the normal
    return count, v, height


@kernel
def is_least(m, a, b, R, t, F, count, depth):
    """Return whether a solution of `refined` certainly has the least depth of all directions.

    It has the least depth if a ball of the radius `depth` around the deepest point of B is inside
    A: then A - B is at least as deep along every direction. The same holds for A in B.
    """
    x, y = weighted(F, count)
    enough = depth - HEIGHT_TOLERANCE * (bound_of(m, a) + bound_of(m, b))
    return (
        _depth_in(m, a, y) >= enough
        or _depth_in(m, b, mat_vec(transposed(R), sub3(x, t))) >= enough
    )


@inline
def _depth_in(m, g, x):
    kind, depth = kind_of(m, g), -np.inf
    if kind == CYLINDER or kind == BOX:
        dist, _away = distance(kind, load3(m.geom_size, g), x)
        depth = -dist
    return depth


@kernel
def _merged(S, names, n, F, pairs):
    """Write the pairs of features of a simplex with summed weights; return the number of pairs."""
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
