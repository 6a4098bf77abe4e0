# SPDX-License-Identifier: Apache-2.0
"""A matrix that is not symmetric, with the rows of skyline.py: H = U D L with triangular U, L.

skyline holds the lower triangle by rows, and skyline_upper the upper triangle by columns, with the
same indices. Dofs are eliminated from the leaves to the root. Only dofs with row_works 1 are
included: whole groups of trees that contacts join.

Source: Liu, The role of elimination trees in sparse factorization, 1990.
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.tree.skyline import are_three, diagonal_of, spread_three


@kernel
def factor_lu(m, d):
    """Replace skyline and skyline_upper by their ratios to the pivots, and pivots by inverses.

    A pivot can be negative, so D is not written.
    """
    k = m.nv - 1
    while k >= 0:
        if d.row_works[k] == 0:
            k -= 1
        elif are_three(d, k):
            _factor_three(m, d, k)
            k -= 3
        else:
            _factor_one(m, d, k)
            k -= 1


@kernel
def _factor_one(m, d, k):
    L, U = d.skyline, d.skyline_upper
    end, top = diagonal_of(k), d.skyline_depth[d.skyline_first[k]]
    first = end - d.skyline_depth[k] + top
    while first < end and L[first] == 0.0 and U[first] == 0.0:
        first += 1
        top += 1
    d.skyline_now[k] = end - first
    inverse, i = _pivot(d, k), k
    for e in range(end - 1, first - 1, -1):
        i = d.skyline_next[i]
        if L[e] != 0.0 or U[e] != 0.0:
            x, y, number = L[e] * inverse, U[e] * inverse, d.skyline_depth[i] - top
            start = diagonal_of(i) - number
            for n in range(number):
                L[start + n] -= y * L[first + n]
                U[start + n] -= x * U[first + n]
            L[start + number] -= y * L[e]
            L[e], U[e] = x, y


@inline
def _pivot(d, k):
    """Invert the pivot of a row after the elimination of later rows, and return the inverse."""
    end = diagonal_of(k)
    d.skyline[end] = 1.0 / d.skyline[end]
    return d.skyline[end]


@kernel
def _factor_three(m, d, k):
    """Eliminate dofs k, k - 1 and k - 2 together, in one pass over their ancestors' rows."""
    L, U, top = d.skyline, d.skyline_upper, d.skyline_depth[d.skyline_first[k]]
    p, q, r = diagonal_of(k), diagonal_of(k - 1), diagonal_of(k - 2)
    wide = d.skyline_depth[k - 2] - top  # number of columns left of the three diagonals
    a, b, c = p - 2 - wide, q - 1 - wide, r - wide
    while wide > 0 and _are_zero(L, a, b, c) and _are_zero(U, a, b, c):
        a, b, c, wide, top = a + 1, b + 1, c + 1, wide - 1, top + 1
    d.skyline_now[k], d.skyline_now[k - 1], d.skyline_now[k - 2] = wide + 2, wide + 1, wide
    by_p = _pivot(d, k)
    lq, lr, uq, ur = L[p - 1] * by_p, L[p - 2] * by_p, U[p - 1] * by_p, U[p - 2] * by_p
    for n in range(wide):
        L[b + n] -= uq * L[a + n]
        U[b + n] -= lq * U[a + n]
        L[c + n] -= ur * L[a + n]
        U[c + n] -= lr * U[a + n]
    L[q - 1] -= uq * L[p - 2]
    U[q - 1] -= lq * U[p - 2]
    L[q] -= uq * L[p - 1]
    L[r] -= ur * L[p - 2]
    by_q = _pivot(d, k - 1)
    ls, us = L[q - 1] * by_q, U[q - 1] * by_q
    for n in range(wide):
        L[c + n] -= us * L[b + n]
        U[c + n] -= ls * U[b + n]
    L[r] -= us * L[q - 1]
    by_r = _pivot(d, k - 2)
    L[p - 1], L[p - 2], L[q - 1] = lq, lr, ls
    U[p - 1], U[p - 2], U[q - 1] = uq, ur, us
    i = k - 2
    for e in range(wide - 1, -1, -1):
        i = d.skyline_next[i]
        x, y, z = L[a + e] * by_p, L[b + e] * by_q, L[c + e] * by_r
        u, v, w = U[a + e] * by_p, U[b + e] * by_q, U[c + e] * by_r
        if x != 0.0 or y != 0.0 or z != 0.0 or u != 0.0 or v != 0.0 or w != 0.0:
            number = d.skyline_depth[i] - top
            start = diagonal_of(i) - number
            for n in range(number):
                L[start + n] = L[start + n] - u * L[a + n] - v * L[b + n] - w * L[c + n]
                U[start + n] = U[start + n] - x * U[a + n] - y * U[b + n] - z * U[c + n]
            end = start + number
            L[end] = L[end] - u * L[a + e] - v * L[b + e] - w * L[c + e]
            L[a + e], L[b + e], L[c + e] = x, y, z
            U[a + e], U[b + e], U[c + e] = u, v, w


@inline
def _are_zero(H, a, b, c):
    return H[a] == 0.0 and H[b] == 0.0 and H[c] == 0.0


@kernel
def solve_lu(m, d, x):
    """Replace x, in the order of the rows, by H^-1 x. Call `factor_lu` first."""
    k = m.nv - 1
    while k >= 0:
        if d.row_works[k] == 0:
            k -= 1
        elif are_three(d, k):
            spread_three(d, d.skyline_upper, k, x)
            k -= 3
        else:
            i, end = k, diagonal_of(k)
            for e in range(end - 1, end - 1 - d.skyline_now[k], -1):
                i = d.skyline_next[i]
                x[i] -= d.skyline_upper[e] * x[k]
            k -= 1
    k = 0
    while k < m.nv:
        if d.row_works[k] == 0:
            k += 1
        elif k + 2 < m.nv and are_three(d, k + 2):
            _gather_three(d, k + 2, x)
            k += 3
        else:
            i, end, rest = k, diagonal_of(k), x[k] * d.skyline[diagonal_of(k)]
            for e in range(end - 1, end - 1 - d.skyline_now[k], -1):
                i = d.skyline_next[i]
                rest -= d.skyline[e] * x[i]
            x[k] = rest
            k += 1


@inline
def _gather_three(d, k, x):
    """Solve for rows k, k - 1 and k - 2 when the rows above are known."""
    L, i = d.skyline, k - 2
    p, q, r = diagonal_of(k), diagonal_of(k - 1), diagonal_of(k - 2)
    one, two, three = x[k] * L[p], x[k - 1] * L[q], x[k - 2] * L[r]
    for n in range(1, d.skyline_now[k - 2] + 1):
        i = d.skyline_next[i]
        one -= L[p - 2 - n] * x[i]
        two -= L[q - 1 - n] * x[i]
        three -= L[r - n] * x[i]
    two -= L[q - 1] * three
    x[k - 2], x[k - 1], x[k] = three, two, one - L[p - 1] * two - L[p - 2] * three
