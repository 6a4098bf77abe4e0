# SPDX-License-Identifier: Apache-2.0
"""Order the trees of a matrix so that its factors have little fill-in.

The tree that touches the fewest other trees is eliminated next; the other trees then count as
touching each other. Rows are eliminated from the last to the first, so the tree gets the last free
rows.

Source: Tinney, Walker, Direct solutions of sparse network equations by optimally ordered
triangular factorization, 1967 (minimum degree).
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import next_bodies
from rbdyn_ros.model.declared.data_fields import WORD_BITS

#: Mask of the last eight bits of a word.
BYTE = 255


@kernel
def order_trees(m, d):
    """Write skyline_row, the rows of the dofs; the dofs of a tree stay in their order."""
    row, i, least = m.nv, 0, 0
    _link_touching(m, d)
    for root in range(m.nbody - 1, 0, -1):
        d.tree_degree[root] = -1
        if m.body_rootid[root] == root:
            d.tree_degree[root] = _degree(m, d, root)
            if d.tree_degree[root] == 0:
                row = _take_rows(d, root, row)
    while True:
        i = _least_degree(m, d, least)
        if i == 0:
            break
        # each neighbour loses this tree
        least = max(d.tree_degree[i] - 1, 0)
        row = _take_rows(d, i, row)
        _join_neighbours(m, d, i)
    for k in range(m.nv):
        root = m.body_rootid[m.dof_bodyid[k]]
        d.skyline_row[k] = d.tree_row[root]
        d.tree_row[root] += 1


@inline
def _link_touching(m, d):
    """Set bits of tree_near for pairs of touching trees; count the dofs of trees in tree_row."""
    for n in range(m.nbody * _words(m)):
        d.tree_near[n] = 0
    for i in range(m.nbody):
        d.tree_row[i] = 0
    for k in range(m.nv):
        d.tree_row[m.body_rootid[m.dof_bodyid[k]]] += 1
    c = 0
    while c < d.ncon:
        if d.contact_body[c, 0] > 0:
            a, b = m.body_rootid[d.contact_body[c, 0]], m.body_rootid[d.contact_body[c, 1]]
            if a != b:
                d.tree_near[a * _words(m) + b // WORD_BITS] |= 1 << (b % WORD_BITS)
                d.tree_near[b * _words(m) + a // WORD_BITS] |= 1 << (a % WORD_BITS)
        c = next_bodies(d, c)


@inline
def _words(m):
    """Return the number of words that each tree has in tree_near, a bit for each body."""
    return m.nbody // WORD_BITS + 1


@inline
def _degree(m, d, i):
    """Return the number of trees that a tree touches."""
    number, first = 0, i * _words(m)
    for n in range(first, first + _words(m)):
        bits = d.tree_near[n]
        while bits != 0:
            bits &= bits - 1
            number += 1
    return number


@inline
def _take_rows(d, i, row):
    """Give a tree the last rows before `row`; return its first row."""
    row -= d.tree_row[i]
    d.tree_row[i] = row
    d.tree_degree[i] = -1
    return row


@inline
def _least_degree(m, d, bound):
    """Return the last tree among those with the least degree, or 0 if all trees are ordered.

    No degree is less than `bound`.
    """
    found, least, i = 0, m.nbody, m.nbody - 1
    while i > 0 and least > bound:
        if 0 <= d.tree_degree[i] < least:
            found, least = i, d.tree_degree[i]
        i -= 1
    return found


@inline
def _join_neighbours(m, d, i):
    """Remove a tree from tree_near, and mark its neighbours as touching each other."""
    words = _words(m)
    for n in range(words):
        bits, a = d.tree_near[i * words + n], n * WORD_BITS
        while bits != 0:
            if bits & 1:
                for w in range(words):
                    d.tree_near[a * words + w] |= d.tree_near[i * words + w]
                d.tree_near[a * words + i // WORD_BITS] &= ~(1 << (i % WORD_BITS))
                d.tree_near[a * words + a // WORD_BITS] &= ~(1 << (a % WORD_BITS))
                d.tree_degree[a] = _degree(m, d, a)
            bits >>= 1
            a += 1
            while bits != 0 and bits & BYTE == 0:
                bits >>= 8
                a += 8
