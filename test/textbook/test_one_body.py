# SPDX-License-Identifier: Apache-2.0
"""The three methods of RBDA, section 3.6, agree with the articulated-body algorithm.

The inertias have condition numbers of about 1e3, so results agree to 1e-11.
"""

import numpy as np
import pytest
from support import states, trees
from test_subspaces import random_inertia

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Description, Link
from rbdyn_ros.model.declared.joints import TYPE_OF_NAME
from rbdyn_ros.textbook.aba import aba
from rbdyn_ros.textbook.jcalc import jcalc
from rbdyn_ros.textbook.one_body import (
    apparent_inverse_inertia,
    bias_acceleration,
    by_multipliers,
    generalised,
)
from rbdyn_ros.textbook.spatial import cross_force, cross_motion, motion_transform
from rbdyn_ros.textbook.subspaces import complement, null_matrix, rank, same
from rbdyn_ros.textbook.system import System

TOLERANCE = 1e-11


@pytest.mark.parametrize("name", trees.LIBRARY)
def test_three_methods_agree_with_the_articulated_body_algorithm(name):
    rng = np.random.default_rng(TYPE_OF_NAME[name])
    axis = trees.unit(rng.normal(size=3))
    ends = (("base", trees.random_pose(rng, 2.0)), ("link", trees.random_pose(rng, 2.0)))
    joint = trees.library_joint("joint", name, *ends, axis, rng)
    links = (Link("base"), Link("link", trees.random_inertial(rng)))
    m = rb.build(Description("one", links, (joint,), base="base"))
    s = System.of(m)
    q, qd = states.random_qpos(m, rng), rng.uniform(-1.0, 1.0, m.nv)
    f = rng.uniform(-1.0, 1.0, 6)

    J = jcalc(s.jtype[1], q, qd)
    v, I = J.v_J, s.I[1]
    S_dot_qd = J.c_J + cross_motion(v) @ v
    p = cross_force(v) @ I @ v - I @ J.X_J @ s.X_T[1] @ s.a_g

    Phi, b = apparent_inverse_inertia(I, J.S), bias_acceleration(I, p, J.S, S_dot_qd)
    a, lam = by_multipliers(I, p, J.T, -J.T.T @ S_dot_qd, f)
    H, C = generalised(I, p, J.S, S_dot_qd)
    qdd = np.linalg.solve(H, J.S.T @ f - C)

    size = np.abs(a).max()
    np.testing.assert_allclose(Phi @ f + b, a, atol=TOLERANCE * size)
    np.testing.assert_allclose(J.S @ qdd + S_dot_qd, a, atol=TOLERANCE * size)
    np.testing.assert_allclose(f + J.T @ lam, I @ a + p, atol=TOLERANCE * size)
    np.testing.assert_allclose(aba(s, q, qd, J.S.T @ f), qdd, atol=TOLERANCE * size)


@pytest.mark.parametrize("n_f", range(1, 7))
def test_the_rank_of_the_apparent_inverse_inertia_is_the_number_of_freedoms(n_f):
    rng = np.random.default_rng(n_f)
    I, S = random_inertia(rng), rng.uniform(-1.0, 1.0, (6, n_f))
    Phi = apparent_inverse_inertia(I, S)
    assert rank(Phi) == n_f
    assert same(Phi, S)
    assert same(null_matrix(Phi), complement(S))
    np.testing.assert_allclose(Phi, Phi.T, atol=TOLERANCE * np.abs(Phi).max())
    assert np.linalg.eigvalsh(Phi).min() > -TOLERANCE * np.abs(Phi).max()
    if n_f == 6:
        np.testing.assert_allclose(Phi @ I, np.eye(6), atol=TOLERANCE)


def test_the_methods_give_the_equation_of_a_pendulum():
    """A point mass at a distance l from a hinge has m l^2 qdd = -m g l sin q + tau."""
    mass, length, g, q, qd = 2.0, 0.7, 9.81, 0.4, 1.3
    about_com = 1e-9 * np.eye(3)
    # the cross-product matrix of com
    C = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, length], [0.0, -length, 0.0]])
    I = np.block(
        [[about_com + mass * C @ C.T, mass * C], [mass * C.T, mass * np.eye(3)]]
    )  # at q = 0 the centre of mass is below the hinge
    S, v = np.eye(6)[:, [2]], qd * np.eye(6)[2]
    down = np.array([-np.cos(q), np.sin(q), 0.0])
    f_g = I @ motion_transform(np.eye(3), np.zeros(3)) @ np.concatenate([np.zeros(3), g * down])
    H, bias = generalised(I, cross_force(v) @ I @ v - f_g, S, np.zeros(6))
    assert H[0, 0] == pytest.approx(mass * length**2, rel=1e-8)
    assert bias[0] == pytest.approx(mass * g * length * np.sin(q), rel=1e-12)
    b = bias_acceleration(I, cross_force(v) @ I @ v - f_g, S, np.zeros(6))
    assert b[2] == pytest.approx(-g / length * np.sin(q), rel=1e-8)
