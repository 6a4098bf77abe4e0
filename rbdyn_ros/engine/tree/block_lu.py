# SPDX-License-Identifier: Apache-2.0
"""The factors of a matrix in blocks of 6 x 6, most of which are zero.

Bodies are numbered from 0, and eliminated from the last to the first. block_near lists, in any
order, for each body b the earlier bodies that share a block with b when b is eliminated. The
blocks in the rows of b are in skyline; the blocks in its columns are in skyline_upper, transposed.
A symmetric matrix has no blocks in skyline_upper until it is factored. block_filled is 1 for the
blocks that have numbers; the others are zero, whatever is in memory. Only bodies whose first row
has row_works 1 are included.

Let D be the diagonal block of b, A a block in its rows and B a block in its columns. Elimination
subtracts B D^-1 A from the block of every two bodies near b. If D = L U, this is the product of B
U^-1, which replaces B, and L^-1 A, which replaces A. L and U replace D.

Source: Duff, Erisman, Reid, Direct methods for sparse matrices, 2017, sections 10 to 12.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import dot6, scaled6
from rbdyn_ros.engine.compiler.block_rows import (
    divide_columns,
    divide_rows,
    subtract_product,
    subtract_row,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel

#: Number of entries of a block.
BLOCK = 36


@inline
def list_start(b):
    """Return the index in block_near of the first body near b."""
    return b * (b - 1) // 2


@inline
def block_start(b, other):
    """Return the index of the block of b and a body before it."""
    return (list_start(b) + other) * BLOCK


@inline
def fill_block(d, b, other, symmetric):
    """Return the index of the block of b and an earlier body; set it to zero at its first use."""
    start = block_start(b, other)
    if d.block_filled[list_start(b) + other] == 0:
        d.block_filled[list_start(b) + other] = 1
        for k in range(start, start + BLOCK):
            d.skyline[k] = 0.0
        if not symmetric:
            for k in range(start, start + BLOCK):
                d.skyline_upper[k] = 0.0
    return start


@inline
def load_row(H, n):
    """Return the row of a block, six numbers that begin at index n."""
    return H[n], H[n + 1], H[n + 2], H[n + 3], H[n + 4], H[n + 5]


@inline
def store_row(H, n, x):
    """Write the row of a block, six numbers that begin at index n."""
    H[n], H[n + 1], H[n + 2], H[n + 3], H[n + 4], H[n + 5] = x


@inline
def store_rows(H, n, rows):
    """Write the rows of the block that begins at n."""
    store_row(H, n, rows[0])
    store_row(H, n + 6, rows[1])
    store_row(H, n + 12, rows[2])
    store_row(H, n + 18, rows[3])
    store_row(H, n + 24, rows[4])
    store_row(H, n + 30, rows[5])


@kernel
def factor_blocks(m, d, symmetric):
    """Replace the blocks by their factors; write block_live: how many near bodies have a block.

    Near bodies whose block is zero move to the end of their list, because a contact that does not
    press joins no bodies.
    """
    for b in range(m.nfree - 1, -1, -1):
        if d.row_works[6 * b] == 0:
            continue
        D, first = d.block_diagonal[b], list_start(b)
        _factor_diagonal(D)
        live = first
        for n in range(first, first + d.block_number[b]):
            other = d.block_near[n]
            if d.block_filled[list_start(b) + other] == 0:
                continue
            start = block_start(b, other)
            divide_rows(d.skyline, start, D, 0)
            if symmetric:
                _copy_columns(D, d.skyline, d.skyline_upper, start)
            else:
                divide_columns(d.skyline_upper, start, D, 0)
            d.block_near[n], d.block_near[live] = d.block_near[live], other
            live += 1
        d.block_live[b] = live - first
        for n in range(first, live):
            other = d.block_near[n]
            start = block_start(b, other)
            subtract_product(d.block_diagonal[other], 0, d.skyline_upper, start, d.skyline, start)
            for k in range(first, n):
                high, low = max(other, d.block_near[k]), min(other, d.block_near[k])
                place = fill_block(d, high, low, symmetric)
                one, two = block_start(b, high), block_start(b, low)
                subtract_product(d.skyline, place, d.skyline_upper, one, d.skyline, two)
                if not symmetric:
                    subtract_product(d.skyline_upper, place, d.skyline, one, d.skyline_upper, two)


@kernel
def _factor_diagonal(D):
    """Replace a block by L and U. The diagonal holds the inverses of U's; the diagonal of L is 1.

    The last row is eliminated first, so L is upper triangular, and U is lower triangular.
    """
    for k in range(5, -1, -1):
        inverse = 1.0 / D[7 * k]
        for i in range(k):
            ratio = D[6 * i + k] * inverse
            D[6 * i + k] = ratio
            for j in range(k):
                D[6 * i + j] -= ratio * D[6 * k + j]
        D[7 * k] = inverse


@kernel
def _copy_columns(D, rows, columns, n):
    """Write B U^-1 of a symmetric matrix, transposed, to `columns`; `rows` has L^-1 A."""
    for k in range(6):
        store_row(columns, n + 6 * k, scaled6(load_row(rows, n + 6 * k), D[7 * k]))


@kernel
def solve_blocks(m, d, x):
    """Replace x, six numbers for each body, by H^-1 x. Call `factor_blocks` first."""
    for b in range(m.nfree - 1, -1, -1):
        if d.row_works[6 * b] != 0:
            part = _solve_lower(d.block_diagonal[b], load_row(x, 6 * b))
            store_row(x, 6 * b, part)
            for n in range(list_start(b), list_start(b) + d.block_live[b]):
                other = d.block_near[n]
                subtract_row(x, 6 * other, d.skyline_upper, block_start(b, other), x, 6 * b)
    for b in range(m.nfree):
        if d.row_works[6 * b] != 0:
            for n in range(list_start(b), list_start(b) + d.block_live[b]):
                other = d.block_near[n]
                part = load_row(x, 6 * other)
                for k in range(6):
                    row = load_row(d.skyline, block_start(b, other) + 6 * k)
                    x[6 * b + k] -= dot6(row, part)
            store_row(x, 6 * b, _solve_upper(d.block_diagonal[b], load_row(x, 6 * b)))


@inline
def _solve_lower(D, f):
    """Return L^-1 f."""
    p, q, r, x, y, z = f
    y -= D[29] * z
    x -= D[23] * z + D[22] * y
    r -= D[17] * z + D[16] * y + D[15] * x
    q -= D[11] * z + D[10] * y + D[9] * x + D[8] * r
    p -= D[5] * z + D[4] * y + D[3] * x + D[2] * r + D[1] * q
    return p, q, r, x, y, z


@inline
def _solve_upper(D, f):
    """Return U^-1 f."""
    p, q, r, x, y, z = f
    p *= D[0]
    q = (q - D[6] * p) * D[7]
    r = (r - D[12] * p - D[13] * q) * D[14]
    x = (x - D[18] * p - D[19] * q - D[20] * r) * D[21]
    y = (y - D[24] * p - D[25] * q - D[26] * r - D[27] * x) * D[28]
    z = (z - D[30] * p - D[31] * q - D[32] * r - D[33] * x - D[34] * y) * D[35]
    return p, q, r, x, y, z
