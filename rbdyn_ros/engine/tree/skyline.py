# SPDX-License-Identifier: Apache-2.0
"""A matrix that couples dofs of several trees: H = L^T D L like M, but with longer rows.

Dofs are eliminated from the leaves to the root, as in crb.py. If a contact joins two branches,
elimination fills in. skyline_next is the elimination tree, in which every column of row k is an
ancestor of k. A row is stored up to skyline_first, the farthest ancestor whose entry can be
nonzero. So branches and trees that no contact joins need no additional operations.

A dof k has the row skyline_row, which is k unless the trees are ordered
(contact/solve/tree_order.py). Row k of the lower triangle ends with the diagonal at skyline[k (k +
3) / 2]; the n-th ancestor of k is n entries before the diagonal. So an ancestor's row holds the
same columns in the same order.

Source: Liu, The role of elimination trees in sparse factorization, 1990.
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.tree.stiffen import bounded_pivot


@inline
def diagonal_of(k):
    """Return the index of the diagonal of row k."""
    return k * (k + 3) // 2


@inline
def place_of(d, k, i):
    """Return the index of column i, an ancestor of k or k itself, in row k."""
    return diagonal_of(k) - d.skyline_depth[k] + d.skyline_depth[i]


@kernel
def start_tree(m, d):
    """Write skyline_next and skyline_first of M, whose rows hold the ancestors of a dof."""
    for k in range(m.nv):
        row, number = m.M_rowadr[k], m.M_rownnz[k]
        n = d.skyline_row[k]
        d.skyline_next[n] = d.skyline_row[m.M_colind[row + number - 2]] if number > 1 else -1
        d.skyline_first[n] = d.skyline_row[m.M_colind[row]]


@kernel
def link(d, a, b):
    """Make one of two dofs an ancestor of the other: join their ancestors in one chain."""
    while a != b and b >= 0:
        if a < b:
            a, b = b, a
        above = d.skyline_next[a]
        if above < b:
            d.skyline_next[a] = b
        a = max(above, b)
        b = min(above, b)


@kernel
def close_tree(m, d):
    """Write skyline_depth, and extend skyline_first by the entries that elimination fills in."""
    for k in range(m.nv - 1, -1, -1):
        above, first = d.skyline_next[k], d.skyline_first[k]
        if first < k:
            d.skyline_first[above] = min(d.skyline_first[above], first)
    for k in range(m.nv):
        above = d.skyline_next[k]
        d.skyline_depth[k] = d.skyline_depth[above] + 1 if above >= 0 else 0


@kernel
def take_triangle(m, d):
    """Write skyline: the matrix whose lower triangle is in qLD."""
    for k in range(m.nv):
        row = d.skyline_row[k]
        end = diagonal_of(row)
        for n in range(place_of(d, row, d.skyline_first[row]), end):
            d.skyline[n] = 0.0
        start = end - d.skyline_depth[row]
        for e in range(m.M_rowadr[k], m.M_rowadr[k] + m.M_rownnz[k]):
            d.skyline[start + d.skyline_depth[d.skyline_row[m.M_colind[e]]]] = d.qLD[e]


@inline
def are_three(d, k):
    """Return whether dof k and the two dofs before it are a chain whose rows begin in one column.

    Such rows, for example of a free body, are eliminated together, because a few long loops are
    faster than many short loops.
    """
    first = d.skyline_first[k]
    return (
        d.skyline_depth[k] % 3 == 2
        and k >= 2
        and d.skyline_next[k] == k - 1
        and d.skyline_next[k - 1] == k - 2
        and d.skyline_first[k - 1] == first
        and d.skyline_first[k - 2] == first
    )


@kernel
def factor_skyline(m, d):
    """Replace skyline by its factors; write D, 1 / D to qLDiagInv, and skyline_now.

    skyline_now counts the entries before the diagonal up to the last nonzero entry, because
    contacts that do not press join no dofs.
    """
    k = m.nv - 1
    while k >= 0:
        if are_three(d, k):
            factor_three(m, d, k)
            k -= 3
        else:
            _factor_one(m, d, k)
            k -= 1


@kernel
def _factor_one(m, d, k):
    H = d.skyline
    end, top = diagonal_of(k), d.skyline_depth[d.skyline_first[k]]
    first = end - d.skyline_depth[k] + top
    while H[first] == 0.0 and first < end:
        first += 1
        top += 1
    d.skyline_now[k] = end - first
    inverse, i = _pivot(m, d, k), k
    for e in range(end - 1, first - 1, -1):
        i = d.skyline_next[i]
        if H[e] != 0.0:
            # with e - first + 1 the compiler would vectorise the loop, which is slow for short
            # rows
            ratio, number = H[e] * inverse, d.skyline_depth[i] - top + 1
            start = diagonal_of(i) + 1 - number
            for n in range(number):
                H[start + n] -= ratio * H[first + n]
            H[e] = ratio


@inline
def _pivot(m, d, k):
    """Write D and 1 / D of a row after the elimination of later rows; return 1 / D."""
    end = diagonal_of(k)
    if d.nstopped != 0:
        d.skyline[end] = bounded_pivot(m, k, d.skyline[end])
    inverse = 1.0 / d.skyline[end]
    d.D[k], d.qLDiagInv[k] = d.skyline[end], inverse
    return inverse


@kernel
def factor_three(m, d, k):
    """Eliminate dofs k, k - 1 and k - 2 together, in one pass over their ancestors' rows."""
    H, top = d.skyline, d.skyline_depth[d.skyline_first[k]]
    p, q, r = diagonal_of(k), diagonal_of(k - 1), diagonal_of(k - 2)
    wide = d.skyline_depth[k - 2] - top  # number of columns left of the three diagonals
    a, b, c = p - 2 - wide, q - 1 - wide, r - wide
    while wide > 0 and H[a] == 0.0 and H[b] == 0.0 and H[c] == 0.0:
        a, b, c, wide, top = a + 1, b + 1, c + 1, wide - 1, top + 1
    d.skyline_now[k], d.skyline_now[k - 1], d.skyline_now[k - 2] = wide + 2, wide + 1, wide
    by_p = _pivot(m, d, k)
    pq, pr = H[p - 1] * by_p, H[p - 2] * by_p
    for n in range(wide):
        H[b + n] -= pq * H[a + n]
        H[c + n] -= pr * H[a + n]
    H[q - 1] -= pq * H[p - 2]
    H[q] -= pq * H[p - 1]
    H[r] -= pr * H[p - 2]
    by_q = _pivot(m, d, k - 1)
    qr = H[q - 1] * by_q
    for n in range(wide):
        H[c + n] -= qr * H[b + n]
    H[r] -= qr * H[q - 1]
    by_r = _pivot(m, d, k - 2)
    H[p - 1], H[p - 2], H[q - 1] = pq, pr, qr
    i = k - 2
    for e in range(wide - 1, -1, -1):
        i = d.skyline_next[i]
        x, y, z = H[a + e], H[b + e], H[c + e]
        if x != 0.0 or y != 0.0 or z != 0.0:
            x, y, z, number = x * by_p, y * by_q, z * by_r, d.skyline_depth[i] - top + 1
            start = diagonal_of(i) + 1 - number
            for n in range(number):
                H[start + n] = H[start + n] - x * H[a + n] - y * H[b + n] - z * H[c + n]
            H[a + e], H[b + e], H[c + e] = x, y, z


