# SPDX-License-Identifier: Apache-2.0
"""The motion of a ball and a disk that roll without slipping agrees with closed-form solutions."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import mechanisms
from support.mechanisms import Drift, allowed_velocity, see_constraints

import rbdyn_ros as rb

G = 9.81
RADIUS = 0.1
TURN = 3.0  # angular velocity of the turntable [rad/s]


@pytest.fixture(scope="module", autouse=True)
def _turntable():
    @rb.register_motion("turntable")
    def turn(t, q, qd, _qdd):
        q[0], qd[0] = 3.0 * t, 3.0


def model(system):
    m = rb.build(system)
    m.opt.integrator = "rk4"
    return m


def rolling(m, velocity, spin=0.0):
    """Return Data of a rolling ball on level ground, with a velocity [m/s] and a spin [rad/s]."""
    d = rb.make_data(m)
    x, y = velocity
    d.qvel = (x, y, 0.0, -y / RADIUS, x / RADIUS, spin)
    see_constraints(m, d)
    assert np.abs(d.efc_vel).max() < 1e-14, "the ball slips at the start"
    return d


def test_a_rolling_ball_has_five_position_and_three_velocity_freedoms():
    m = model(mechanisms.ball())
    d = rb.make_data(m)
    rb.forward(m, d)
    assert (m.nv, m.nefc, d.efc_rank) == (6, 3, 3)
    assert d.efc_pos.tolist() == [0.0, 0.0, 0.0]
    d.qpos[:2] = (3.0, -2.0)  # the ball may be anywhere on the ground
    d.qpos[3:] = np.roll(Rotation.from_rotvec([1.0, 2.0, 0.5]).as_quat(), 1)
    see_constraints(m, d)
    assert np.abs(d.efc_pos).max() < 1e-16
    d.qpos[2] = 0.01  # but the ball must touch the ground
    see_constraints(m, d)
    np.testing.assert_allclose(d.efc_pos, [0.01, 0.0, 0.0], atol=1e-16)


def test_a_ball_that_rolls_round_a_square_returns_rotated():
    """The ball is again at its first position, but its orientation differs by 120 degrees."""
    m = model(mechanisms.ball())
    d = rb.make_data(m)
    side = RADIUS * np.pi / 2  # a quarter of a turn
    for velocity in ((side, 0.0), (0.0, side), (-side, 0.0), (0.0, -side)):
        # the angular velocity is in the ball's own axes
        R = Rotation.from_quat(np.roll(d.qpos[3:], -1))
        spin = R.inv().apply([-velocity[1] / RADIUS, velocity[0] / RADIUS, 0.0])
        d.qvel = (*velocity, 0.0, *spin)
        see_constraints(m, d)
        assert np.abs(d.efc_vel).max() < 1e-15
        rb.integrate_pos(m, d.qpos, d.qvel.copy(), 1.0)
    np.testing.assert_allclose(d.qpos[:3], 0.0, atol=1e-15)
    turned = Rotation.from_quat(np.roll(d.qpos[3:], -1)).magnitude()
    assert turned == pytest.approx(2.0 * np.pi / 3.0, abs=1e-12)


@pytest.mark.parametrize("tilt", [0.1, 0.5, -0.8])
def test_a_ball_rolls_down_a_tilted_plane(tilt):
    """The ball accelerates with 5/7 g sin(tilt)."""
    m = model(mechanisms.ball(tilt=tilt))
    d = rb.make_data(m)
    start = d.qpos[:3].copy()
    rb.step(m, d, 1000)
    way = 0.5 * 5.0 / 7.0 * G * np.sin(tilt) * d.time**2
    down = np.array([np.cos(tilt), 0.0, -np.sin(tilt)])
    np.testing.assert_allclose(d.qpos[:3] - start, way * down, atol=1e-12)
    # friction is 2/7 m g sin(tilt), and the normal force is m g cos(tilt)
    rb.forward(m, d)
    force = d.qfrc_constraint[:3]
    np.testing.assert_allclose(force @ down, -2.0 / 7.0 * 2.0 * G * np.sin(tilt), rtol=1e-12)
    normal = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    np.testing.assert_allclose(force @ normal, 2.0 * G * np.cos(tilt), rtol=1e-12)


def test_a_ball_that_also_spins_about_the_vertical_rolls_straight():
    m = model(mechanisms.ball())
    d = rolling(m, (0.7, -0.3), spin=25.0)
    rb.step(m, d, 2000)
    np.testing.assert_allclose(d.qpos[:3], [1.4, -0.6, 0.0], atol=1e-9)
    spin = Rotation.from_quat(np.roll(d.qpos[3:], -1)).apply(d.qvel[3:])
    np.testing.assert_allclose(spin, [3.0, 7.0, 25.0], atol=1e-8)


def test_a_ball_on_a_turntable_runs_in_a_circle():
    """As v' = 2/7 W z x v, with the table's rate W, a circle takes 7/2 turns of the table."""
    m = model(mechanisms.ball(spinning_floor="turntable"))
    d = rb.make_data(m)
    d.qpos[:2] = (0.3, 0.1)
    d.qvel = allowed_velocity(m, d, np.array([0.4, -0.2, 0.0, 3.0, 1.0, 2.0]))
    start, velocity, rate = d.qpos[:2].copy(), d.qvel[:2].copy(), 2.0 / 7.0 * TURN
    assert np.linalg.norm(velocity) > 0.3
    middle = start + np.array([-velocity[1], velocity[0]]) / rate
    for _ in range(10):
        rb.step(m, d, 750)
        c, s = np.cos(rate * d.time), np.sin(rate * d.time)
        turn = np.array([[c, -s], [s, c]])
        np.testing.assert_allclose(d.qpos[:2], middle + turn @ (start - middle), atol=1e-9)
        np.testing.assert_allclose(d.qvel[:2], turn @ velocity, atol=1e-8)
    assert rate * d.time > 2 * np.pi, "the ball has not completed the circle"
    assert d.qpos[2] == pytest.approx(0.0, abs=1e-12)


def leaning(m, angle, precession, spin):
    """Return Data of a disk that rolls along x, with its axis at an angle to the vertical [rad].

    With e1 along x, e2 up the disk and e3 along its axis, the angular velocity is
    precession sin(angle) e2 + spin e3 [rad/s].
    """
    c, s = np.cos(angle), np.sin(angle)
    e1, e2, e3 = np.array([1.0, 0.0, 0.0]), np.array([0.0, c, s]), np.array([0.0, -s, c])
    R = np.column_stack([e1, e3, -e2])  # the axis of the disk is y of its frame
    d = rb.make_data(m)
    d.qpos[2] = RADIUS * (s - 1.0)
    d.qpos[3:] = np.roll(Rotation.from_matrix(R).as_quat(), 1)
    w = precession * s * e2 + spin * e3
    d.qvel = (*(RADIUS * np.cross(w, e2)), *(R.T @ w))
    see_constraints(m, d)
    assert np.abs(d.efc_pos).max() < 1e-15
    assert np.abs(d.efc_vel).max() < 1e-14
    return d


def axis(d):
    """Return the disk's axis in world coordinates."""
    return Rotation.from_quat(np.roll(d.qpos[3:], -1)).apply([0.0, 1.0, 0.0])


