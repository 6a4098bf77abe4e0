# SPDX-License-Identifier: Apache-2.0
"""Euler's equation, SE(3) and momentum in Introduction to Humanoid Robotics fit the engine."""

import itertools

import numpy as np
import pytest
import scipy.linalg
from support import states, trees

import rbdyn_ros as rb
from rbdyn_ros.description.build import shapes
from rbdyn_ros.textbook.euler_equation import euler_dynamics, turning
from rbdyn_ros.textbook.exponential import rodrigues, se3_exp
from rbdyn_ros.textbook.momentum import Body, State, momentum, motion, se3_dynamics
from rbdyn_ros.textbook.spatial import cross

# the book's box, of 0.1 x 0.4 x 0.9 m and 36 kg, begins at 1 rad/s about each axis
BOX = np.diag([2.91, 2.46, 0.51])
W0 = np.ones(3)
TIME, STEP = 5.0, 0.02

ANGLES = (0.0, 1e-300, 1e-12, 1e-9, 1e-7, 1e-4, 0.1, 1.0, 3.0, np.pi, 6.0, 20.0)


def turned(dt, time=TIME):
    """Return R and w of the box after a time, by the book's loop with steps dt [s]."""
    return next(itertools.islice(turning(BOX, W0, dt), round(time / dt), None))


def momentum_and_energy(R, w):
    L, _ = euler_dynamics(BOX, R, w)
    return L, 0.5 * w @ L


def test_the_box_has_the_inertia_of_the_book():
    inertia = shapes.box((0.1, 0.4, 0.9), mass=36.0).inertia
    np.testing.assert_allclose(inertia, [2.91, 2.46, 0.51, 0.0, 0.0, 0.0], rtol=1e-14)


def test_the_loop_for_eulers_equation_conserves_momentum_and_energy_to_order_1():
    """The loop is of order 1, so half the step halves the error, which is 5 % at 20 ms."""
    L0, T0 = momentum_and_energy(np.eye(3), W0)
    errors = []
    for dt in (STEP, STEP / 16.0, STEP / 32.0):
        L, T = momentum_and_energy(*turned(dt))
        errors.append((np.linalg.norm(L - L0) / np.linalg.norm(L0), abs(T - T0) / T0))
    errors = np.array(errors)
    np.testing.assert_allclose(errors[0], 0.05, atol=0.01)
    np.testing.assert_allclose(errors[1] / errors[2], 2.0, atol=0.05)


def test_the_euler_equation_agrees_with_the_engine():
    """The book's loop converges to the engine's motion of a body on a ball joint."""
    m = rb.build(
        rb.SystemBuilder("box", base="ground")
        .body("box", shapes.box((0.1, 0.4, 0.9), mass=36.0))
        .joint("ball", "spherical", "ground", "box")
        .description()
    )
    m.opt.gravity[:] = 0.0
    m.opt.integrator, m.opt.timestep = "rk4", 1e-3
    d = rb.make_data(m)
    d.qvel = W0
    rb.step(m, d, 5000)
    R = trees.rotation(d.qpos).as_matrix()
    expected = np.vstack([R, R @ d.qvel])
    errors = [np.abs(np.vstack(turned(dt)) - expected).max() for dt in (STEP / 16.0, STEP / 32.0)]
    assert errors[1] < 0.05
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.2)


def test_a_rotation_about_a_principal_axis_is_steady():
    for axis in np.eye(3):
        L, dw = euler_dynamics(BOX, np.eye(3), 2.0 * axis)
        np.testing.assert_array_equal(dw, np.zeros(3))
        np.testing.assert_array_equal(L, 2.0 * BOX @ axis)


@pytest.mark.parametrize("angle", ANGLES)
def test_exponentials_agree_with_scipy(angle):
    rng = np.random.default_rng(7)
    for _ in range(5):
        n = np.array(trees.unit(rng.normal(size=3)))
        p, vo = rng.uniform(-1.0, 1.0, (2, 3))
        R, dt = rodrigues(rng.uniform(-1.0, 1.0, 3)), 0.5
        w = angle / dt * n
        twist, pose = np.zeros((4, 4)), np.eye(4)
        twist[:3, :3], twist[:3, 3] = cross(w), vo
        pose[:3, :3], pose[:3, 3] = R, p
        expected = scipy.linalg.expm(twist * dt) @ pose
        p2, R2 = se3_exp(p, R, vo, w, dt)
        # SciPy's expm loses some digits, because it squares matrices
        np.testing.assert_allclose(p2, expected[:3, 3], atol=2e-14 * (1.0 + angle))
        np.testing.assert_allclose(R2, expected[:3, :3], atol=2e-14 * (1.0 + angle))
        np.testing.assert_allclose(rodrigues(w * dt).T @ rodrigues(w * dt), np.eye(3), atol=1e-14)


