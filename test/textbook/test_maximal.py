# SPDX-License-Identifier: Apache-2.0
"""Maximal coordinates, KKT and projection agree on random mechanisms, and forces balance.

Tolerances are relative to the largest entry: 1e-9, or 64 eps times cond(H) cond(K)^2 if that is
larger.
"""

import numpy as np
import pytest
from closed import LOOP_TYPES, mechanism, tolerance, unconstrained
from support import states, trees
from support.compare import Comparison

import rbdyn_ros as rb
from rbdyn_ros.description.build import shapes
from rbdyn_ros.textbook import constraints
from rbdyn_ros.textbook.aba import aba
from rbdyn_ros.textbook.kinematics import kinematics
from rbdyn_ros.textbook.loops import loop_constraints, loop_motions
from rbdyn_ros.textbook.maximal import maximal
from rbdyn_ros.textbook.spatial import cross_force
from rbdyn_ros.textbook.subspaces import null_matrix
from rbdyn_ros.textbook.system import System

TOLERANCE = 1e-9


def loops_of(case):
    """Return the types of loop joints of a case: one type, or in later cases two or three."""
    if case < len(LOOP_TYPES):
        return [LOOP_TYPES[case]]
    rng = np.random.default_rng(case)
    return rng.choice(LOOP_TYPES, 2 + case % 2).tolist()


@pytest.fixture(params=range(len(LOOP_TYPES) + 18), ids=lambda c: f"{c}-{'-'.join(loops_of(c))}")
def case(request):
    """Return a mechanism, forces on its joints and on its bodies, and a name of the case."""
    number = request.param
    kinds = trees.LIBRARY if number % 3 else ("revolute", "prismatic", "universal")
    nb = 6 + number % 4
    x = mechanism(
        nb, loops_of(number), number, kinds=kinds, branching=1.5, reversals=0.4, offsets=0.5
    )
    rng = np.random.default_rng([number, 1])
    tau = rng.uniform(-1.0, 1.0, x.s.nv)
    f_ext = [np.zeros(6), *rng.uniform(-1.0, 1.0, (nb, 6))]
    return x, tau, f_ext, f"case {number}"


def test_maximal_kkt_and_projection_agree(case):
    x, tau, f_ext, where = case
    H, C = unconstrained(x.s, x.q, x.qd, f_ext)
    loops = loop_constraints(x.s, x.q, x.qd)
    kkt = constraints.implicit(H, C, tau, loops.K, loops.k)
    G, g = constraints.explicit_from_implicit(loops.K, loops.k)
    projected = G @ constraints.projection(H, C, tau, G, g) + g
    bodies = maximal(x.s, x.q, x.qd, tau, f_ext)
    loop_lam = np.concatenate(bodies.lam[len(x.s.parent) :])
    allowed = tolerance(TOLERANCE, H, loops.K)
    with Comparison("textbook constraints", where) as compare:
        compare.close("projection", projected, kkt.qdd, allowed)
        compare.close("maximal", bodies.qdd, kkt.qdd, allowed)
        # with redundant constraints the methods have different lambda, which have the same effect
        compare.close("tau_c", loops.K.T @ loop_lam, loops.K.T @ kkt.lam, allowed)
        if kkt.rank == len(loops.k):
            compare.close("lambda", loop_lam, kkt.lam, allowed)


def test_joint_forces_balance_every_body(case):
    x, tau, f_ext, where = case
    found = maximal(x.s, x.q, x.qd, tau, f_ext)
    with Comparison("textbook joint forces", where) as compare:
        on_bodies, needed = forces(x, found, f_ext)
        compare.close("force", on_bodies, needed, TOLERANCE)
        for i in x.s.bodies:
            _, S, _, _ = x.s.joint(i, x.q, x.qd)
            expected = tau[x.s.vs[i]]
            ours = S.T @ found.f_J[i]
            compare.close("S^T f_J", ours + 1.0, expected + 1.0, TOLERANCE)  # equation 3.37


def forces(x, found, f_ext):
    """Return the joint forces on each body, and the needed forces, both in base coordinates."""
    iX_0, v = kinematics(x.s, x.q, x.qd)
    n = len(x.s.parent)
    on_bodies, needed = np.zeros((n, 6)), np.zeros((n, 6))
    for i in x.s.bodies:
        f = x.s.I[i] @ (found.a[i] - iX_0[i] @ x.s.a_g) + cross_force(v[i]) @ x.s.I[i] @ v[i]
        needed[i] = iX_0[i].T @ f - f_ext[i]
    for (p, s, X, _), f_J in zip(ends(x), found.f_J[1:], strict=True):
        on_bodies[s] += X.T @ f_J
        on_bodies[p] -= X.T @ f_J
    return on_bodies[1:], needed[1:]


