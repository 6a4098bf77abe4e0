# SPDX-License-Identifier: Apache-2.0
"""Explicit constraints agree with closed forms, loop joints and the textbook."""

import re

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.build import shapes
from rbdyn_ros.dynamics.explicit import ExplicitConstraint
from rbdyn_ros.textbook import constraints
from rbdyn_ros.textbook.crba import crba
from rbdyn_ros.textbook.loops import loop_constraints
from rbdyn_ros.textbook.rnea import rnea
from rbdyn_ros.textbook.system import System

TOLERANCE = 1e-11
# lengths of crank, coupler, rocker and ground, with which the crank can turn fully
A, B, C, D = 0.3, 0.8, 0.7, 0.9
RATIO = -3.0
RADIUS, HEIGHT = 0.6, 0.4


def rod(length):
    return shapes.box((length, 0.05, 0.05), mass=length, at=rb.pose((0.5 * length, 0.0, 0.0)))


def four_bar_model():
    # a positive angle raises a bar, and gravity is in the plane of motion
    y = {"axis": (0.0, -1.0, 0.0)}
    return rb.build(
        rb.SystemBuilder("four-bar", base="ground")
        .body("crank", rod(A))
        .body("coupler", rod(B))
        .body("rocker", rod(C))
        .joint("A", "revolute", "ground", "crank", **y)
        .joint("B", "revolute", "crank", "coupler", xyz=(A, 0.0, 0.0), **y)
        .joint("D", "revolute", "ground", "rocker", xyz=(D, 0.0, 0.0), **y)
        .loop("C", "revolute", "coupler", "rocker", X_P=rb.pose((B, 0.0, 0.0)),
              X_S=rb.pose((C, 0.0, 0.0)), **y)
        .description()
    )  # fmt: skip


def four_bar(y, yd, q, G, g):
    """Write q, G and g of a four-bar, from A e^(i t1) + B e^(i t2) = D + C e^(i t3)."""
    t1, w1 = y[0], yd[0]
    tip = A * np.exp(1j * t1) - D  # this is relative to the rocker's hinge
    r = abs(tip)
    t3 = np.angle(tip) - np.arccos((r * r + C * C - B * B) / (2.0 * r * C))
    t2 = np.angle(C * np.exp(1j * t3) - tip)
    e1, e2, e3 = np.exp(1j * np.array([t1, t2, t3]))
    J = np.array([[(1j * B * e2).real, -(1j * C * e3).real],
                  [(1j * B * e2).imag, -(1j * C * e3).imag]])  # fmt: skip
    rate = np.linalg.solve(J, [-(1j * A * e1).real, -(1j * A * e1).imag])
    w2, w3 = rate * w1
    inward = A * e1 * w1**2 + B * e2 * w2**2 - C * e3 * w3**2
    a2, a3 = np.linalg.solve(J, [inward.real, inward.imag])
    q[:] = t1, t2 - t1, t3
    G[:, 0] = 1.0, rate[0] - 1.0, rate[1]
    g[:] = 0.0, a2, a3


def gear_model(damping=0.0):
    z = {"axis": (0.0, 0.0, 1.0)}
    return rb.build(
        rb.SystemBuilder("gears", base="ground")
        .body("big", shapes.cylinder(0.3, 0.1, mass=4.0))
        .body("small", shapes.cylinder(0.1, 0.1, mass=1.0))
        .joint("one", "revolute", "ground", "big", **z)
        .joint("two", "revolute", "ground", "small", xyz=(0.4, 0.0, 0.0), damping=damping, **z)
        .description()
    )


def gears(y, yd, q, G, g):
    q[0], q[1] = y[0], RATIO * y[0]
    G[0, 0], G[1, 0] = 1.0, RATIO


def flyer_model():
    brick = shapes.box((0.2, 0.3, 0.4), mass=2.0, at=rb.pose((0.1, -0.05, 0.02)))
    return rb.build(
        rb.SystemBuilder("flyer", base="ground")
        .body("brick", brick)
        .joint("air", "floating", "ground", "brick")
        .description()
    )


