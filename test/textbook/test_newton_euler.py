# SPDX-License-Identifier: Apache-2.0
"""Three forms of the recursive Newton-Euler algorithm agree, also with the engine and Pinocchio.

Tolerances are relative to the largest entry: 1e-13, but 1e-10 for Pinocchio. For the forces of
accelerations that were computed with M^-1 it is 1e-11, because a light finger of icub accelerates
so much that the terms of its force are 1e4 times their sum.
"""

import numpy as np
import pytest
from moving import (
    ALL,
    ARMS,
    ROBOTS,
    SIMPLE,
    axes_are_simple,
    force_about_origin,
    ids,
    motion_about_origin,
    moving,
)
from support import robots
from support.compare import Comparison

import rbdyn_ros as rb
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.textbook.absolute import absolute
from rbdyn_ros.textbook.bias_terms import coriolis_term, gravity_term
from rbdyn_ros.textbook.correspondence import spatial_body
from rbdyn_ros.textbook.luh_walker_paul import luh_walker_paul
from rbdyn_ros.textbook.rnea import newton_euler, rnea
from rbdyn_ros.textbook.rnea_absolute import newton_euler_absolute
from rbdyn_ros.textbook.spatial import force_transform, mass_properties, rigid_inertia

TOLERANCE = 1e-13
FORWARD = 1e-11
PINOCCHIO = 1e-10

FIXED = [(name, False) for name in (*SIMPLE, *ARMS)]


@pytest.fixture(params=ALL, ids=ids(ALL), scope="module")
def system(request):
    return moving(*request.param)


@pytest.fixture(params=FIXED, ids=ids(FIXED), scope="module")
def arm(request):
    return moving(*request.param)


def test_two_spatial_forms_agree_with_the_engine(system):
    x = system
    body = rnea(*x.state, x.d.qacc)
    with Comparison("Newton-Euler", x.where) as case:
        base = newton_euler_absolute(*x.state, x.d.qacc).tau
        case.close("absolute", base, body, TOLERANCE)
        case.close("engine", x.d.qfrc_inverse, body, TOLERANCE)
        body = rnea(*x.state, x.d.qacc, x.f_ext)
        base = newton_euler_absolute(*x.state, x.d.qacc, x.f_ext).tau
        case.close("absolute, f_ext", base, body, TOLERANCE)


def test_forces_on_bodies_and_across_joints_agree_with_the_engine(system):
    """With external forces, tau returns the forces of forward dynamics, and f equals cfrc_int."""
    x = system
    d = x.d.copy()
    d.qfrc_applied = d.qfrc_inverse
    rb.forward(x.m, d)
    rb.joint_forces(x.m, d)
    body = newton_euler(*x.state, d.qacc, x.f_ext)
    base = newton_euler_absolute(*x.state, d.qacc, x.f_ext)
    with Comparison("Newton-Euler, f_ext", x.where) as case:
        case.close("body", body.tau, d.qfrc_applied, FORWARD)
        case.close("absolute", base.tau, d.qfrc_applied, FORWARD)
        across = force_about_origin(x.m, d, d.cfrc_int)
        case.close("f", base.f[1:], across[1:], FORWARD)


def test_every_vector_agrees_in_both_coordinates(system):
    """Vectors in body coordinates equal the vectors in base coordinates after a transform."""
    x = system
    body = newton_euler(*x.state, x.d.qacc, x.f_ext)
    base = newton_euler_absolute(*x.state, x.d.qacc, x.f_ext)
    X = absolute(*x.state).X
    X_force = [force_transform(X_i) for X_i in X]
    with Comparison("Newton-Euler bodies", x.where) as case:
        for name, change in (("v", X), ("a", X), ("f_B", X_force), ("f", X_force)):
            ours = [X_i @ of_i for X_i, of_i in zip(change, getattr(body, name), strict=True)]
            case.close(name, ours, getattr(base, name), TOLERANCE)
        rb.fwd_position(x.m, x.d)
        rb.fwd_velocity(x.m, x.d)
        case.close("cvel", motion_about_origin(x.m, x.d, x.d.cvel)[1:], base.v[1:], TOLERANCE)
        case.close("cacc", motion_about_origin(x.m, x.d, x.d.cacc)[1:], base.a[1:], TOLERANCE)


def test_three_forms_of_newton_euler_give_the_same_torques(arm):
    x = arm
    body = rnea(*x.state, x.d.qacc, x.f_ext)
    with Comparison("Luh, Walker, Paul", x.where) as case:
        case.close("tau", luh_walker_paul(*x.state, x.d.qacc, x.f_ext).tau, body, TOLERANCE)
        without = luh_walker_paul(*x.state, x.d.qacc).tau
        case.close("tau without f_ext", without, rnea(*x.state, x.d.qacc), TOLERANCE)
        case.close("engine", without, x.d.qfrc_inverse, TOLERANCE)


