# SPDX-License-Identifier: Apache-2.0
"""Recursions and unit-vector method of Introduction to Humanoid Robotics agree with the engine.

The tolerance is 1e-13 of the largest entry. For results of M^-1 and A^-1 it is at least 64 nv cond
eps, because an inverse amplifies rounding errors by the condition number.
"""

import numpy as np
import pytest
from moving import ids, motion_about_origin, moving
from support import states
from support.compare import Comparison, with_inverse

import rbdyn_ros as rb
from rbdyn_ros.textbook.aba import aba
from rbdyn_ros.textbook.absolute import absolute
from rbdyn_ros.textbook.closed_form import closed_form
from rbdyn_ros.textbook.links import forward_all_kinematics, inv_dyn, inverse_dynamics
from rbdyn_ros.textbook.luh_walker_paul import luh_walker_paul
from rbdyn_ros.textbook.rnea import rnea
from rbdyn_ros.textbook.rnea_absolute import newton_euler_absolute
from rbdyn_ros.textbook.unit_vectors import unit_vectors

TOLERANCE = 1e-13

NAMES = ("hinge-n1-b1.0", "hinge-n15-b2.0", "mixed-n13-b1.6", "screws", "reversed", "massless",
         "deep", "panda", "baxter", "solo12", "talos_reduced")  # fmt: skip
SYSTEMS = [(name, floating) for name in NAMES for floating in (False, True)]


@pytest.fixture(params=SYSTEMS, ids=ids(SYSTEMS), scope="module")
def system(request):
    return moving(*request.param)


def linear_first(a):
    return np.concatenate([a[3:], a[:3]])


def test_the_motion_of_all_links_agrees_with_the_engine(system):
    """About the world's origin, cvel is (vo, w), cacc is (dvo, dw), and cdof is (sv, sw)."""
    x = system
    rb.fwd_position(x.m, x.d)
    rb.fwd_velocity(x.m, x.d)
    cvel, cacc = (motion_about_origin(x.m, x.d, each) for each in (x.d.cvel, x.d.cacc))
    first = int(x.where.endswith("floating"))
    links = forward_all_kinematics(*x.state, x.d.qacc, linear_first(cacc[first]))
    assert list(links) == list(range(first, x.m.nbody))
    com = x.d.subtree_com[x.m.body_rootid]
    with Comparison("links", x.where) as case:
        for name, expected in (
            ("p", x.d.xpos),
            ("R", x.d.xmat.reshape(-1, 3, 3)),
            ("w", cvel[:, :3]),
            ("vo", cvel[:, 3:]),
            ("dw", cacc[:, :3]),
            ("dvo", cacc[:, 3:]),
        ):
            ours = [getattr(link, name) for link in links.values()]
            case.close(name, ours, expected[first:], TOLERANCE)
        for i in x.s.bodies[first:]:
            axis = x.d.cdof[x.s.vs[i]][0]
            case.close("sw", links[i].sw, axis[:3], TOLERANCE)
            case.close("sv", links[i].sv, axis[3:] + np.cross(com[i], axis[:3]), TOLERANCE)


def test_torques_and_the_wrench_on_the_trunk_agree_with_the_engine(system):
    x = system
    expected = newton_euler_absolute(*x.state, x.d.qacc, x.f_ext)
    first = int(x.where.endswith("floating"))
    links = forward_all_kinematics(*x.state, x.d.qacc, linear_first(expected.a[first]))
    u, trunk = inverse_dynamics(x.s, links, x.f_ext)
    with Comparison("links", x.where) as case:
        case.close("u", u[6 * first :], expected.tau[6 * first :], TOLERANCE)
        case.close("trunk", trunk, linear_first(expected.f[first]), TOLERANCE)
        u, trunk = inverse_dynamics(x.s, links)
        case.close("engine", u[6 * first :], x.d.qfrc_inverse[6 * first :], TOLERANCE)
        if first:  # the engine has the same wrench along the axes of the free joint
            S = absolute(*x.state).S[1]
            ours = S.T @ linear_first(trunk)
            case.close("engine's trunk", ours, x.d.qfrc_inverse[:6], TOLERANCE)