def ends(x):
    """Return a list of p, s, X (from the base to F_s) and T for every joint."""
    iX_0, _ = kinematics(x.s, x.q, x.qd)
    tree = [(x.s.parent[i], i, iX_0[i], x.s.constraint_subspace(i, x.q)) for i in x.s.bodies]
    chords = [
        (joint.p, joint.s, joint.X_S @ iX_0[joint.s], loop.T)
        for joint, loop in zip(x.s.loops, loop_motions(x.s, x.q, x.qd), strict=True)
    ]
    return tree + chords


def test_lambda_of_redundant_constraints_has_the_least_norm(case):
    """A lambda of least norm has no component in the null space of P T."""
    x, tau, f_ext, _ = case
    found = maximal(x.s, x.q, x.qd, tau, f_ext)
    lam = np.concatenate(found.lam)
    idle = null_matrix(lambda_to_bodies(x))
    np.testing.assert_allclose(idle.T @ lam, 0.0, atol=1e-8 * np.abs(lam).max())


def lambda_to_bodies(x):
    """Return the matrix P T, which maps lambda to forces on bodies, in base coordinates."""
    columns = []
    for p, s, X, T in ends(x):
        block = np.zeros((len(x.s.parent), 6, T.shape[1]))
        block[s] += X.T @ T
        block[p] -= X.T @ T
        columns.append(np.vstack(block[1:]))
    return np.hstack(columns)


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_has_the_accelerations_of_the_articulated_body_algorithm(seed):
    m = rb.build(trees.auto_tree(9, 1.4, kinds=trees.LIBRARY, seed=seed, reversals=0.5))
    s, rng = System.of(m), np.random.default_rng(seed)
    q, qd = states.random_qpos(m, rng), rng.uniform(-1.0, 1.0, m.nv)
    tau = rng.uniform(-1.0, 1.0, m.nv)
    f_ext = [np.zeros(6), *rng.uniform(-1.0, 1.0, (9, 6))]
    H, _ = unconstrained(s, q, qd)
    with Comparison("textbook maximal tree", f"seed {seed}") as compare:
        found = maximal(s, q, qd, tau, f_ext)
        allowed = tolerance(TOLERANCE, H, np.zeros((0, m.nv)))
        compare.close("qdd", found.qdd, aba(s, q, qd, tau, f_ext), allowed)


def test_massless_bodies_inside_a_tree_are_allowed():
    """The inertia I has rows of zeros for such bodies, but the matrix of eq 3.74 is regular."""
    m = rb.build(trees.auto_tree(9, 1.5, seed=3, massless=(1, 2, 4)))
    s, rng = System.of(m), np.random.default_rng(3)
    q, qd, tau = rng.uniform(-1.0, 1.0, (3, m.nv))
    expected = aba(s, q, qd, tau)
    size = np.abs(expected).max()
    np.testing.assert_allclose(maximal(s, q, qd, tau).qdd, expected, atol=1e-10 * size)


def test_floating_bodies_have_no_constraints():
    m = rb.build(trees.auto_tree(2, kinds=("floating",), seed=1))
    s, rng = System.of(m), np.random.default_rng(1)
    q, qd = states.random_qpos(m, rng), rng.uniform(-1.0, 1.0, m.nv)
    tau = rng.uniform(-1.0, 1.0, m.nv)
    np.testing.assert_allclose(
        maximal(s, q, qd, tau).qdd, aba(s, q, qd, tau), rtol=1e-10, atol=1e-10
    )


def four_bar():
    """Return a parallelogram of four hinges; three of its five loop constraints are redundant."""
    rod = shapes.box((1.0, 0.1, 0.1), mass=1.0, at=rb.pose((0.5, 0.0, 0.0)))
    z = {"axis": (0.0, 0.0, 1.0)}
    return (
        rb.SystemBuilder("four-bar", base="ground")
        .body("crank", rod)
        .body("coupler", rod)
        .body("rocker", rod)
        .joint("A", "revolute", "ground", "crank", **z)
        .joint("B", "revolute", "crank", "coupler", xyz=(1.0, 0.0, 0.0), **z)
        .joint("D", "revolute", "ground", "rocker", xyz=(1.0, 0.0, 0.0), **z)
        .loop("C", "revolute", "coupler", "rocker", X_P=rb.pose((1.0, 0.0, 0.0)),
              X_S=rb.pose((1.0, 0.0, 0.0)), **z)
        .description()
    )  # fmt: skip


