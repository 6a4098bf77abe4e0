# SPDX-License-Identifier: Apache-2.0
"""Implicit and explicit constraints (RBDA, section 3.2) agree on random systems.

The systems have 8 coordinates and condition numbers below 1e4, so results agree to 1e-11.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from rbdyn_ros.textbook import constraints
from rbdyn_ros.textbook.subspaces import null_matrix, rank

TOLERANCE = 1e-11
N = 8


def system(n_ic, n_c, seed=0):
    """Return a random system with n_c constraints, n_ic of them independent."""
    rng = np.random.default_rng([seed, n_ic, n_c])
    A = rng.uniform(-1.0, 1.0, (N, N))
    rows, mix = rng.uniform(-1.0, 1.0, (n_ic, N)), rng.uniform(-1.0, 1.0, (n_c, n_ic))
    K = mix @ rows
    C, tau, at = (rng.uniform(-1.0, 1.0, N) for _ in range(3))
    return SimpleNamespace(H=A @ A.T + np.eye(N), C=C, tau=tau, K=K, k=K @ at)


@pytest.fixture(params=[(0, 0), (3, 3), (3, 5), (1, 6), (8, 8), (8, 11)], ids=str)
def x(request):
    return system(*request.param)


def close(ours, theirs):
    np.testing.assert_allclose(
        ours, theirs, atol=TOLERANCE * (1.0 + np.abs(theirs).max(initial=0))
    )


def test_the_solution_with_implicit_constraints_solves_the_equations(x):
    found = constraints.implicit(x.H, x.C, x.tau, x.K, x.k)
    close(x.H @ found.qdd - x.K.T @ found.lam, x.tau - x.C)
    close(x.K @ found.qdd, x.k)
    assert found.rank == rank(x.K)


def test_lambda_is_the_solution_of_least_norm(x):
    found = constraints.implicit(x.H, x.C, x.tau, x.K, x.k)
    close(null_matrix(x.K.T).T @ found.lam, np.zeros(len(x.k) - found.rank))
    tau_c = x.H @ found.qdd + x.C - x.tau
    close(found.lam, np.linalg.lstsq(x.K.T, tau_c, rcond=1e-10)[0])


def test_a_nonsingular_system_has_the_solution_of_the_textbook_equation():
    x = system(3, 3)
    A = np.block([[x.H, x.K.T], [x.K, np.zeros((3, 3))]])
    solution = np.linalg.solve(A, np.concatenate([x.tau - x.C, x.k]))
    found = constraints.implicit(x.H, x.C, x.tau, x.K, x.k)
    close(found.qdd, solution[:N])
    close(found.lam, -solution[N:])


def test_contradicting_constraints_are_solved_with_the_least_residual():
    x = system(0, 0)
    K = np.vstack([np.eye(N)[0], np.eye(N)[0]])
    found = constraints.implicit(x.H, x.C, x.tau, K, np.array([1.0, 3.0]))
    assert found.rank == 1
    assert found.qdd[0] == pytest.approx(2.0)


def test_explicit_forms_agree_with_the_implicit_form(x):
    G, g = constraints.explicit_from_implicit(x.K, x.k)
    close(x.K @ G, np.zeros((len(x.k), G.shape[1])))
    close(x.K @ g, x.k)
    qdd, tau_c, ydd = constraints.explicit(x.H, x.C, x.tau, G, g)
    reduced_tau_c, reduced_ydd = constraints.explicit_reduced(x.H, x.C, x.tau, G, g)
    implicit = constraints.implicit(x.H, x.C, x.tau, x.K, x.k)
    close(qdd, implicit.qdd)
    close(tau_c, x.K.T @ implicit.lam)
    close(G.T @ tau_c, np.zeros(G.shape[1]))
    close(reduced_tau_c, tau_c)
    close(reduced_ydd, ydd)
    close(constraints.projection(x.H, x.C, x.tau, G, g), ydd)


def test_a_projected_mass_matrix_is_positive_definite_and_keeps_the_energy(x):
    """H_G is symmetric and positive definite; energy and power are the same (3.22, 3.23)."""
    G, g = constraints.explicit_from_implicit(x.K, x.k)
    H_G, _ = constraints.projected(x.H, x.C, G, g)
    close(H_G, H_G.T)
    assert (np.linalg.eigvalsh(H_G) > 0.0).all()
    yd = np.random.default_rng(1).uniform(-1.0, 1.0, G.shape[1])
    qd = G @ yd
    close(yd @ H_G @ yd, qd @ x.H @ qd)
    close((G.T @ x.tau) @ yd, x.tau @ qd)


def test_the_motion_does_not_depend_on_coordinates(x):
    """G A with an invertible A spans the same subspace, so motion and tau_c do not change."""
    G, g = constraints.explicit_from_implicit(x.K, x.k)
    rng = np.random.default_rng(2)
    A = rng.uniform(-1.0, 1.0, (G.shape[1], G.shape[1])) + 2.0 * np.eye(G.shape[1])
    shift = G @ rng.uniform(-1.0, 1.0, G.shape[1])  # g may also change within the subspace
    qdd, tau_c, _ = constraints.explicit(x.H, x.C, x.tau, G, g)
    other_qdd, other_tau_c, _ = constraints.explicit(x.H, x.C, x.tau, G @ A, g + shift)
    np.testing.assert_allclose(other_qdd, qdd, atol=1e-9)
    np.testing.assert_allclose(other_tau_c, tau_c, atol=1e-9)
