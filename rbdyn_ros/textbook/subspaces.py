# SPDX-License-Identifier: Apache-2.0
"""Constraints as subspaces, which do not depend on the choice of a basis.

Source: RBDA section 3.3.

A subspace is given by a matrix S whose columns span it. Motions and forces are vectors of dual
spaces, so the orthogonal complement of a motion subspace is a subspace of forces: the forces that
have no power along any of the motions.
"""

import numpy as np
import scipy.linalg

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import bad_argument

#: A direction counts as zero if its singular value is below this fraction of the largest singular
#: value. It is well above the rounding errors of a redundant row, and well below the singular
#: values of real mechanisms.
NEGLIGIBLE = 1e-10


def rank(A: Array) -> int:
    """Return the dimension of range(A)."""
    return len(range_matrix(A).T)


def range_matrix(A: Array) -> Array:
    """Return an orthonormal basis of range(A), as columns."""
    if not A.any():  # SciPy compares singular values with the largest, which is zero here
        return np.zeros((len(A), 0))
    basis: Array = scipy.linalg.orth(A, NEGLIGIBLE)
    return basis


def null_matrix(A: Array) -> Array:
    """Return an orthonormal basis of null(A), as columns."""
    if not A.any():
        return np.eye(A.shape[1])
    basis: Array = scipy.linalg.null_space(A, NEGLIGIBLE)
    return basis


def complement(S: Array) -> Array:
    """Return a basis of the orthogonal complement, a subspace of the dual space (table 3.1)."""
    return null_matrix(S.T)


def same(S1: Array, S2: Array) -> bool:
    """Return whether both matrices span the same subspace: S2 = S1 A with an invertible A."""
    return rank(S1) == rank(S2) == rank(np.hstack([S1, S2]))


def is_direct_sum(*subspaces: Array) -> bool:
    """Return whether every vector has exactly one decomposition into these subspaces (eq 3.24)."""
    together = np.hstack(subspaces)
    return rank(together) == sum(map(rank, subspaces)) == len(together)


def decompose(v: Array, *subspaces: Array) -> list[Array]:
    """Return the part of v in each of the subspaces, whose direct sum is the space (eq 3.27).

    Args:
        v: (n,), a vector.
        subspaces: bases of the subspaces, n independent columns in all.

    Raises:
        ParameterError: the shapes do not match, or the sum is not direct or not the whole space.
    """
    n = len(v)
    for S in subspaces:
        if np.ndim(S) != 2 or len(S) != n:
            message = f"a basis has the shape {np.shape(S)}; expected ({n}, columns)"
            raise bad_argument("subspaces", message)
    bases = np.hstack([np.empty((n, 0)), *subspaces])
    rank = int(np.linalg.matrix_rank(bases))
    if bases.shape != (n, n) or rank < n:
        message = (
            f"the subspaces have {bases.shape[1]} columns of {bases.shape[0]} numbers and rank "
            f"{rank}; a direct sum of {n} dimensions needs {n} independent columns of {n} numbers"
        )
        raise bad_argument("subspaces", message)
    alpha = np.linalg.solve(bases, v)
    ends = np.cumsum([S.shape[1] for S in subspaces])[:-1]
    return [S @ part for S, part in zip(subspaces, np.split(alpha, ends), strict=True)]


def accelerating_force(I: Array, S: Array, f: Array) -> Array:
    """Return f_a, the part of f that accelerates a body which can move in S (example 3.1).

    The constraint opposes f_c, the rest of f. The subspaces are T_a = I S and T_c = S_perp.
    Source: RBDA eq 3.28, without the alpha that is printed inside the inverse by mistake.

    Args:
        I: (6, 6), spatial inertia of the body.
        S: (6, n), basis of its motion subspace.
        f: (6,), force on the body.
    """
    return I @ S @ np.linalg.solve(S.T @ I @ S, S.T @ f)
