# SPDX-License-Identifier: Apache-2.0
"""The motion of one body on a joint to the base, by three methods. Source: RBDA section 3.6.

The equation of motion is f + f_c = I a + p, with v in S and f_c in S_perp (eq 3.45, 3.46). The
unknown is the acceleration a that f causes.
"""

import numpy as np

from rbdyn_ros.arrays import Array


def apparent_inverse_inertia(I: Array, S: Array) -> Array:
    """Return Phi, which is I^-1 for a free body. Its range is S, its null space S_perp (3.54)."""
    return S @ np.linalg.solve(S.T @ I @ S, S.T)


def bias_acceleration(I: Array, p: Array, S: Array, S_dot_qd: Array) -> Array:
    """Return b in a = Phi f + b, the acceleration at f = 0 (eq 3.53, 3.55).

    Args:
        I: (6, 6), spatial inertia.
        p: (6,), bias force v x* I v - f_g.
        S: (6, n_f), basis of the motion subspace.
        S_dot_qd: (6,), dS/dt qd.
    """
    return S_dot_qd - apparent_inverse_inertia(I, S) @ (I @ S_dot_qd + p)


def by_multipliers(I: Array, p: Array, T: Array, T_dot_v: Array, f: Array) -> tuple[Array, Array]:
    """Return a and lambda, with the constraint force f_c = T lambda (eq 3.60).

    Args:
        I: (6, 6), spatial inertia.
        p: (6,), bias force.
        T: (6, n_c), basis of the constraint-force subspace.
        T_dot_v: (n_c,), (dT/dt)^T v.
        f: (6,), applied force.
    """
    A = np.block([[I, T], [T.T, np.zeros((T.shape[1], T.shape[1]))]])
    x = np.linalg.solve(A, np.concatenate([f - p, -T_dot_v]))
    return x[:6], -x[6:]


def generalised(I: Array, p: Array, S: Array, S_dot_qd: Array) -> tuple[Array, Array]:
    """Return H and C of H qdd + C = tau, where tau = S^T f (eq 3.61 to 3.64)."""
    return S.T @ I @ S, S.T @ (I @ S_dot_qd + p)