def flyer(y, yd, q, G, g):
    """Write q, G and g of a free body that moves on a circle with the rotation Rz(y0) Ry(y1)."""
    (f, t), (wf, wt) = y, yd
    cf, sf, ct, st = np.cos(f), np.sin(f), np.cos(t), np.sin(t)
    q[:3] = RADIUS * cf, RADIUS * sf, HEIGHT * st
    z, x = 0.5 * f, 0.5 * t
    q[3:] = np.cos(z) * np.cos(x), -np.sin(z) * np.sin(x), np.cos(z) * np.sin(x), 0.0
    q[6] = np.sin(z) * np.cos(x)
    G[:, 0] = -RADIUS * sf, RADIUS * cf, 0.0, -st, 0.0, ct
    G[:, 1] = 0.0, 0.0, HEIGHT * ct, 0.0, 1.0, 0.0
    g[:3] = -RADIUS * cf * wf**2, -RADIUS * sf * wf**2, -HEIGHT * st * wt**2
    g[3:] = -ct * wt * wf, 0.0, -st * wt * wf


CASES = {
    "four-bar": (four_bar_model, 1, four_bar),
    "gears": (gear_model, 1, gears),
    "flyer": (flyer_model, 2, flyer),
}


@pytest.fixture(params=CASES)
def case(request):
    """Return a constraint, a Data, a random state y, yd and random forces."""
    make, ny, gamma = CASES[request.param]
    m = make()
    constraint = ExplicitConstraint(m, ny, gamma, [(-3.0, 3.0)] * ny)
    rng = np.random.default_rng(ny)
    y, yd = rng.uniform(-1.0, 1.0, (2, ny))
    return constraint, rb.make_data(m), y, yd, rng.uniform(-1.0, 1.0, m.nv)


def close(ours, theirs, tolerance=TOLERANCE):
    np.testing.assert_allclose(ours, theirs, atol=tolerance * (1.0 + np.abs(theirs).max()))


def test_the_constraint_agrees_with_the_textbook(case):
    constraint, d, y, yd, tau = case
    s = System.of(constraint.m)
    q, G, g = constraint.evaluate(y, yd)
    H, bias = crba(s, q), rnea(s, q, G @ yd, np.zeros(s.nv))
    qdd, tau_c, ydd = constraints.explicit(H, bias, tau, G, g)
    ours = constraint.forward(d, y, yd, tau)
    close(ours[0], ydd)
    close(ours[1], tau_c)
    close(d.qacc, qdd)
    close(G.T @ ours[1], np.zeros(constraint.ny))
    H_G, C_G = constraint.dynamics(d, y, yd)
    close(H_G @ ydd + C_G, G.T @ tau)


def test_the_energy_changes_by_the_power_of_the_forces(case):
    constraint, d, y, yd, tau = case
    constraint.set_state(d, y, yd)
    rb.forward_dynamics(constraint.m, d)
    rb.energy(constraint.m, d)
    assert constraint.kinetic_energy(d, y, yd) == pytest.approx(d.energy[1], rel=1e-12)
    assert constraint.power(y, yd, tau) == pytest.approx(tau @ d.qvel, rel=1e-12)


def test_runge_kutta_keeps_the_energy(case):
    """In 0.5 s at 1 ms the error of Runge-Kutta is of order h^4, at most 1e-12 a step."""
    constraint, d, y, yd, _ = case
    before = energy(constraint, d, y, yd)
    y, yd = constraint.step(d, y, yd, np.zeros(constraint.m.nv), 500)
    assert energy(constraint, d, y, yd) == pytest.approx(before, abs=1e-9)
    assert d.time == pytest.approx(0.5, rel=1e-12)


def energy(constraint, d, y, yd):
    constraint.set_state(d, y, yd)
    rb.fwd_position(constraint.m, d)
    rb.fwd_velocity(constraint.m, d)
    rb.energy(constraint.m, d)
    return d.energy.sum()


def test_many_steps_equal_single_steps_of_an_explicit_constraint(case):
    constraint, d, y, yd, tau = case
    at_once = constraint.step(d, y, yd, tau, 7)
    twin = rb.make_data(constraint.m)
    for _ in range(7):
        y, yd = constraint.step(twin, y, yd, tau)
    np.testing.assert_array_equal(at_once, (y, yd))
    np.testing.assert_array_equal(twin.qpos, d.qpos)
    np.testing.assert_array_equal(twin.qpos, constraint.evaluate(y, yd)[0])
    assert twin.time == d.time


def test_zero_steps_return_the_state_and_write_it_into_the_data(case):
    constraint, d, y, yd, tau = case
    np.testing.assert_array_equal(constraint.step(d, y, yd, tau, 0), (y, yd))
    q, G, _ = constraint.evaluate(y, yd)
    np.testing.assert_array_equal(d.qpos, q)
    np.testing.assert_array_equal(d.qvel, G @ yd)
    assert d.time == 0.0


