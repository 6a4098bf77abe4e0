# SPDX-License-Identifier: Apache-2.0
"""Solve constrained equations of motion, given H, C and tau without constraints (RBDA 3.2).

Implicit: K qdd = k, with the constraint force tau_c = K^T lambda (3.11, 3.15). Explicit: qd = G yd
and qdd = G ydd + g, with G^T tau_c = 0 (3.11, 3.16).
"""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.subspaces import NEGLIGIBLE, null_matrix


@dataclass(frozen=True)
class Implicit:
    """Motion and forces of a system with implicit constraints.

    Attributes:
        qdd: (n,), accelerations of the system.
        lam: (n_c,), the smallest lambda with tau_c = K^T lambda.
        rank: n_ic, number of independent constraints.
    """

    qdd: Array
    lam: Array
    rank: int


def implicit(H: Array, C: Array, tau: Array, K: Array, k: Array) -> Implicit:
    """Solve eq 3.17, even if the system is over-constrained (n_ic < n_c).

    With K = U D V^T, reduced to the n_ic significant singular values, V^T qdd = D^-1 U^T k has
    independent rows. Their multipliers mu = D U^T lambda are unique, and U D^-1 mu is the smallest
    lambda that gives mu. Rows of K qdd = k that contradict each other hold in the sense of least
    squares.

    Args:
        H: (n, n), inertia matrix.
        C: (n,), bias force.
        tau: (n,), applied force.
        K: (n_c, n), constraint matrix.
        k: (n_c,), the required value of K qdd.
    """
    U, D, V = significant(K)
    zero = np.zeros((len(D), len(D)))
    A = np.block([[H, V], [V.T, zero]])
    x = np.linalg.solve(A, np.concatenate([tau - C, U.T @ k / D]))
    qdd, mu = x[: len(H)], -x[len(H) :]
    return Implicit(qdd, U @ (mu / D), len(D))


def significant(K: Array) -> tuple[Array, Array, Array]:
    """Return U, D and V with K = U diag(D) V^T; D has rank(K) singular values."""
    U, D, Vt = np.linalg.svd(K, full_matrices=False)
    keep = max(D, default=0.0) * NEGLIGIBLE < D
    return U[:, keep], D[keep], Vt[keep].T


def explicit(H: Array, C: Array, tau: Array, G: Array, g: Array) -> tuple[Array, Array, Array]:
    """Return qdd, tau_c and ydd from eq 3.18.

    Args:
        H: (n, n), inertia matrix.
        C: (n,), bias force.
        tau: (n,), applied force.
        G: (n, n_y), of full column rank.
        g: (n,), dG/dt yd.
    """
    n, n_y = G.shape
    one = np.eye(n)
    A = np.block(
        [
            [H, -one, np.zeros((n, n_y))],
            [-one, np.zeros((n, n)), G],
            [np.zeros((n_y, n)), G.T, np.zeros((n_y, n_y))],
        ]
    )
    x = np.linalg.solve(A, np.concatenate([tau - C, -g, np.zeros(n_y)]))
    return x[:n], x[n : 2 * n], x[2 * n :]


def explicit_reduced(H: Array, C: Array, tau: Array, G: Array, g: Array) -> tuple[Array, Array]:
    """Return tau_c and ydd from eq 3.19, in which qdd is eliminated from eq 3.18.

    The matrix belongs to the unknown -tau_c, although eq 3.19 prints tau_c: the second row of eq
    3.18 and H^-1 times the first row add up to G ydd - H^-1 tau_c = H^-1 (tau - C) - g.
    """
    n, n_y = G.shape
    A = np.block([[np.linalg.inv(H), G], [G.T, np.zeros((n_y, n_y))]])
    free = np.linalg.solve(H, tau - C)
    x = np.linalg.solve(A, np.concatenate([free - g, np.zeros(n_y)]))
    return -x[:n], x[n:]


def projected(H: Array, C: Array, G: Array, g: Array) -> tuple[Array, Array]:
    """Return H_G and C_G of H_G ydd + C_G = u, where u = G^T tau (eq 3.20, 3.21)."""
    return G.T @ H @ G, G.T @ (C + H @ g)


def projection(H: Array, C: Array, tau: Array, G: Array, g: Array) -> Array:
    """Return ydd by the projection method (eq 3.20)."""
    H_G, C_G = projected(H, C, G, g)
    return np.linalg.solve(H_G, G.T @ tau - C_G)


def explicit_from_implicit(K: Array, k: Array) -> tuple[Array, Array]:
    """Return G and g of an equivalent explicit constraint: K G = 0, K g = k (eq 3.12)."""
    U, D, V = significant(K)
    return null_matrix(K), V @ (U.T @ k / D)
