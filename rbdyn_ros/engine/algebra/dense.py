# SPDX-License-Identifier: Apache-2.0
"""Small dense systems of linear equations."""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import kernel


@kernel
def solve_square(A, n, x):
    """Replace x by A^-1 x by Gaussian elimination.

    A (n, n) is overwritten. If A is singular, entries of x without a pivot become zero.
    """
    for s in range(n):
        best = s
        for r in range(s + 1, n):
            if abs(A[r, s]) > abs(A[best, s]):
                best = r
        for c in range(n):
            A[s, c], A[best, c] = A[best, c], A[s, c]
        x[s], x[best] = x[best], x[s]
        if A[s, s] == 0.0:
            continue
        for r in range(s + 1, n):
            ratio = A[r, s] / A[s, s]
            for c in range(s, n):
                A[r, c] -= ratio * A[s, c]
            x[r] -= ratio * x[s]
    for s in range(n - 1, -1, -1):
        for c in range(s + 1, n):
            x[s] -= A[s, c] * x[c]
        x[s] = x[s] / A[s, s] if A[s, s] != 0.0 else 0.0