def test_the_four_bar_agrees_with_its_loop_joint():
    """Over a whole turn the result equals the solution with K and k of the closing joint."""
    m = four_bar_model()
    constraint, d, s = ExplicitConstraint(m, 1, four_bar), rb.make_data(m), System.of(m)
    tau = np.array([0.3, -0.2, 0.5])
    for angle in np.linspace(-3.0, 3.0, 9):
        q, G, g = constraint.evaluate([angle], [1.7])
        qd = G[:, 0] * 1.7
        loops = loop_constraints(s, q, qd)
        close(loops.error, np.zeros(5))
        close(loops.K @ G, np.zeros((5, 1)))  # equation 3.12
        close(loops.K @ g, loops.k)
        bias = rnea(s, q, qd, np.zeros(3))
        kkt = constraints.implicit(crba(s, q), bias, tau, loops.K, loops.k)
        ydd, tau_c = constraint.forward(d, [angle], [1.7], tau)
        close(G @ ydd + g, kkt.qdd, 1e-10)
        close(tau_c, loops.K.T @ kkt.lam, 1e-10)


def test_gears_agree_with_their_closed_form():
    """The motion follows (I1 + r^2 I2) ydd = tau1 + r tau2 - r^2 b yd."""
    inertia = 0.5 * 4.0 * 0.3**2 + RATIO**2 * 0.5 * 1.0 * 0.1**2
    tau = np.array([0.4, 0.1])
    m = gear_model(damping=0.05)
    constraint, d = ExplicitConstraint(m, 1, gears), rb.make_data(m)
    ydd, tau_c = constraint.forward(d, [0.2], [2.0], tau)
    expected = (0.4 + RATIO * 0.1 - RATIO**2 * 0.05 * 2.0) / inertia
    assert ydd[0] == pytest.approx(expected, rel=1e-12)
    # the gear's torque on body `two`
    tooth = 0.5 * 1.0 * 0.1**2 * RATIO * expected + 0.05 * RATIO * 2.0 - 0.1
    close(tau_c, [-RATIO * tooth, tooth])

    m.opt.passive = False
    y, yd = constraint.step(d, [0.2], [2.0], tau, 1000)
    acceleration = (0.4 + RATIO * 0.1) / inertia
    assert yd[0] == pytest.approx(2.0 + acceleration, rel=1e-11)
    assert y[0] == pytest.approx(0.2 + 2.0 + 0.5 * acceleration, rel=1e-11)
    assert d.qpos[1] == RATIO * y[0]  # the ratio holds exactly


def test_joints_driven_over_time_keep_moving_under_a_constraint():
    """In a lift that starts upwards gravity seems larger: H ydd = -(g + a) m l sin y."""
    lift = rb.Trajectory((0.0, 1.0, 2.0), ((0.0,), (1.0,), (4.0,)))
    m = rb.build(
        rb.SystemBuilder("lift", base="ground")
        .body("cabin", rod(0.1))
        .body("bob", rod(1.0))
        .joint("rail", "prismatic", "ground", "cabin", axis=(0.0, 0.0, 1.0))
        .joint("pivot", "revolute", "cabin", "bob", axis=(0.0, 1.0, 0.0))
        .drive("rail", lift)
        .description()
    )

    def angle(y, yd, q, G, g):
        q[0], G[0, 0] = y[0], 1.0

    constraint, d, twin = ExplicitConstraint(m, 1, angle), rb.make_data(m), rb.make_data(m)
    y, yd = constraint.step(d, [0.3], [0.1], np.zeros(1), 100)
    m.opt.integrator = "rk4"
    twin.qpos, twin.qvel = 0.3, 0.1
    rb.step(m, twin, 100)
    close(y, twin.qpos)
    close(yd, twin.qvel)


def spoiled(gamma, **entries):
    """Return a function like gamma that changes entries, such as G=((row, column), change)."""

    def changed(y, yd, q, G, g):
        gamma(y, yd, q, G, g)
        for name, (entry, by) in entries.items():
            {"q": q, "G": G, "g": g}[name][entry] += by * (1.0 + y[0] ** 2)

    return changed


@pytest.mark.parametrize(
    ("entries", "name", "of"),
    [
        ({"G": ((2, 0), 1e-3)}, r"G\[2, 0\] = X for joint 'D'", "q"),
        ({"g": (1, 1e-3)}, r"g\[1\] = X for joint 'B'", "G yd"),
        ({"q": (1, 1e-3)}, r"G\[1, 0\] = X for joint 'B'", "q"),
    ],
)
def test_wrong_derivatives_are_refused(entries, name, of):
    # without refused(), because the message has numbers that depend on the processor's sin and cos
    with pytest.raises(rb.ModelError) as caught:
        ExplicitConstraint(four_bar_model(), 1, spoiled(four_bar, **entries))
    assert (caught.value.code, caught.value.element) == ("user-function", "gamma")
    assert re.search(name.replace("X", "-?[0-9.]+"), str(caught.value))
    assert f"derivative of {of} " in str(caught.value)


