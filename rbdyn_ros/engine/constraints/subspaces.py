# SPDX-License-Identifier: Apache-2.0
"""Subspaces of spatial vectors, as orthonormal rows: span and complement.

Source: RBDA section 3.3; Golub, Van Loan, Matrix Computations, section 5.2 (Gram-Schmidt).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.compiler.jit import kernel

#: If orthogonalisation shortens a row to less than this part, it depends on the rows before it.
DEPENDENT = 1e-10


@kernel
def orthonormalise(S, number, R):
    """Make the first `number` rows of S orthonormal; R is upper triangular with S_old = R^T S.

    A row that depends on earlier rows becomes zero, and its diagonal entry of R becomes 1.
    """
    for k in range(number):
        before = 0.0
        for n in range(6):
            before += S[k, n] * S[k, n]
        for i in range(k):
            R[i, k] = 0.0
        for _ in range(2):  # two passes of Gram-Schmidt are enough
            for i in range(k):
                along = 0.0
                for n in range(6):
                    along += S[i, n] * S[k, n]
                R[i, k] += along
                for n in range(6):
                    S[k, n] -= along * S[i, n]
        after = 0.0
        for n in range(6):
            after += S[k, n] * S[k, n]
        sound = after > DEPENDENT * DEPENDENT * before
        R[k, k] = np.sqrt(after) if sound else 1.0
        for n in range(6):
            S[k, n] = S[k, n] / R[k, k] if sound else 0.0


@kernel
def solve_upper(R, number, x):
    """Replace x by R^-1 x."""
    for k in range(number - 1, -1, -1):
        for i in range(k + 1, number):
            x[k] -= R[k, i] * x[i]
        x[k] /= R[k, k]


@kernel
def complement(S, number, T):
    """Write the first 6 - number rows of T: orthonormal, perpendicular to the rows of S.

    Each is a unit vector minus its projections onto the rows of S and the rows found so far. If S
    consists of unit vectors, so does T.
    """
    have = 0
    for axis in range(6):
        if have == 6 - number:
            return
        # the squared lengths of the six remainders add up to the number of missing rows, so one
        # length is at least 1 / sqrt(6) = 0.408; shorter remainders are skipped
        length = _without(S, number, T, have, axis)
        if length > 0.4:
            for n in range(6):
                T[have, n] /= length
            have += 1


@kernel
def _without(S, number, T, have, axis):
    """Write unit vector `axis` less its part along S, T to row `have` of T; return its length."""
    for n in range(6):
        T[have, n] = 1.0 if n == axis else 0.0
    for _ in range(2):
        for k in range(number + have):
            row = S[k] if k < number else T[k - number]
            along = 0.0
            for n in range(6):
                along += row[n] * T[have, n]
            for n in range(6):
                T[have, n] -= along * row[n]
    length = 0.0
    for n in range(6):
        length += T[have, n] * T[have, n]
    return np.sqrt(length)