def test_a_parallelogram_agrees_with_its_closed_form():
    """Crank and rocker turn equally, and the coupler translates, so (2 I_A + m l^2) qdd = tau.

    I_A is the inertia of a rod about its end. Gravity is along the axes, so the bearings carry the
    weight. Their forces are not unique, but their sum is the weight.
    """
    m = rb.build(four_bar())
    s = System.of(m)
    angle, rate, torque = 0.7, 1.3, 2.0
    q, qd = np.array([angle, -angle, angle]), np.array([rate, -rate, rate])
    loops = loop_constraints(s, q, qd)
    np.testing.assert_allclose(loops.error, 0.0, atol=1e-15)
    np.testing.assert_allclose(loops.K @ qd, 0.0, atol=1e-15)
    H, C = unconstrained(s, q, qd)
    tau = np.array([torque, 0.0, 0.0])
    kkt = constraints.implicit(H, C, tau, loops.K, loops.k)
    assert (kkt.rank, len(loops.k)) == (2, 5)
    found = maximal(s, q, qd, tau)
    izz = (1.0**2 + 0.1**2) / 12.0 + 0.25
    qdd = torque / (2.0 * izz + 1.0)
    for ours in (kkt.qdd, found.qdd):
        np.testing.assert_allclose(ours, [qdd, -qdd, qdd], rtol=1e-12)
    on_ground = found.f_J[1, 5] + found.f_J[3, 5]
    assert on_ground == pytest.approx(3.0 * 9.81, rel=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-7, 1e-5, 1e-3, 0.1])
def test_methods_agree_near_the_singular_pose_of_a_parallelogram(angle):
    """If all bars are on a line, the rank of K is 1, and otherwise 2."""
    s = System.of(rb.build(four_bar()))
    q, qd = np.array([angle, -angle, angle]), np.array([1.3, -1.3, 1.3])
    loops = loop_constraints(s, q, qd)
    H, C = unconstrained(s, q, qd)
    tau = np.array([2.0, 0.0, 0.0])
    kkt = constraints.implicit(H, C, tau, loops.K, loops.k)
    assert kkt.rank == (1 if angle == 0.0 else 2)
    # singular values have errors of 1e-16, so quotients have errors of 1e-16 / angle
    allowed = max(1e-10, 1e-14 / (angle or 1.0))
    np.testing.assert_allclose(maximal(s, q, qd, tau).qdd, kkt.qdd, atol=allowed)


@pytest.mark.parametrize("radius", [0.02, 0.1, 1.0])
def test_a_gear_turns_a_wheel_as_in_example_3_2(radius):
    """A gear at (-r, 0, 0) turns a wheel with a force f along y; T_a is f / (f^T S).

    The motion does not depend on r. The bearing carries the gear's force tau / r.
    """
    wheel = shapes.cylinder(0.5, 0.1, mass=3.0)
    m = rb.build(
        rb.SystemBuilder("gear", base="ground")
        .body("wheel", wheel)
        .joint("hinge", "revolute", "ground", "wheel", axis=(0.0, 0.0, 1.0))
        .description()
    )
    s, tau = System.of(m), np.array([2.0])
    T_a = np.array([[0.0, 0.0, 1.0, 0.0, -1.0 / radius, 0.0]]).T
    plain = maximal(s, np.zeros(1), np.ones(1), tau)
    geared = maximal(s, np.zeros(1), np.ones(1), tau, T_a={1: T_a})
    izz = s.I[1][2, 2]
    np.testing.assert_allclose(geared.qdd, [2.0 / izz], rtol=1e-12)
    np.testing.assert_allclose(geared.a, plain.a, atol=1e-12)
    # only the sum of the two is f_J
    np.testing.assert_allclose(geared.f_J, plain.f_J, atol=1e-12 / radius)
    T = s.constraint_subspace(1, np.zeros(1))
    weight = 3.0 * 9.81
    np.testing.assert_allclose(T @ plain.lam[1], [0, 0, 0, 0, 0, weight], atol=1e-12)
    bearing = [0.0, 0.0, 0.0, 0.0, 2.0 / radius, weight]
    np.testing.assert_allclose(T @ geared.lam[1], bearing, atol=1e-11 / radius)


def test_an_unbalanced_rotor_loads_its_bearings():
    """The bearing carries the force m e w^2 of a mass at eccentricity e, and its moment."""
    e, w, height = 0.01, 30.0, 0.2
    at = rb.pose((e, 0.0, height))
    m = rb.build(
        rb.SystemBuilder("rotor", base="ground")
        .body("disk", shapes.cylinder(0.1, 0.02, mass=2.0, at=at))
        .joint("hinge", "revolute", "ground", "disk", axis=(0.0, 0.0, 1.0))
        .description()
    )
    m.opt.gravity[:] = 0.0
    found = maximal(System.of(m), np.array([0.4]), np.array([w]), np.zeros(1))
    pull = -2.0 * e * w**2  # the force on the rotor is towards the axis
    np.testing.assert_allclose(found.f_J[1], [0.0, height * pull, 0.0, pull, 0.0, 0.0], atol=1e-12)
