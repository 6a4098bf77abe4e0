# SPDX-License-Identifier: Apache-2.0
"""The statements about subspaces in RBDA, section 3.3, hold up to rounding of about 1e-15."""

import numpy as np
import pytest
from support import trees
from support.refusals import refused

from rbdyn_ros.errors import ParameterError
from rbdyn_ros.textbook.one_body import apparent_inverse_inertia
from rbdyn_ros.textbook.spatial import rigid_inertia
from rbdyn_ros.textbook.subspaces import (
    accelerating_force,
    complement,
    decompose,
    is_direct_sum,
    null_matrix,
    range_matrix,
    rank,
    same,
)

ROUNDING = 1e-12


def random_inertia(rng):
    box = trees.random_inertial(rng)
    ixx, iyy, izz, ixy, ixz, iyz = box.inertia
    about_com = [[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]
    return rigid_inertia(box.mass, box.origin.pos, about_com)


@pytest.fixture(params=range(7), ids=lambda n: f"dim{n}")
def subspace(request):
    """Return a basis (6, n) of a random subspace of motions, and a random generator."""
    rng = np.random.default_rng(request.param)
    return rng.uniform(-1.0, 1.0, (6, request.param)), rng


def test_a_subspace_does_not_depend_on_its_basis(subspace):
    S, rng = subspace
    A = rng.uniform(-1.0, 1.0, (S.shape[1], S.shape[1]))
    assert same(S, S @ A)
    assert same(S, np.hstack([S @ A, S]))  # columns may depend on each other
    assert same(S, range_matrix(S))
    assert rank(np.hstack([S, S])) == S.shape[1]


def test_removing_a_direction_changes_the_subspace(subspace):
    S, _ = subspace
    if S.shape[1] > 0:
        assert not same(S, S[:, 1:])


def test_the_complement_is_orthogonal(subspace):
    S, _ = subspace
    T = complement(S)
    assert T.shape == (6, 6 - S.shape[1])
    np.testing.assert_allclose(T.T @ S, 0.0, atol=ROUNDING)
    assert same(complement(T), S)


def test_a_complement_is_a_subspace_of_the_dual_space(subspace):
    """If X transforms motions, then X* transforms the complement of a subspace; X does not."""
    S, rng = subspace
    X = rng.uniform(-1.0, 1.0, (6, 6))
    assert same(complement(X @ S), np.linalg.inv(X).T @ complement(S))
    if 0 < S.shape[1] < 6:
        assert not same(complement(X @ S), X @ complement(S))


def test_null_space_and_range_add_up_to_the_whole_space():
    rng = np.random.default_rng(3)
    A = rng.uniform(-1.0, 1.0, (5, 2)) @ rng.uniform(-1.0, 1.0, (2, 4))
    assert (rank(A), null_matrix(A).shape[1]) == (2, 2)
    np.testing.assert_allclose(A @ null_matrix(A), 0.0, atol=ROUNDING)
    assert is_direct_sum(null_matrix(A), range_matrix(A.T))


def test_negligible_singular_values_count_as_zero():
    assert rank(np.diag([1.0, 1e-9])) == 2
    assert rank(np.diag([1.0, 1e-11])) == 1
    assert rank(np.diag([1e-20, 1e-21])) == 2


def test_a_vector_is_the_sum_of_its_parts_in_three_subspaces():
    rng = np.random.default_rng(4)
    subspaces = [rng.uniform(-1.0, 1.0, (6, n)) for n in (1, 3, 2)]
    v = rng.uniform(-1.0, 1.0, 6)
    assert is_direct_sum(*subspaces)
    parts = decompose(v, *subspaces)
    np.testing.assert_allclose(sum(parts), v, atol=ROUNDING)
    for part, S in zip(parts, subspaces, strict=True):
        assert same(S, np.column_stack([S, part]))


@pytest.mark.parametrize("columns", [(2, 3), (3, 4), (3, 3)])
def test_decompose_refuses_subspaces_without_a_direct_sum(columns):
    """The subspaces have too few, too many or dependent columns."""
    subspaces = [np.eye(6)[:, :n] for n in columns]
    with refused(ParameterError, "bad-argument", "subspaces"):
        decompose(np.ones(6), *subspaces)


@pytest.mark.parametrize(
    "subspaces", [(), (np.eye(5),), (np.eye(6)[:, :3], np.eye(3)), (np.ones(6),)]
)
def test_bases_of_another_shape_are_refused(subspaces):
    with refused(ParameterError, "bad-argument", "subspaces"):
        decompose(np.ones(6), *subspaces)


def test_is_direct_sum_recognises_direct_sums():
    one = np.eye(6)
    assert is_direct_sum(one[:, :2], one[:, 2:])
    assert not is_direct_sum(one[:, :2], one[:, 3:])  # too few dimensions
    assert not is_direct_sum(one[:, :3], one[:, 2:])  # the subspaces intersect
    # there are 6 dimensions, but the subspaces intersect
    assert not is_direct_sum(one[:, :3], one[:, 2:5])
    assert not is_direct_sum(one[:, [0, 0]], one[:, 2:])  # a repeated direction counts once


def test_the_accelerating_force_agrees_with_example_3_1(subspace):
    S, rng = subspace
    I, f = random_inertia(rng), rng.uniform(-1.0, 1.0, 6)
    T_a, T_c = I @ S, complement(S)
    assert is_direct_sum(T_a, T_c)
    f_a, f_c = decompose(f, T_a, T_c)
    np.testing.assert_allclose(accelerating_force(I, S, f), f_a, atol=ROUNDING)
    A = rng.uniform(-1.0, 1.0, (S.shape[1], S.shape[1]))
    np.testing.assert_allclose(accelerating_force(I, S @ A, f), f_a, atol=1e-10)
    # at rest the acceleration is I^-1 f_a = Phi f, within S, and f_c does no work
    a = np.linalg.solve(I, f_a)
    np.testing.assert_allclose(a, apparent_inverse_inertia(I, S) @ f, atol=1e-10)
    np.testing.assert_allclose(S.T @ f_c, 0.0, atol=ROUNDING)
