"""A matrix that joins dofs of several trees: H = L^T D L like M, but with rows of any length.

Row k of the lower triangle begins at skyline[k (k + 1) / 2] and is zero before column
skyline_first[k]. Dofs are eliminated from the leaves to the root as in crb.py, so a tree fills in
nothing and trees that nothing joins stay apart: zeros are passed over.
"""

from __future__ import annotations

from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.stops.stiffen import sound


@inline
def row_of(k):
    """Return the place of column 0 of row k."""
    return k * (k + 1) // 2


@kernel
def close_skyline(m, d):
    """Let skyline_first reach as far as elimination fills in."""
    for k in range(m.nv - 1, -1, -1):
        first = d.skyline_first[k]
        for i in range(first, k):
            d.skyline_first[i] = min(d.skyline_first[i], first)


@kernel
def take_triangle(m, d):
    """Write skyline: the matrix whose lower triangle is in qLD."""
    for k in range(m.nv):
        row = row_of(k)
        for i in range(d.skyline_first[k], k + 1):
            d.skyline[row + i] = 0.0
        for e in range(m.M_rowadr[k], m.M_rowadr[k] + m.M_rownnz[k]):
            d.skyline[row + m.M_colind[e]] = d.qLD[e]


@kernel
def factor_skyline(m, d):
    """Replace skyline by its factors; write D, 1 / D to qLDiagInv, and skyline_now.

    Rows begin at skyline_now, where they are not zero; contacts that do not press join nothing.
    """
    H = d.skyline
    for k in range(m.nv - 1, -1, -1):
        row, first = row_of(k), d.skyline_first[k]
        while H[row + first] == 0.0 and first < k:
            first += 1
        d.skyline_now[k] = first
        if d.nstopped != 0:
            H[row + k] = sound(m, k, H[row + k])
        inverse = 1.0 / H[row + k]
        d.D[k], d.qLDiagInv[k] = H[row + k], inverse
        for i in range(k - 1, first - 1, -1):
            if H[row + i] != 0.0:
                ratio, start = H[row + i] * inverse, row_of(i)
                for n in range(first, i + 1):
                    H[start + n] -= ratio * H[row + n]
                H[row + i] = ratio


@kernel
def solve_skyline(m, d, x):
    """Replace x by H^-1 x; needs factor_skyline."""
    for i in range(m.nv - 1, -1, -1):
        row = row_of(i)
        for n in range(d.skyline_now[i], i):
            x[n] -= d.skyline[row + n] * x[i]
    for i in range(m.nv):
        row, rest = row_of(i), x[i] * d.qLDiagInv[i]
        for n in range(d.skyline_now[i], i):
            rest -= d.skyline[row + n] * x[n]
        x[i] = rest


@kernel
def half_solve_skyline(m, d, x):
    """Replace x by D^-1/2 L^-T x; needs row_scale.

    A Data may hold any skyline_now here: the factors may be those of an earlier call.
    """
    for i in range(m.nv - 1, -1, -1):
        if x[i] != 0.0:
            row = row_of(i)
            for n in range(max(d.skyline_now[i], 0), i):
                x[n] -= d.skyline[row + n] * x[i]
            x[i] *= d.row_scale[i]


@kernel
def other_half_skyline(m, d, x):
    """Replace x by L^-1 D^-1/2 x: after half_solve_skyline it is H^-1 x."""
    for i in range(m.nv):
        row, rest = row_of(i), x[i] * d.row_scale[i]
        for n in range(max(d.skyline_now[i], 0), i):
            rest -= d.skyline[row + n] * x[n]
        x[i] = rest


@kernel
def mul_skyline(m, d, x, y):
    """Write y = H x, before it is factored."""
    for i in range(m.nv):
        y[i] = 0.0
    for i in range(m.nv):
        row = row_of(i)
        for n in range(d.skyline_first[i], i):
            y[i] += d.skyline[row + n] * x[n]
            y[n] += d.skyline[row + n] * x[i]
        y[i] += d.skyline[row + i] * x[i]