def test_the_exponential_is_smooth_at_zero_rotation():
    """A tiny rotation changes the result by the tiny amount of its first-order term."""
    p, R, vo, n = np.array([0.3, -0.2, 0.5]), np.eye(3), np.ones(3), np.array([0.6, 0.0, 0.8])
    straight, _ = se3_exp(p, R, vo, np.zeros(3), 1.0)
    np.testing.assert_array_equal(straight, p + vo)
    for angle in (1e-16, 1e-15, 1e-12, 1e-10, 1e-8, 1e-6):
        bent, _ = se3_exp(p, R, vo, angle * n, 1.0)
        curve = np.cross(angle * n, p + 0.5 * vo)
        np.testing.assert_allclose(bent - straight, curve, atol=3e-16 + angle**2)


def test_a_body_moves_along_a_screw():
    """As in figure 6.8, a body rotates about an axis through c and moves along this axis."""
    c, w = np.array([1.0, 2.0, 0.0]), np.array([0.0, 0.0, 2.0 * np.pi])
    vo = np.cross(c, w) + 0.3 * w / (2.0 * np.pi)
    start = c + 0.5 * np.eye(3)[0]
    p, R = se3_exp(start, np.eye(3), vo, w, 0.25)
    np.testing.assert_allclose(p, [1.0, 2.5, 0.075], atol=1e-15)
    np.testing.assert_allclose(R, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    p, R = se3_exp(start, np.eye(3), vo, w, 1.0)
    np.testing.assert_allclose(p, [1.5, 2.0, 0.3], atol=1e-14)


def random_body(seed):
    rng = np.random.default_rng(seed)
    I = trees.random_inertial(rng)
    axes = trees.rotation(I.origin.quat).as_matrix()
    xx, yy, zz, xy, xz, yz = I.inertia
    about_com = axes @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ axes.T
    return I, Body(I.mass, np.array(I.origin.pos), about_com), rng


def random_state(rng):
    p, vo, w = rng.uniform(-1.0, 1.0, (3, 3))
    return State(p, rodrigues(rng.uniform(-2.0, 2.0, 3)), vo, w)


def free_body(I):
    """Return a Model of one free body without gravity."""
    m = rb.build(
        rb.SystemBuilder("free", base="world").body("body", I)
        .joint("free", "floating", "world", "body").description()
    )  # fmt: skip
    m.opt.gravity[:] = 0.0
    return m


def as_data(m, x):
    """Return a Data in the state x of a body."""
    d = rb.make_data(m)
    d.qpos[:3] = x.p
    d.qpos[3:] = trees.wxyz(states.Rotation.from_matrix(x.R))
    d.qvel[:3] = x.vo + np.cross(x.w, x.p)
    d.qvel[3:] = x.R.T @ x.w
    return d


def kinetic_energy(body, x):
    P, L = momentum(body, x)
    return 0.5 * (P @ x.vo + L @ x.w)


@pytest.mark.parametrize("seed", range(4))
def test_momentum_is_the_gradient_of_the_energy(seed):
    """P = m v_com and L = I_com w + com x P are gradients of the kinetic energy T."""
    _, body, rng = random_body(seed)
    x = random_state(rng)
    com = x.p + x.R @ body.c
    P, L = momentum(body, x)
    np.testing.assert_allclose(P, body.m * (x.vo + np.cross(x.w, com)), atol=1e-14)
    spin = x.R @ body.I @ x.R.T @ x.w
    np.testing.assert_allclose(L, spin + np.cross(com, P), atol=1e-14)
    ahead = [kinetic_energy(body, State(x.p, x.R, x.vo + e, x.w)) for e in np.eye(3)]
    behind = [kinetic_energy(body, State(x.p, x.R, x.vo - e, x.w)) for e in np.eye(3)]
    np.testing.assert_allclose(0.5 * np.subtract(ahead, behind), P, atol=1e-14)  # T is quadratic
    ahead = [kinetic_energy(body, State(x.p, x.R, x.vo, x.w + e)) for e in np.eye(3)]
    behind = [kinetic_energy(body, State(x.p, x.R, x.vo, x.w - e)) for e in np.eye(3)]
    np.testing.assert_allclose(0.5 * np.subtract(ahead, behind), L, atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_force_and_moment_are_the_rates_of_momentum(seed):
    """Differences of momentum give dP/dt = f and dL/dt = tau.

    They are extrapolated central differences, with errors of order h^4 and eps / h. The state at h
    follows from a constant acceleration, and its pose from the velocity at h / 2.
    """
    _, body, rng = random_body(seed)
    x = random_state(rng)
    f, tau = rng.uniform(-1.0, 1.0, (2, 3))
    dvo, dw = se3_dynamics(body, x, f, tau)

    def at(h):
        p, R = se3_exp(x.p, x.R, x.vo + 0.5 * h * dvo, x.w + 0.5 * h * dw, h)
        return np.concatenate(momentum(body, State(p, R, x.vo + h * dvo, x.w + h * dw)))

    coarse, fine = ((at(h) - at(-h)) / (2.0 * h) for h in (2e-3, 1e-3))
    rate = (4.0 * fine - coarse) / 3.0
    np.testing.assert_allclose(rate, np.concatenate([f, tau]), atol=1e-8 * size(dvo, dw))


@pytest.mark.parametrize("seed", range(4))
def test_the_acceleration_agrees_with_the_engine(seed):
    I, body, rng = random_body(seed)
    x = random_state(rng)
    m = free_body(I)
    m.opt.integrator = "euler"  # its forward dynamics has no implicit terms
    d = as_data(m, x)
    d.xfrc_applied[1] = rng.uniform(-1.0, 1.0, 6)
    rb.forward_dynamics(m, d)
    f, torque = np.split(d.xfrc_applied[1], 2)
    dvo, dw = se3_dynamics(body, x, f, torque + np.cross(d.xipos[1], f))
    # the acceleration of the origin is d/dt (vo + w x p), where dp/dt is the velocity itself
    velocity = x.vo + np.cross(x.w, x.p)
    of_origin = dvo + np.cross(dw, x.p) + np.cross(x.w, velocity)
    allowed = 1e-12 * size(dvo, dw)
    np.testing.assert_allclose(d.qacc[:3], of_origin, atol=allowed)
    np.testing.assert_allclose(x.R @ d.qacc[3:], dw, atol=allowed)


def size(*arrays):
    return 1.0 + np.abs(np.concatenate(arrays)).max()


@pytest.mark.parametrize("seed", range(2))
def test_the_motion_of_a_free_body_agrees_with_the_engine(seed):
    """The loop of figure 6.14, of order 1, converges to the engine's Runge-Kutta method."""
    I, body, rng = random_body(seed)
    x0 = random_state(rng)
    m = free_body(I)
    m.opt.gravity = (0.0, 0.0, -9.8)
    m.opt.integrator, m.opt.timestep = "rk4", 1e-3
    d = as_data(m, x0)
    rb.step(m, d, 500)
    R = trees.rotation(d.qpos[3:]).as_matrix()
    weight = np.array([0.0, 0.0, -9.8 * body.m])

    def falling(x):
        return weight, np.cross(x.p + x.R @ body.c, weight)

    errors = []
    for steps in (1000, 2000):
        x = next(itertools.islice(motion(body, x0, falling, 0.5 / steps), steps, None))
        errors.append(np.abs(np.vstack([x.p - d.qpos[:3], x.R - R])).max())
        np.testing.assert_allclose(x.R.T @ x.R, np.eye(3), atol=1e-12)
    assert errors[1] < 0.01
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)


def test_momentum_without_force_is_conserved_to_the_order_of_the_step():
    _, body, rng = random_body(3)
    x0 = random_state(rng)
    start = np.concatenate(momentum(body, x0))
    lost = []
    for steps in (1000, 2000):
        states_ = motion(body, x0, lambda _: (np.zeros(3), np.zeros(3)), 1.0 / steps)
        x = next(itertools.islice(states_, steps, None))
        lost.append(np.abs(np.concatenate(momentum(body, x)) - start).max())
    assert lost[1] < 0.01
    assert lost[0] / lost[1] == pytest.approx(2.0, abs=0.1)
