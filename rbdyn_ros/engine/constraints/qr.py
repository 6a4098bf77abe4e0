# SPDX-License-Identifier: Apache-2.0
"""QR decomposition of rows that may depend on each other: Y^T P = Q R, by Householder.

The decomposition is in place. After step s the chosen row holds, in the entries before s, the
column of R above the diagonal, and from entry s on the vector of the reflection. The arrays are Y
(count, n); `order` (count,), the rows in elimination order; `size` (count,), squared reference
lengths of the rows; `left` (count,), squared lengths of their remainders; `diag`, the diagonal of
R; and `beta`, the factors of the reflections.

Source: Golub, Van Loan, Matrix Computations, sections 5.1 and 5.4.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.compiler.jit import inline, is_zero, kernel, select

#: A row counts as dependent on other rows if its remainder is shorter than this part of its size.
#: The limit is larger than rounding errors require: when a mechanism passes a singular pose, two
#: rows are nearly dependent for a moment, and dividing by their difference would enlarge the
#: step's error a thousand times.
DEPENDENT = 1e-3


#: Squared remainder, as a part of the squared size, below which a row is certainly dependent and
#: above which it is certainly independent, in any metric.
SURELY_NOTHING = 1e-20
SURELY_SOMETHING = 1e-4

UNSURE = -1


@kernel
def decompose(Y, count, n, order, size, left, diag, beta):
    """Decompose Y, always with the row of the largest relative remainder next. Return the rank."""
    threshold = DEPENDENT * DEPENDENT
    return _decompose(Y, count, n, order, size, left, diag, beta, threshold, threshold)


@kernel
def decompose_sure(Y, count, n, order, size, left, diag, beta):
    """Decompose Y and return its rank, or UNSURE if it is doubtful which rows are independent."""
    return _decompose(Y, count, n, order, size, left, diag, beta, SURELY_NOTHING, SURELY_SOMETHING)


@kernel
def _decompose(Y, count, n, order, size, left, diag, beta, nothing, something):
    for r in range(count):
        left[r] = length2(Y[r], 0, n)
    for s in range(min(count, n)):
        best = _longest(left, size, s, count, order)
        order[s], order[best] = order[best], order[s]
        r = order[s]
        left[r] = length2(Y[r], s, n)
        if not left[r] > nothing * size[r]:
            return s
        if not left[r] > something * size[r]:
            return UNSURE
        _eliminate(Y, s, count, n, order, left[r], diag, beta)
        for place in range(s + 1, count):
            other = order[place]
            left[other] -= Y[other, s] * Y[other, s]
    return min(count, n)


@kernel
def decompose_ordered(Y, count, n, rank, order, diag, beta):
    """Decompose the first `rank` rows in `order`, which are independent."""
    for s in range(rank):
        _eliminate(Y, s, count, n, order, length2(Y[order[s]], s, n), diag, beta)


@inline
def _eliminate(Y, s, count, n, order, left, diag, beta):
    """Eliminate the s-th row by a reflection of columns s and up; reflect the later rows."""
    v = Y[order[s]]
    length = np.sqrt(left)
    # 2 / v.v with v = y - diag e_s
    beta[s] = 1.0 / (left + abs(v[s]) * length)
    diag[s] = select(v[s] > 0.0, -length, length)
    v[s] -= diag[s]
    for place in range(s + 1, count):
        _reflect(v, beta[s], s, n, Y[order[place]])


@inline
def length2(row, s, n):
    return dot(row, row, s, n)


@inline
def dot(x, y, s, n):
    # four sums in parallel: a single sum would wait for each addition
    a = b = c = e = 0.0
    k = s
    while k + 4 <= n:
        a += x[k] * y[k]
        b += x[k + 1] * y[k + 1]
        c += x[k + 2] * y[k + 2]
        e += x[k + 3] * y[k + 3]
        k += 4
    while k < n:
        a += x[k] * y[k]
        k += 1
    return (a + b) + (c + e)


@inline
def _longest(left, size, s, count, order):
    """Return the index in `order`, from s on, of the row with the largest relative remainder."""
    best, most = s, -1.0
    for place in range(s, count):
        r = order[place]
        share = left[r] / size[r] if size[r] > 0.0 else 0.0
        if share > most:
            best, most = place, share
    return best


@inline
def _reflect(v, beta, s, n, x):
    along = beta * dot(v, x, s, n)
    # skip zeros, which are frequent: many constraints have no dof in common
    if not is_zero(along):
        for k in range(s, n):
            x[k] -= along * v[k]


@kernel
def turn(Y, rank, n, order, beta, x):
    """Replace x by Q^T x."""
    for s in range(rank):
        _reflect(Y[order[s]], beta[s], s, n, x)


@kernel
def turn_back(Y, rank, n, order, beta, x):
    """Replace x by Q x."""
    for s in range(rank - 1, -1, -1):
        _reflect(Y[order[s]], beta[s], s, n, x)


@kernel
def shortest(Y, rank, n, order, diag, beta, rest, step, x):
    """Write the shortest x with Y x = rest for the independent rows, and step = Q^T x, (rank,)."""
    for s in range(rank):
        r = order[s]
        t = rest[r]
        for i in range(s):
            t -= Y[r, i] * step[i]
        step[s] = t / diag[s]
    for k in range(n):
        x[k] = step[k] if k < rank else 0.0
    turn_back(Y, rank, n, order, beta, x)


@kernel
def multipliers(Y, count, rank, order, diag, step, gram, work, force):
    """Write the shortest force (count,) with Y^T force = Q step.

    `gram` (count, count) and `work` (count,) are scratch.
    """
    for r in range(count):
        force[r] = 0.0
    if rank == count:
        for s in range(rank - 1, -1, -1):
            value = step[s]
            for place in range(s + 1, rank):
                value -= Y[order[place], s] * force[order[place]]
            force[order[s]] = value / diag[s]
    else:
        _least(Y, count, rank, order, diag, step, gram, work, force)


@kernel
def _least(Y, count, rank, order, diag, step, gram, work, force):
    """Write force = R^T (R R^T)^-1 step, the solution of minimum norm, by Cholesky's method."""
    for s in range(rank):
        work[s] = step[s]
        for i in range(s + 1):
            total = 0.0
            for place in range(s, count):
                total += _entry(Y, s, place, order, diag) * _entry(Y, i, place, order, diag)
            gram[s, i] = total
    for s in range(rank):
        for i in range(s):
            for n in range(i):
                gram[s, i] -= gram[s, n] * gram[i, n]
            gram[s, i] /= gram[i, i]
            gram[s, s] -= gram[s, i] * gram[s, i]
        gram[s, s] = np.sqrt(gram[s, s])
        for n in range(s):
            work[s] -= gram[s, n] * work[n]
        work[s] /= gram[s, s]
    for s in range(rank - 1, -1, -1):
        for n in range(s + 1, rank):
            work[s] -= gram[n, s] * work[n]
        work[s] /= gram[s, s]
    for place in range(count):
        for s in range(min(rank, place + 1)):
            force[order[place]] += _entry(Y, s, place, order, diag) * work[s]


@inline
def _entry(Y, s, place, order, diag):
    return diag[s] if place == s else Y[order[place], s]