@kernel
def solve_skyline(m, d, x):
    """Replace x by H^-1 x. Call `factor_skyline` first."""
    k = m.nv - 1
    while k >= 0:
        if are_three(d, k):
            spread_three(d, d.skyline, k, x)
            k -= 3
        else:
            i, end = k, diagonal_of(k)
            for e in range(end - 1, end - 1 - d.skyline_now[k], -1):
                i = d.skyline_next[i]
                x[i] -= d.skyline[e] * x[k]
            k -= 1
    k = 0
    while k < m.nv:
        if k + 2 < m.nv and are_three(d, k + 2):
            gather_three(d, k + 2, x)
            k += 3
        else:
            i, end, rest = k, diagonal_of(k), x[k] * d.qLDiagInv[k]
            for e in range(end - 1, end - 1 - d.skyline_now[k], -1):
                i = d.skyline_next[i]
                rest -= d.skyline[e] * x[i]
            x[k] = rest
            k += 1


@inline
def spread_three(d, H, k, x):
    """Subtract the effect of rows k, k - 1 and k - 2 of H from the rows above."""
    i = k - 2
    p, q, r = diagonal_of(k), diagonal_of(k - 1), diagonal_of(k - 2)
    one, two = x[k], x[k - 1] - H[p - 1] * x[k]
    three = x[k - 2] - H[p - 2] * one - H[q - 1] * two
    x[k - 1], x[k - 2] = two, three
    for n in range(1, d.skyline_now[k - 2] + 1):
        i = d.skyline_next[i]
        x[i] = x[i] - H[p - 2 - n] * one - H[q - 1 - n] * two - H[r - n] * three


@inline
def gather_three(d, k, x):
    """Solve for dofs k, k - 1 and k - 2 when the dofs above are known."""
    H, i = d.skyline, k - 2
    p, q, r = diagonal_of(k), diagonal_of(k - 1), diagonal_of(k - 2)
    one, two = x[k] * d.qLDiagInv[k], x[k - 1] * d.qLDiagInv[k - 1]
    three = x[k - 2] * d.qLDiagInv[k - 2]
    for n in range(1, d.skyline_now[k - 2] + 1):
        i = d.skyline_next[i]
        one -= H[p - 2 - n] * x[i]
        two -= H[q - 1 - n] * x[i]
        three -= H[r - n] * x[i]
    two -= H[q - 1] * three
    x[k - 2], x[k - 1], x[k] = three, two, one - H[p - 1] * two - H[p - 2] * three


@inline
def _above(d, i):
    # limit the value, because a user may call this before the factors are written
    return max(min(d.skyline_next[i], i - 1), 0)


@kernel
def half_solve_skyline(m, d, x):
    """Replace x by D^-1/2 L^-T x with the factors and row_scale in d."""
    for k in range(m.nv - 1, -1, -1):
        if x[k] != 0.0:
            i, end = k, diagonal_of(k)
            for e in range(end - 1, end - 1 - min(d.skyline_now[k], k), -1):
                i = _above(d, i)
                x[i] -= d.skyline[e] * x[k]
            x[k] *= d.row_scale[k]


@kernel
def other_half_skyline(m, d, x):
    """Replace x by L^-1 D^-1/2 x: after half_solve_skyline it is H^-1 x."""
    for k in range(m.nv):
        i, end, rest = k, diagonal_of(k), x[k] * d.row_scale[k]
        for e in range(end - 1, end - 1 - min(d.skyline_now[k], k), -1):
            i = _above(d, i)
            rest -= d.skyline[e] * x[i]
        x[k] = rest


@kernel
def mul_skyline(m, d, x, y):
    """Write y = H x, before H is factored."""
    for k in range(m.nv):
        y[k] = 0.0
    for k in range(m.nv):
        i, end = k, diagonal_of(k)
        y[k] += d.skyline[end] * x[k]
        for e in range(end - 1, place_of(d, k, d.skyline_first[k]) - 1, -1):
            i = d.skyline_next[i]
            y[k] += d.skyline[e] * x[i]
            y[i] += d.skyline[e] * x[k]
