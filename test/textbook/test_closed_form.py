# SPDX-License-Identifier: Apache-2.0
"""The closed form (RBDA eq 5.3, 5.5, 5.6) and its coefficients agree with recursions."""

import numpy as np
import pytest
from moving import ids, moving
from support.compare import Comparison

from rbdyn_ros.textbook.bias_terms import coriolis_term, gravity_term
from rbdyn_ros.textbook.closed_form import acceleration, closed_form, velocity
from rbdyn_ros.textbook.crba import crba
from rbdyn_ros.textbook.rnea import rnea
from rbdyn_ros.textbook.rnea_absolute import newton_euler_absolute

TOLERANCE = 1e-13
STEP = 1e-3

SYSTEMS = [
    *((name, False) for name in ("hinge-n7-b1.0", "slide-n5-b1.0", "mixed-n13-b1.6", "reversed")),
    *((name, floating) for name in ("screws", "library-1") for floating in (False, True)),
    ("library-2", False),
    ("massless", True),
    ("panda", False),
    ("solo12", True),
]


@pytest.fixture(params=SYSTEMS, ids=ids(SYSTEMS), scope="module")
def system(request):
    return moving(*request.param)


def test_velocities_and_accelerations_agree_with_the_recursion(system):
    x = system
    expected = newton_euler_absolute(*x.state, x.d.qacc)
    last = len(x.s.parent) - 1
    with Comparison("closed form", x.where) as case:
        for i in {0, 1, last // 2, last}:
            a = acceleration(*x.state, x.d.qacc, i)
            case.close("v (5.3)", velocity(*x.state, i), expected.v[i], TOLERANCE)
            case.close("a (5.5)", a, expected.a[i] + x.s.a_g, TOLERANCE)


def test_the_equation_of_motion_agrees_with_the_recursion(system):
    x = system
    s, q, qd = x.state
    found = closed_form(s, q)
    with Comparison("closed form", x.where) as case:
        case.close("H", found.H, crba(s, q), TOLERANCE)
        case.close("g", found.g, gravity_term(s, q), TOLERANCE)
        case.close("C qd qd", found.C @ qd @ qd, coriolis_term(s, q, qd), TOLERANCE)
        case.close("tau (5.6)", found.tau(qd, x.d.qacc), rnea(s, q, qd, x.d.qacc), TOLERANCE)
        case.equal("symmetry", found.C.transpose(0, 2, 1), found.C)


@pytest.mark.parametrize("name", ["hinge-n7-b1.0", "mixed-n13-b1.6", "reversed", "screws"])
def test_the_coriolis_matrix_has_christoffel_symbols(name):
    """C_ijk is (dH_ij/dq_k + dH_ik/dq_j - dH_jk/dq_i) / 2, so dH/dt - 2 C qd is skew-symmetric.

    Differences with two steps are extrapolated; they have errors of order STEP^4 and eps / STEP.
    """
    s, q, qd = moving(name).state
    C = closed_form(s, q).C
    dH = np.stack([derivative(s, q, unit) for unit in np.eye(s.nv)], 2)
    expected = 0.5 * (dH + dH.transpose(0, 2, 1) - dH.transpose(2, 1, 0))
    np.testing.assert_allclose(C, expected, atol=1e-10 * np.abs(expected).max())
    skew = dH @ qd - 2.0 * C @ qd
    np.testing.assert_allclose(skew, -skew.T, atol=1e-10 * np.abs(dH).max())


def derivative(s, q, direction):
    coarse, fine = (
        (crba(s, q + h * direction) - crba(s, q - h * direction)) / (2.0 * h)
        for h in (STEP, 0.5 * STEP)
    )
    return (4.0 * fine - coarse) / 3.0


def test_an_arm_of_two_links_has_the_coriolis_terms_of_textbooks():
    """For a planar arm of two point masses, C has the well-known terms m2 l1 l2 sin(q2)."""
    import rbdyn_ros as rb
    from rbdyn_ros.textbook.system import System

    m1, m2, l1, l2 = 1.3, 0.7, 0.8, 0.5

    def ball(mass, length):
        return rb.Inertial(mass, rb.pose((length, 0.0, 0.0)), (1e-12, 1e-12, 1e-12, 0.0, 0.0, 0.0))

    z = {"axis": (0.0, 0.0, 1.0)}
    m = rb.build(
        rb.SystemBuilder("arm", base="ground")
        .body("upper", ball(m1, l1))
        .body("lower", ball(m2, l2))
        .joint("shoulder", "revolute", "ground", "upper", **z)
        .joint("elbow", "revolute", "upper", "lower", xyz=(l1, 0.0, 0.0), **z)
        .description()
    )
    m.opt.gravity = (0.0, -9.81, 0.0)
    q1, q2 = 0.3, 0.8
    found = closed_form(System.of(m), np.array([q1, q2]))
    coupling = m2 * l1 * l2 * np.cos(q2)
    lower = m2 * l2**2
    H = [[(m1 + m2) * l1**2 + lower + 2.0 * coupling, lower + coupling], [lower + coupling, lower]]
    h = m2 * l1 * l2 * np.sin(q2)
    C = [[[0.0, -h], [-h, -h]], [[h, 0.0], [0.0, 0.0]]]
    g2 = 9.81 * m2 * l2 * np.cos(q1 + q2)
    g = [9.81 * (m1 + m2) * l1 * np.cos(q1) + g2, g2]
    np.testing.assert_allclose(found.H, H, atol=1e-11)
    np.testing.assert_allclose(found.C, C, atol=1e-11)
    np.testing.assert_allclose(found.g, g, atol=1e-11)
