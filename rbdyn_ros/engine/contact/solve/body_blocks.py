# SPDX-License-Identifier: Apache-2.0
"""The matrix of a step in blocks of 6 x 6, for free bodies that touch each other.

The unknowns are the spatial accelerations of the bodies, about their centres of mass. A body has
six rows in skyline.py and skyline_lu.py, the angular acceleration first. So its inertia and the
slopes of its contacts are blocks of the matrix as they are, without products with motion axes.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import add_scaled6, cross3, load3, sub3
from rbdyn_ros.engine.algebra.symmetric import columns21
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import next_bodies
from rbdyn_ros.engine.tree.skyline import diagonal_of, link, place_of


@inline
def first_row(m, d, i):
    """Return the first row of a free body."""
    return d.skyline_row[m.body_dofadr[i]]


@kernel
def grow_blocks(m, d):
    """Write the elimination tree. Fill skyline_row first. The six rows of a body are a chain."""
    for row in range(0, m.nv, 6):
        for n in range(6):
            d.skyline_next[row + n] = row + n - 1
            d.skyline_first[row + n] = row
        d.skyline_next[row] = -1
    c = 0
    while c < d.ncon:
        if d.contact_body[c, 0] > 0:
            one, two = first_row(m, d, d.contact_body[c, 0]), first_row(m, d, d.contact_body[c, 1])
            link(d, one + 5, two + 5)
            _reach(d, max(one, two), min(one, two))
        c = next_bodies(d, c)
    for row in range(m.nv - 6, -1, -6):
        above, first = d.skyline_next[row], d.skyline_first[row]
        if first < row:
            _reach(d, above - 5, first)
    for row in range(0, m.nv, 6):
        above = d.skyline_next[row]
        depth = d.skyline_depth[above] + 1 if above >= 0 else 0
        for n in range(6):
            d.skyline_depth[row + n] = depth + n


@inline
def _reach(d, row, first):
    """Let the rows of a body begin at the column `first` or before it."""
    first = min(first, d.skyline_first[row])
    for n in range(6):
        d.skyline_first[row + n] = first


@inline
def write_block(d, row, A):
    """Write the rows of a body with the inertia A."""
    if d.skyline_first[row] < row:
        for k in range(row, row + 6):
            end = diagonal_of(k) - k + row
            for n in range(place_of(d, k, d.skyline_first[k]), end):
                d.skyline[n] = 0.0
    p, q, r, x, y, z = columns21(A)
    _put_triangle(d.skyline, row, False, p, q, r, x, y, z)


@inline
def copy_block(d, row):
    """Copy the rows of a body to skyline_upper."""
    for k in range(row, row + 6):
        for n in range(place_of(d, k, d.skyline_first[k]), diagonal_of(k) + 1):
            d.skyline_upper[n] = d.skyline[n]


@inline
def add_slopes(m, d, c, upper, p, q, r, x, y, z):
    """Add the slopes of contacts of two bodies: six columns about the centre of mass of body 2.

    The point of body 2 moves by a2 - X a1, so with these columns S the blocks get S, -S X, -X^T S
    and X^T S X. Only with `upper` the upper triangle is written, too.
    """
    two = first_row(m, d, d.contact_body[c, 1])
    _add_to_diagonal(d, two, upper, p, q, r, x, y, z)
    if d.contact_body[c, 0] > 0:
        one = first_row(m, d, d.contact_body[c, 0])
        way = sub3(load3(d.contact_arm1, c), load3(d.contact_arm2, c))  # from body 1 to body 2
        P, Q, R, X, Y, Z = _all_there(way, p, q, r, x, y, z)
        _subtract(d, one, two, upper, P, Q, R, X, Y, Z)
        a, b, e = way
        p = add_scaled6(add_scaled6(p, y, -e), z, b)
        q = add_scaled6(add_scaled6(q, x, e), z, -a)
        r = add_scaled6(add_scaled6(r, x, -b), y, a)
        _subtract(d, two, one, upper, p, q, r, x, y, z)
        P, Q, R, X, Y, Z = _all_there(way, p, q, r, x, y, z)
        _add_to_diagonal(d, one, upper, P, Q, R, X, Y, Z)


@inline
def _all_there(way, p, q, r, x, y, z):
    """Return X^T times six wrenches: the wrenches about the point at -`way` from their own."""
    return (
        _there(way, p), _there(way, q), _there(way, r),
        _there(way, x), _there(way, y), _there(way, z),
    )  # fmt: skip


@inline
def _there(way, F):
    n = cross3(way, (F[3], F[4], F[5]))
    return F[0] + n[0], F[1] + n[1], F[2] + n[2], F[3], F[4], F[5]


@inline
def _transposed(p, q, r, x, y, z):
    return (
        (p[0], q[0], r[0], x[0], y[0], z[0]),
        (p[1], q[1], r[1], x[1], y[1], z[1]),
        (p[2], q[2], r[2], x[2], y[2], z[2]),
        (p[3], q[3], r[3], x[3], y[3], z[3]),
        (p[4], q[4], r[4], x[4], y[4], z[4]),
        (p[5], q[5], r[5], x[5], y[5], z[5]),
    )


@inline
def _add_to_diagonal(d, row, upper, p, q, r, x, y, z):
    """Add six columns to the block of a body on the diagonal."""
    if upper:
        _put_triangle(d.skyline_upper, row, True, p, q, r, x, y, z)
    p, q, r, x, y, z = _transposed(p, q, r, x, y, z)
    _put_triangle(d.skyline, row, True, p, q, r, x, y, z)


@inline
def _put_triangle(H, row, add, p, q, r, x, y, z):
    """Write the lower triangle of a block, given by its rows, or add to it."""
    _put(H, diagonal_of(row), add, p[0])
    n = diagonal_of(row + 1) - 1
    _put(H, n, add, q[0])
    _put(H, n + 1, add, q[1])
    n = diagonal_of(row + 2) - 2
    _put_three(H, n, add, r[0], r[1], r[2])
    n = diagonal_of(row + 3) - 3
    _put_three(H, n, add, x[0], x[1], x[2])
    _put(H, n + 3, add, x[3])
    n = diagonal_of(row + 4) - 4
    _put_three(H, n, add, y[0], y[1], y[2])
    _put(H, n + 3, add, y[3])
    _put(H, n + 4, add, y[4])
    n = diagonal_of(row + 5) - 5
    _put_three(H, n, add, z[0], z[1], z[2])
    _put_three(H, n + 3, add, z[3], z[4], z[5])


@inline
def _put_three(H, n, add, x, y, z):
    _put(H, n, add, x)
    _put(H, n + 1, add, y)
    _put(H, n + 2, add, z)


@inline
def _put(H, n, add, x):
    H[n] = H[n] + x if add else x


@inline
def _subtract(d, row, column, upper, p, q, r, x, y, z):
    """Subtract six columns from the block of two bodies that begins at `row` and `column`."""
    if row > column:
        p, q, r, x, y, z = _transposed(p, q, r, x, y, z)
        _subtract_rows(d, d.skyline, row, column, p, q, r, x, y, z)
    elif upper:
        _subtract_rows(d, d.skyline_upper, column, row, p, q, r, x, y, z)


@inline
def _subtract_rows(d, H, row, column, p, q, r, x, y, z):
    _subtract_row(H, place_of(d, row, column), p)
    _subtract_row(H, place_of(d, row + 1, column), q)
    _subtract_row(H, place_of(d, row + 2, column), r)
    _subtract_row(H, place_of(d, row + 3, column), x)
    _subtract_row(H, place_of(d, row + 4, column), y)
    _subtract_row(H, place_of(d, row + 5, column), z)


@inline
def _subtract_row(H, n, x):
    H[n], H[n + 1], H[n + 2] = H[n] - x[0], H[n + 1] - x[1], H[n + 2] - x[2]
    H[n + 3], H[n + 4], H[n + 5] = H[n + 3] - x[3], H[n + 4] - x[4], H[n + 5] - x[5]
