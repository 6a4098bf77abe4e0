# SPDX-License-Identifier: Apache-2.0
"""Linear systems of 6 x 6 blocks are solved as NumPy solves them."""

from __future__ import annotations

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.solve.body_blocks import add_point, add_slopes, write_block
from rbdyn_ros.engine.tree.block_lu import block_start, factor_blocks, list_start, solve_blocks

#: Pairs of bodies that share a block: a chain and a cycle; body 6 shares no block.
PAIRS = [(1, 0), (2, 1), (4, 2), (5, 3), (5, 1), (7, 5), (7, 3)]
#: The pairs whose zero block becomes nonzero when bodies 5 and 7 are eliminated.
FILLED = [(3, 1)]


def balls(number):
    objects = [
        rb.Object(f"{n}", rb.Sphere(0.1), mass=1.0, pose=rb.pose((0.3 * n, 0.0, 1.0)))
        for n in range(number)
    ]
    m = rb.scene(objects=objects)
    return m, rb.make_data(m)


def written(d, symmetric, empty=()):
    """Write random blocks to d, and zeros for the pairs `empty`; return the whole matrix."""
    rng = np.random.default_rng(3)
    H = np.zeros((48, 48))
    for b in range(8):
        block = rng.normal(size=(6, 6)) + 12.0 * np.eye(6)
        H[6 * b : 6 * b + 6, 6 * b : 6 * b + 6] = block + block.T if symmetric else block
        d.block_diagonal[b] = H[6 * b : 6 * b + 6, 6 * b : 6 * b + 6].ravel()
    d.block_number[:] = d.block_filled[:] = 0
    for b, other in PAIRS + FILLED:
        d.block_near[list_start(b) + d.block_number[b]] = other
        d.block_number[b] += 1
        here = slice(block_start(b, other), block_start(b, other) + 36)
        d.skyline[here] = d.skyline_upper[here] = np.nan  # must not be read where not filled
        if (b, other) in PAIRS and (b, other) not in empty:
            d.block_filled[list_start(b) + other] = 1
            rows, columns = slice(6 * b, 6 * b + 6), slice(6 * other, 6 * other + 6)
            H[rows, columns] = rng.normal(size=(6, 6))
            H[columns, rows] = H[rows, columns].T if symmetric else rng.normal(size=(6, 6))
            d.skyline[here] = H[rows, columns].ravel()
            d.skyline_upper[here] = H[columns, rows].T.ravel()
    return H


@pytest.mark.parametrize("empty", [(), ((5, 1), (2, 1))])
@pytest.mark.parametrize("symmetric", [True, False])
def test_solving_by_blocks_agrees_with_numpy(symmetric, empty):
    m, d = balls(8)
    H = written(d, symmetric, empty)
    d.row_works[:] = 1
    f = np.random.default_rng(4).normal(size=48)
    d.skyline_x[:] = f
    factor_blocks(m, d, symmetric)
    solve_blocks(m, d, d.skyline_x)
    assert d.skyline_x == pytest.approx(np.linalg.solve(H, f), abs=1e-13)
    assert d.block_live[5] == (1 if empty else 2)  # bodies that share a block with body 5


def test_entries_of_bodies_that_are_not_solved_stay_unchanged():
    m, d = balls(8)
    H = written(d, False)
    works = np.isin(np.arange(8), [0, 1, 2, 3, 4, 5, 7])  # body 6 is not solved
    d.row_works[:] = np.repeat(works, 6)
    d.skyline_x[:] = 1.0
    kept = d.block_diagonal[6].copy()
    factor_blocks(m, d, False)
    solve_blocks(m, d, d.skyline_x)
    rows = np.repeat(works, 6)
    assert d.skyline_x[rows] == pytest.approx(np.linalg.solve(H, np.ones(48))[rows], abs=1e-13)
    assert (d.skyline_x[36:42] == 1.0).all()
    assert (d.block_diagonal[6] == kept).all()


def skew(arm):
    """Return the matrix S with S v = arm x v."""
    x, y, z = arm
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def velocity_by_motion(arm):
    """Return the matrix (3, 6) that maps [angular, linear] velocity to the velocity at `arm`."""
    return np.hstack([-skew(arm), np.eye(3)])


@pytest.mark.parametrize("as_point", [True, False])
@pytest.mark.parametrize("reversed_order", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_force_derivatives_of_a_contact_enter_the_blocks_of_both_bodies(
    as_point, reversed_order, symmetric
):
    """The blocks get J^T K J, where J gives the velocity of body 2 relative to body 1."""
    m, d = balls(2)
    rng = np.random.default_rng(5)
    arm1, arm2 = rng.normal(size=(2, 3))
    d.contact_body[0], d.contact_arm1[0], d.contact_arm2[0] = (1, 2), arm1, arm2
    d.skyline_row[:] = np.roll(np.arange(12), 6 * reversed_order)
    d.block_number[1], d.block_near[0] = 1, 0
    d.skyline[:36] = d.skyline_upper[:36] = np.nan
    for b in range(2):
        write_block(d, b, (0.0,) * 21)
    if as_point:
        K = rng.normal(size=(3, 3))
        K = K + K.T if symmetric else K
        one, two = -velocity_by_motion(arm1), velocity_by_motion(arm2)
        add_point(m, d, 0, tuple(map(tuple, K.tolist())), symmetric)
    else:
        K = rng.normal(size=(6, 6))
        K = K + K.T if symmetric else K
        one, two = -np.eye(6), np.eye(6)
        one[3:, :3] = skew(arm1 - arm2)
        add_slopes(m, d, 0, tuple(map(tuple, K.T.tolist())), symmetric)
    if symmetric:
        assert np.isnan(d.skyline_upper[:36]).all()
        d.skyline_upper[:36] = d.skyline[:36]
    J = np.hstack([two, one] if reversed_order else [one, two])
    H = np.block(
        [
            [d.block_diagonal[0].reshape(6, 6), d.skyline_upper[:36].reshape(6, 6).T],
            [d.skyline[:36].reshape(6, 6), d.block_diagonal[1].reshape(6, 6)],
        ]
    )
    assert pytest.approx(J.T @ K @ J, abs=1e-13) == H