@pytest.mark.parametrize(("angle", "precession"), [(1.2, 4.0), (1.0, -7.0), (0.6, 12.0)])
def test_a_disk_rolls_steadily_in_a_circle(angle, precession):
    """For a constant angle of the axis, 3/2 w W sin - 1/4 W^2 sin cos + g/r cos = 0.

    W is the precession and w the spin. The equation follows from the angular momentum
    H = A W sin e2 + C w e3 and the moment of the contact force; A = m r^2 / 4, C = m r^2 / 2.
    """
    c, s = np.cos(angle), np.sin(angle)
    spin = (0.25 * precession**2 * s * c - G / RADIUS * c) / (1.5 * precession * s)
    m = model(mechanisms.disk(RADIUS))
    d = leaning(m, angle, precession, spin)
    start, circle = d.qpos[:3].copy(), RADIUS * spin / precession
    middle = start[:2] + circle * np.array([0.0, -1.0])
    for _ in range(10):
        rb.step(m, d, 100)
        assert axis(d)[2] == pytest.approx(c, abs=1e-7)
        assert d.qpos[2] == pytest.approx(start[2], abs=1e-7)
        assert np.linalg.norm(d.qpos[:2] - middle) == pytest.approx(abs(circle), abs=1e-7)
        turned = np.arctan2(axis(d)[0], -axis(d)[1])  # angle of precession since the start
        assert np.cos(turned - precession * d.time) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_an_upright_disk_wobbles(factor):
    """A small lean has x'' = -(12/5 w^2 - 4/5 g/r) x, so it is stable for w^2 > g / (3 r)."""
    spin = factor * np.sqrt(G / (3.0 * RADIUS))
    rate = np.sqrt(12.0 / 5.0 * spin**2 - 4.0 / 5.0 * G / RADIUS)
    m = model(mechanisms.disk(RADIUS))
    lean = 1e-5
    # with an angular velocity of 2 w x about the vertical the lean oscillates about zero
    d = leaning(m, np.pi / 2 - lean, -2.0 * spin * lean, spin)
    times, leans = [], []
    for _ in range(200):
        rb.step(m, d, 5)
        times.append(d.time)
        leans.append(axis(d)[2])
    expected = lean * np.cos(rate * np.array(times))
    np.testing.assert_allclose(leans, expected, atol=1e-4 * lean)