@pytest.mark.parametrize("row", range(6))
@pytest.mark.parametrize("column", range(2))
def test_the_error_about_g_of_a_free_joint_names_the_wrong_entry(row, column):
    with refused(rb.ModelError, "user-function", "gamma") as wrong_G:
        ExplicitConstraint(flyer_model(), 2, spoiled(flyer, G=((row, column), 1e-3)))
    assert f"G[{row}, {column}]" in str(wrong_G.value)
    with refused(rb.ModelError, "user-function", "gamma") as wrong_g:
        ExplicitConstraint(flyer_model(), 2, spoiled(flyer, g=(row, 1e-3)))
    assert f"g[{row}]" in str(wrong_g.value)


def test_a_quaternion_must_be_of_unit_length():
    with refused(rb.ModelError, "user-function", "gamma"):
        ExplicitConstraint(flyer_model(), 2, spoiled(flyer, q=(3, 0.1)))


def fails(y, yd, q, G, g):
    q[7] = 1.0


def is_not_finite(y, yd, q, G, g):
    q[0] = np.nan


def writes_its_input(y, yd, q, G, g):
    y[0] = 0.0


def moves_nothing(y, yd, q, G, g):
    q[0] = 0.5


@pytest.mark.parametrize("gamma", [fails, is_not_finite, writes_its_input, moves_nothing])
def test_functions_that_fail_are_refused(gamma):
    with refused(rb.ModelError, "user-function", "gamma"):
        ExplicitConstraint(gear_model(), 1, gamma, [(0.25, 0.25)])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((0, gears), "ny"),
        ((3, gears), "ny"),
        ((1.0, gears), "ny"),
        ((1, None), "gamma"),
        ((1, gears, [(0.0, np.inf)]), "ranges"),
        ((1, gears, [(1.0, 0.0)]), "ranges"),
        ((1, gears, "wide"), "ranges"),
    ],
)
def test_wrong_arguments_are_refused(arguments, code):
    with refused(rb.ParameterError, code, code):
        ExplicitConstraint(gear_model(), *arguments)


def test_vectors_of_wrong_size_are_refused():
    m = gear_model()
    constraint, d = ExplicitConstraint(m, 1, gears), rb.make_data(m)
    none = [0.0, 0.0]
    for name, arguments, element in (
        ("forward", (d, none, [0.0], none), "y"),
        ("forward", (d, [0.0], "x", none), "yd"),
        ("step", (d, [0.0], [0.0], [np.nan]), "tau"),
    ):
        with refused(rb.ModelError, "vector-shape", element):
            getattr(constraint, name)(*arguments)
    with refused(rb.ParameterError, "nstep", "nstep"):
        constraint.step(d, [0.0], [0.0], [0.0, 0.0], -1)
    with refused(rb.ModelError, "data-of-other-model"):
        constraint.set_state(rb.make_data(gear_model()), [0.0], [0.0])
    with refused(rb.ModelError, "not-a-model"):
        ExplicitConstraint("m", 1, gears)
    assert d.time == 0.0
    np.testing.assert_array_equal(d.qpos, m.qpos0)  # the Data is unchanged


def test_coordinates_without_inertia_are_refused():
    """At y = 0, which was not checked in advance, the coordinate moves no body."""

    def dead_point(y, yd, q, G, g):
        q[0], G[0, 0], g[0] = y[0] ** 2, 2.0 * y[0], 2.0 * yd[0] ** 2

    m = gear_model()
    constraint = ExplicitConstraint(m, 1, dead_point, [(0.5, 1.0)])
    with refused(rb.ModelError, "user-function", "gamma"):
        constraint.forward(rb.make_data(m), [0.0], [0.0], [0.0, 0.0])


def test_a_step_that_fails_does_not_change_the_data():
    def short(y, yd, q, G, g):
        gears(y, yd, q, G, g)
        if y[0] > 2.0:
            q[0] = np.nan

    m = gear_model()
    constraint, d = ExplicitConstraint(m, 1, short), rb.make_data(m)
    constraint.step(d, [0.0], [1.0], [0.0, 0.0], 10)
    before = d.buffer.copy()
    with refused(rb.ModelError, "user-function", "gamma"):
        constraint.step(d, [1.99], [1.0], [0.0, 0.0], 100)
    np.testing.assert_array_equal(d.buffer, before)