def test_classical_and_spatial_vectors_correspond(arm):
    """The quantities of each body correspond as in table 5.2."""
    x = arm
    vectors = luh_walker_paul(*x.state, x.d.qacc, x.f_ext)
    spatial = newton_euler(*x.state, x.d.qacc, x.f_ext)
    with Comparison("table 5.2", x.where) as case:
        for i in x.s.bodies:
            X, S, v_J, _ = x.s.joint(i, x.d.qpos, x.d.qvel)
            ours = spatial_body(x.s, vectors, i)
            for name in ("v", "a", "f_B", "f"):
                case.close(name, getattr(ours, name), getattr(spatial, name)[i], TOLERANCE)
            case.close("X", ours.X, X, TOLERANCE)
            case.close("I", ours.I, x.s.I[i], TOLERANCE)
            case.close("S", ours.S, S, TOLERANCE)
            case.close("S qd", ours.S @ x.d.qvel[x.s.vs[i]], v_J, TOLERANCE)


def test_classical_and_spatial_accelerations_differ():
    """Linear accelerations and net moments differ. Angular accelerations and forces do not."""
    x = moving("mixed-n13-b1.6")
    vectors = luh_walker_paul(*x.state, x.d.qacc)
    spatial = newton_euler(*x.state, x.d.qacc)
    i = x.s.bodies[-1]
    assert np.abs(vectors.v_dot[i] - spatial.a[i][3:]).max() > 0.01
    assert np.abs(vectors.N[i] - spatial.f_B[i][:3]).max() > 0.01
    np.testing.assert_allclose(vectors.omega_dot[i], spatial.a[i][:3], rtol=1e-12)
    np.testing.assert_allclose(vectors.F[i], spatial.f_B[i][3:], rtol=1e-12)


def test_joints_that_are_not_revolute_or_prismatic_are_refused():
    x = moving("library-1")
    with pytest.raises(NotImplementedError, match=r"body \d+: .*[A-Z_]+$"):
        luh_walker_paul(*x.state, x.d.qacc)


def test_gravity_and_coriolis_terms_equal_the_recursion(system):
    """Each term equals the recursion if the inputs that it does not use are zero."""
    x = system
    s, q, qd = x.state
    zero = np.zeros(s.nv)
    gravity, coriolis = gravity_term(s, q), coriolis_term(s, q, qd)
    with Comparison("terms", x.where) as case:
        case.close("gravity", gravity, rnea(s, q, zero, zero), TOLERANCE)
        case.close("sum", gravity + coriolis, rnea(s, q, qd, zero), TOLERANCE)
        case.close("twice as fast", coriolis_term(s, q, 2.0 * qd), 4.0 * coriolis, TOLERANCE)
        d = x.d.copy()
        rb.forward(x.m, d)
        case.close("engine", d.qfrc_bias, gravity + coriolis, TOLERANCE)


def test_forces_across_joints_carry_the_weight():
    """At rest the ground pushes the base with the weight of all bodies."""
    x = moving("hinge-n15-b2.0")
    zero = np.zeros(x.s.nv)
    ground = newton_euler_absolute(x.s, x.d.qpos, zero, zero).f[0]
    total = sum(x.m.body_mass[1:])
    com = (x.m.body_mass[1:] @ x.d.xipos[1:]) / total
    weight = -total * x.m.opt.gravity
    np.testing.assert_allclose(ground[3:], weight, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ground[:3], np.cross(com, weight), atol=1e-11)


@robots.needs_robots
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
def test_the_recursion_agrees_with_pinocchio(name, floating):
    pytest.importorskip("pinocchio", reason="pin is not installed")
    from support import pinocchio_twin

    x = moving(name, floating)
    twin = pinocchio_twin.Twin(
        x.m, x.d, pinocchio_twin.load(robots.find(f"{name}.urdf"), floating)
    )
    expected = twin.rnea(x.d.qacc)
    with Comparison("Newton-Euler, Pinocchio", x.where) as case:
        case.close("body", rnea(*x.state, x.d.qacc), expected, PINOCCHIO)
        base = newton_euler_absolute(*x.state, x.d.qacc)
        case.close("absolute", base.tau, expected, PINOCCHIO)
        if axes_are_simple(x.m):
            vectors = luh_walker_paul(*x.state, x.d.qacc)
            case.close("Luh, Walker, Paul", vectors.tau, expected, PINOCCHIO)
        else:
            assert floating or JointType.FREE in x.m.jnt_type


def test_mass_properties_are_read_back_from_an_inertia():
    rng = np.random.default_rng(1)
    com, A = rng.uniform(-1.0, 1.0, 3), rng.normal(size=(3, 3))
    mass, c, about_com = mass_properties(rigid_inertia(2.5, com, A @ A.T))
    assert mass == 2.5
    np.testing.assert_allclose(c, com, rtol=1e-15)
    np.testing.assert_allclose(about_com, A @ A.T, rtol=1e-14, atol=1e-14)
    mass, c, about_com = mass_properties(rigid_inertia(0.0, com, A @ A.T))
    assert mass == 0.0
    np.testing.assert_array_equal(c, np.zeros(3))
    np.testing.assert_array_equal(about_com, A @ A.T)