@pytest.mark.parametrize(("factor", "falls"), [(0.9, True), (1.1, False)])
def test_an_upright_disk_falls_below_its_critical_speed(factor, falls):
    spin = factor * np.sqrt(G / (3.0 * RADIUS))
    m = model(mechanisms.disk(RADIUS))
    d = leaning(m, np.pi / 2 - 1e-6, 0.0, spin)
    largest = 0.0
    for _ in range(600):
        rb.step(m, d, 10)
        largest = max(largest, abs(axis(d)[2]))
    assert bool(largest > 0.1) is falls
    assert falls or largest < 2e-5  # a stable disk leans by less than 20 times the first lean


def test_a_wobbling_disk_keeps_its_energy_and_stays_on_the_ground(record_property):
    m = model(mechanisms.disk(RADIUS))
    drift = Drift(m, leaning(m, 1.2, 3.0, -8.0), 60.0)
    record_property("disk, rk4, 60 s", str(drift))
    print(f"disk, rk4, 60 s: {drift}")
    assert drift.largest < 1e-8
    assert drift.share < 1e-6
    assert drift.ranks == {3}


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping"])
def test_default_integrators_keep_the_constraint_of_a_rolling_disk(integrator, record_property):
    m = model(mechanisms.disk(RADIUS))
    m.opt.integrator = integrator
    drift = Drift(m, leaning(m, 1.2, 3.0, -8.0), 10.0)
    record_property(f"disk, {integrator}, 10 s", str(drift))
    print(f"disk, {integrator}, 10 s: {drift}")
    assert drift.largest < 1e-6
    assert drift.share < 0.05


@pytest.mark.parametrize("turned", [(0.4, -0.3, 1.0), (2.0, 0.5, -0.7)])
def test_rotating_gravity_and_ground_together_rotates_the_motion(turned):
    """In the rotated frame the motion is the same."""
    R = Rotation.from_rotvec(turned)
    ends = []
    for rotation in (Rotation.identity(), R):
        s = rb.SystemBuilder("turned", base="world")
        s.body("disk", rb.Inertial(1.0, rb.pose(), (0.0025, 0.005, 0.0025, 0.0, 0.0, 0.0)))
        s.body("ground")
        x, y, z, w = rotation.as_quat()
        s.joint("tilt", "fixed", "world", "ground", origin=rb.Pose((0, 0, 0), (w, x, y, z)))
        s.joint("free", "floating", "ground", "disk", xyz=(0, 0, RADIUS))
        s.roll("contact", "disk", "ground", RADIUS, axis=(0, 1, 0))
        m = model(s)
        m.opt.gravity = rotation.apply([0.0, 0.0, -G])
        d = leaning(m, 1.2, 3.0, -8.0)
        rb.step(m, d, 500)
        ends.append(d.qpos.copy())
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-9)
