# SPDX-License-Identifier: Apache-2.0
"""The matrix of a step in blocks of 6 x 6, for free bodies that touch each other.

The unknowns are the spatial accelerations [angular; linear] of the bodies about their centres of
mass. So the inertia of a body and the slopes of its contacts are blocks of the matrix, without
products with motion axes. block_lu.py factors the matrix.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    add_scaled6,
    cross3,
    load3,
    scaled3,
    sub3,
)
from rbdyn_ros.engine.algebra.symmetric import columns21
from rbdyn_ros.engine.compiler.block_rows import add_wrenches
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import next_bodies, wrench_at
from rbdyn_ros.engine.tree.block_lu import (
    fill_block,
    list_start,
    load_row,
    store_row,
    store_rows,
)


@inline
def block_of(m, d, i):
    """Return the number of a free body in the order of elimination."""
    return d.skyline_row[m.body_dofadr[i]] // 6


@kernel
def grow_blocks(m, d):
    """Write block_near; return how many blocks elimination fills in. skyline_row must be set."""
    for b in range(m.nfree):
        d.block_number[b] = 0
    c = 0
    while c < d.ncon:
        if d.contact_body[c, 0] > 0:
            one = block_of(m, d, d.contact_body[c, 0])
            two = block_of(m, d, d.contact_body[c, 1])
            _list_block(d, max(one, two), min(one, two))
        c = next_bodies(d, c)
    filled = 0
    for b in range(m.nfree - 1, 0, -1):
        first, number, next_body = list_start(b), d.block_number[b], 0
        for n in range(first, first + number):
            next_body = max(next_body, d.block_near[n])
        for n in range(first, first + number):
            if d.block_near[n] != next_body:
                filled += _list_block(d, next_body, d.block_near[n])
    return filled


@inline
def _list_block(d, b, other):
    """Add a body to the list of body b; return False if it was listed."""
    n, end = list_start(b), list_start(b) + d.block_number[b]
    while n < end and d.block_near[n] != other:
        n += 1
    if n < end:
        return False
    d.block_near[n] = other
    d.block_number[b] += 1
    return True


@inline
def write_block(d, b, A):
    """Write the inertia A of a body to its diagonal block, and empty its other blocks."""
    p, q, r, x, y, z = columns21(A)
    store_rows(d.block_diagonal[b], 0, (p, q, r, x, y, z))
    for n in range(list_start(b), list_start(b) + d.block_number[b]):
        d.block_filled[list_start(b) + d.block_near[n]] = 0


@inline
def add_slopes(m, d, c, S, symmetric):
    """Add the slopes of contacts of two bodies: six columns S about the centre of mass of body 2.

    The point of body 2 has the relative acceleration a2 - X a1, so the blocks get S, -S X, -X^T S
    and X^T S X.
    """
    rows, two = _transposed(*S), block_of(m, d, d.contact_body[c, 1])
    _add(d.block_diagonal[two], 0, rows, 1.0)
    if d.contact_body[c, 0] == 0:
        return
    one = block_of(m, d, d.contact_body[c, 0])
    way = sub3(load3(d.contact_arm1, c), load3(d.contact_arm2, c))  # from body 1 to body 2
    lower, upper = _all_there(way, *rows), _all_there(way, *S)
    _add(d.block_diagonal[one], 0, _transposed(*_all_there(way, *_transposed(*lower))), 1.0)
    if one > two:
        lower, upper = _transposed(*upper), _transposed(*lower)
    start = fill_block(d, max(one, two), min(one, two), symmetric)
    _add(d.skyline, start, lower, -1.0)
    if not symmetric:
        _add(d.skyline_upper, start, upper, -1.0)


@inline
def add_point(m, d, c, K, symmetric):
    """Add the slope of a contact at a point: K, the force's derivative by the point's velocity.

    If J maps the motion of a body to the velocity of the point, the blocks get J^T K J.
    """
    k, l, n = K
    two, arm = block_of(m, d, d.contact_body[c, 1]), load3(d.contact_arm2, c)
    x, y, z = wrench_at(arm, k), wrench_at(arm, l), wrench_at(arm, n)
    add_wrenches(d.block_diagonal[two], 0, arm, x, y, z)
    if d.contact_body[c, 0] == 0:
        return
    one, arm = block_of(m, d, d.contact_body[c, 0]), load3(d.contact_arm1, c)
    x, y, z = wrench_at(arm, k), wrench_at(arm, l), wrench_at(arm, n)
    add_wrenches(d.block_diagonal[one], 0, arm, x, y, z)
    high, low = load3(d.contact_arm2, c), arm
    if one > two:
        high, low = low, high
    start = fill_block(d, max(one, two), min(one, two), symmetric)
    k, l, n = scaled3(k, -1.0), scaled3(l, -1.0), scaled3(n, -1.0)
    x, y, z = wrench_at(low, k), wrench_at(low, l), wrench_at(low, n)
    add_wrenches(d.skyline, start, high, x, y, z)
    if not symmetric:
        k, l, n = (k[0], l[0], n[0]), (k[1], l[1], n[1]), (k[2], l[2], n[2])
        x, y, z = wrench_at(low, k), wrench_at(low, l), wrench_at(low, n)
        add_wrenches(d.skyline_upper, start, high, x, y, z)


@inline
def _all_there(way, p, q, r, x, y, z):
    """Return X^T times six wrenches: the wrenches about a point displaced by -`way`."""
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
def _add(H, n, rows, sign):
    """Add six rows, times `sign`, to the block that begins at n."""
    p, q, r, x, y, z = rows
    _add_row(H, n, p, sign)
    _add_row(H, n + 6, q, sign)
    _add_row(H, n + 12, r, sign)
    _add_row(H, n + 18, x, sign)
    _add_row(H, n + 24, y, sign)
    _add_row(H, n + 30, z, sign)


@inline
def _add_row(H, n, x, sign):
    store_row(H, n, add_scaled6(load_row(H, n), x, sign))