def with_rotors(x):
    """Return a Model with rotors, a Data with moderate forces, and rotor inertias Ir gr^2."""
    rng = np.random.default_rng(3)
    Ir, gr = rng.uniform(1e-5, 1e-3, x.m.nv), rng.uniform(10.0, 100.0, x.m.nv)
    rotor_inertia = Ir * gr**2
    if x.where.endswith("floating"):
        rotor_inertia[:6] = 0.0
    m = x.m.replaced(dof_armature=rotor_inertia)
    d = rb.make_data(m)
    states.randomise(m, d, 5)
    d.xfrc_applied = x.d.xfrc_applied
    rb.inverse(m, d)
    d.qfrc_applied = d.qfrc_inverse
    if x.where.endswith("floating"):
        d.qfrc_applied[:6] = 0.0  # no force acts on the trunk
    rb.forward_dynamics(m, d)
    return m, d, rotor_inertia


def test_the_unit_vector_method_has_the_accelerations_of_the_articulated_body_algorithm(system):
    """The reference is the textbook's algorithm without rotors, and the engine with rotors."""
    x = system
    m, d, rotor_inertia = with_rotors(x)
    u = d.qfrc_applied
    by_rnea = unit_vectors(lambda qdd: rnea(*x.state, qdd, x.f_ext), u, rotor_inertia)
    tolerance = with_inverse(TOLERANCE, rb.mass_matrix(m, d), m.nv)
    plain = with_inverse(TOLERANCE, rb.mass_matrix(x.m, x.d), m.nv)
    bare = unit_vectors(lambda qdd: rnea(*x.state, qdd, x.f_ext), u, 0.0 * u)
    with Comparison("unit vectors", x.where) as case:
        case.close("aba", bare, aba(*x.state, u, x.f_ext), plain)
        case.close("engine with rotors", by_rnea, d.qacc, tolerance)
        assert np.abs(by_rnea - bare).max() > 0.1 * np.abs(by_rnea).max()


def test_the_unit_vector_method_gives_the_acceleration_of_the_trunk(system):
    """The method of figures 6.20 and 6.29 returns [dvo; dw; ddq], or ddq for a fixed base."""
    x = system
    m, d, rotor_inertia = with_rotors(x)
    u = d.qfrc_applied
    found = unit_vectors(lambda a: inv_dyn(*x.state, a, x.f_ext), u, rotor_inertia)
    tolerance = with_inverse(TOLERANCE, rb.mass_matrix(m, d), m.nv)
    with Comparison("unit vectors", x.where) as case:
        if x.where.endswith("floating"):
            rb.inverse(m, d)  # this computes cacc
            true = motion_about_origin(m, d, d.cacc)[1] + x.s.a_g
            # compared separately, because their units and sizes differ
            case.close("dvo, dw", found[:6], linear_first(true), tolerance)
            case.close("ddq", found[6:], d.qacc[6:], tolerance)
        else:
            case.close("ddq on the ground", found, d.qacc, tolerance)


@pytest.mark.parametrize("name", ["mixed-n13-b1.6", "panda"])
def test_the_unit_vector_method_works_with_any_inverse_dynamics(name):
    x = moving(name)
    s, q, qd = x.state
    u, none = x.d.qfrc_inverse, np.zeros(x.m.nv)
    equation = closed_form(s, q)
    for inverse in (
        lambda qdd: newton_euler_absolute(s, q, qd, qdd).tau,
        lambda qdd: luh_walker_paul(s, q, qd, qdd).tau,
        lambda qdd: inv_dyn(s, q, qd, qdd),
        lambda qdd: equation.tau(qd, qdd),
    ):
        qdd = unit_vectors(inverse, u, none)
        np.testing.assert_allclose(qdd, x.d.qacc, atol=1e-10 * np.abs(x.d.qacc).max())


def test_joints_with_several_axes_are_refused():
    x = moving("library-1")
    with pytest.raises(NotImplementedError, match=r"link \d+: "):
        inv_dyn(*x.state, x.d.qacc)
