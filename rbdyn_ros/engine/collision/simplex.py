# SPDX-License-Identifier: Apache-2.0
"""The point of a simplex nearest to the origin.

A simplex S has up to four rows. A row holds a point of A - B, the points of A and of B whose
difference it is, and its weight in the nearest point. The same row of `names` holds the numbers of
the corners of A and of B.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import ZERO3, add3, cross3, dot3, load3, scaled3, sub3
from rbdyn_ros.engine.compiler.jit import inline, kernel

ROW = 10  # length of a row of a simplex
WEIGHT = 9

#: A triangle with a smaller squared sine of the angle between two edges counts as a line.
SLIVER = 1e-24

#: If the squared sine of the angle between an edge and a face is smaller, the tetrahedron is flat,
#: and the face has no inner side.
THIN = 1e-20


@inline
def put(S, names, n, w, x, y, i, j):
    """Write row n of a simplex: w = x - y, with corner i of A at x and corner j of B at y."""
    S[n, 0], S[n, 1], S[n, 2] = w
    S[n, 3], S[n, 4], S[n, 5] = x
    S[n, 6], S[n, 7], S[n, 8] = y
    S[n, WEIGHT] = 0.0
    names[n, 0], names[n, 1] = i, j


@inline
def copy_rows(S, names, n, T, new_names):
    """Copy the first n rows of the simplex S, names to T, new_names."""
    for row in range(n):
        for column in range(ROW):
            T[row, column] = S[row, column]
        new_names[row, 0], new_names[row, 1] = names[row, 0], names[row, 1]


@kernel
def nearest(S, names, n):
    """Reduce a simplex to the part nearest to the origin; return its size and its nearest point.

    If four rows remain, the origin is inside the simplex.
    """
    if n == 1:
        S[0, WEIGHT] = 1.0
        return 1, load3(S, 0)
    if n == 2:
        a, b = _segment(load3(S, 0), load3(S, 1))
        S[0, WEIGHT], S[1, WEIGHT] = a, b
        return _reduced(S, names, 2)
    if n == 3:
        a, b, c = _triangle(load3(S, 0), load3(S, 1), load3(S, 2))
        S[0, WEIGHT], S[1, WEIGHT], S[2, WEIGHT] = a, b, c
        return _reduced(S, names, 3)
    return _tetrahedron(S, names)


@kernel
def _tetrahedron(S, names):
    least, best = np.inf, -1
    weights = (0.0, 0.0, 0.0)
    for f in range(4):
        i, j, k, opposite = _face(f)
        a, b, c = load3(S, i), load3(S, j), load3(S, k)
        normal, e = cross3(sub3(b, a), sub3(c, a)), sub3(load3(S, opposite), a)
        height = dot3(normal, e)
        flat = height * height <= THIN * dot3(normal, normal) * dot3(e, e)
        if flat or height * dot3(normal, a) >= 0.0:  # the origin is not on the inner side
            of_a, of_b, of_c = _triangle(a, b, c)
            x = add3(add3(scaled3(a, of_a), scaled3(b, of_b)), scaled3(c, of_c))
            square = dot3(x, x)
            if square < least:
                least, best, weights = square, f, (of_a, of_b, of_c)
    if best < 0:
        return 4, ZERO3
    i, j, k, opposite = _face(best)
    S[i, WEIGHT], S[j, WEIGHT], S[k, WEIGHT] = weights
    S[opposite, WEIGHT] = 0.0
    return _reduced(S, names, 4)


@inline
def _face(f):
    return (
        0 if f < 3 else 1,
        1 if f < 2 else 2,
        2 if f == 0 else 3,
        3 - f,
    )


@kernel
def _reduced(S, names, n):
    """Drop rows of weight 0; return the number of remaining rows and their weighted sum."""
    kept, x = 0, ZERO3
    for row in range(n):
        weight = S[row, WEIGHT]
        if weight > 0.0:
            x = add3(x, scaled3(load3(S, row), weight))
            if kept != row:
                for column in range(ROW):
                    S[kept, column] = S[row, column]
                names[kept, 0], names[kept, 1] = names[row, 0], names[row, 1]
            kept += 1
    return kept, x


@inline
def _segment(a, b):
    """Return the weights of a segment's ends in its point nearest to the origin."""
    along = sub3(b, a)
    s, length = -dot3(a, along), dot3(along, along)
    if s <= 0.0:
        return 1.0, 0.0
    if s >= length:
        return 0.0, 1.0
    return 1.0 - s / length, s / length


@kernel
def _triangle(a, b, c):
    """Return the weights of a triangle's corners in its point nearest to the origin."""
    ab, ac = sub3(b, a), sub3(c, a)
    normal = cross3(ab, ac)
    # weights proportional to the areas of the triangles of the origin's projection and an edge
    of_a = dot3(normal, cross3(b, c))
    of_b = dot3(normal, cross3(c, a))
    of_c = dot3(normal, cross3(a, b))
    broad = dot3(normal, normal) > SLIVER * dot3(ab, ab) * dot3(ac, ac)
    if broad and of_a > 0.0 and of_b > 0.0 and of_c > 0.0:
        area = of_a + of_b + of_c
        return of_a / area, of_b / area, of_c / area
    # the projection is outside, so the nearest point is on an edge
    s, t = _segment(a, b)
    least, weights = _square(a, b, s, t), (s, t, 0.0)
    s, t = _segment(b, c)
    square = _square(b, c, s, t)
    if square < least:
        least, weights = square, (0.0, s, t)
    s, t = _segment(c, a)
    square = _square(c, a, s, t)
    if square < least:
        weights = (t, 0.0, s)
    return weights


@inline
def _square(a, b, s, t):
    """Return the square of the length of s a + t b."""
    x = add3(scaled3(a, s), scaled3(b, t))
    return dot3(x, x)


@kernel
def weighted(S, n):
    """Return the points of A and B that belong to the nearest point of a simplex."""
    x, y = ZERO3, ZERO3
    for row in range(n):
        x = add3(x, scaled3((S[row, 3], S[row, 4], S[row, 5]), S[row, WEIGHT]))
        y = add3(y, scaled3((S[row, 6], S[row, 7], S[row, 8]), S[row, WEIGHT]))
    return x, y
