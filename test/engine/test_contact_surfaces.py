# SPDX-License-Identifier: Apache-2.0
"""Surfaces of two bodies decide restitution, stiffness, damping and kinds of friction."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import states, touching
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.errors import ModelError

G = touching.G
INERTIA = 0.4 * 0.01  # inertia of a ball of 1 kg with a radius of 0.1 m [kg m^2]


def ball(**surface):
    m = rb.build(touching.free(touching.BALL, 1.0, rb.Surface(**surface)))
    d = touching.placed(m, (0.0, 0.0, 0.1))
    rb.step(m, d, 200)
    return m, d


def impact(m, d):
    """Step until the body touches; return qvel before and after this step."""
    while True:
        before = d.qvel.copy()
        rb.step(m, d, 1)
        if d.ncon:
            return before, d.qvel.copy()


@pytest.mark.parametrize("e", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("shape", ["sphere", "box"])
@pytest.mark.parametrize("h", [1e-4, 2e-3])
def test_an_impact_returns_the_speed_times_the_restitution(e, shape, h):
    m = rb.build(touching.free(touching.SHAPES[shape], 2.0, rb.Surface(restitution=e)))
    m.opt.timestep = h
    d = touching.placed(m, (0, 0, 0.8))
    before, after = impact(m, d)
    assert after[2] == pytest.approx(-e * before[2], rel=1e-5)
    assert abs(after[3:]).max() < 1e-9


def test_a_cube_without_restitution_does_not_bounce():
    m = rb.build(touching.free(touching.CUBE, 2.0))
    d = touching.placed(m, (0, 0, 0.6))
    highest = -np.inf
    for _ in range(1000):
        rb.step(m, d, 1)
        highest = max(highest, d.qvel[2])
    assert highest < 1e-3


def thrown_at_each_other(first, second):
    """Return Model and Data of two balls, 10 mm apart, which approach at 1 m/s each.

    first, second: keyword arguments of their Surfaces.
    """
    balls = [
        rb.Object(f"ball {n}", rb.Sphere(0.1), mass=1.0, pose=rb.pose((0.21 * n, 0.0, 0.0)),
                  surface=rb.Surface(**surface))
        for n, surface in enumerate((first, second))
    ]  # fmt: skip
    m = rb.scene(objects=balls, floor=False)
    m.opt.gravity = np.zeros(3)
    d = rb.make_data(m)
    d.qvel[0], d.qvel[6] = 1.0, -1.0
    return m, d


def test_the_larger_damping_applies_if_the_time_constants_are_equal():
    weak, strong = ({"time_constant": 0.02, "damping_ratio": z} for z in (0.1, 1.0))

    def speeds(first, second):
        m, d = thrown_at_each_other(first, second)
        rb.step(m, d, 300)
        assert d.qvel[6] > d.qvel[0]
        return d.qvel.tobytes()

    assert speeds(weak, strong) == speeds(strong, weak) == speeds(strong, strong)
    assert speeds(weak, weak) != speeds(strong, strong)


@pytest.mark.parametrize(
    ("first", "second", "k", "b"),
    [
        ({"stiffness": 1e4, "damping": 8.0}, {"stiffness": 1e4, "damping": 8.0}, 5e3, 4.0),
        ({"stiffness": 1e4, "damping": 0.0}, {"stiffness": 3e4, "damping": 16.0}, 7.5e3, 1.0),
        ({"stiffness": 1e4}, {"stiffness": 3e4}, 7.5e3, 2.0 * np.sqrt(7.5e3)),
        ({"stiffness": 1e4, "damping": 8.0}, {}, 1e4, 8.0),
        ({"stiffness": 1e4, "damping": 8.0}, {"time_constant": 0.1}, 1e4, 8.0),
    ],
)
def test_two_stiffnesses_act_in_series(first, second, k, b):
    """Each damper acts on its spring's share of the deflection."""
    for pair in ((first, second), (second, first)):
        m, d = thrown_at_each_other(*pair)
        m.opt.timestep = 1e-9  # so short that the balls do not move
        d.qvel[0] = d.qvel[6] = 0.0
        d.qpos[7] = 0.199
        rb.inverse(m, d)  # with qacc = 0
        assert d.contact_force[0, 0] == pytest.approx(1e-3 * k, rel=1e-9)
        d.qvel[0] = 0.1
        rb.inverse(m, d)
        assert d.contact_force[0, 0] == pytest.approx(1e-3 * k + 0.1 * b, rel=1e-6)


def test_an_impact_with_friction_adds_no_energy():
    """Newton's restitution law alone would add 0.3 to 20 % of energy in 6 of these 40 throws."""
    rod = rb.Box((0.02, 0.02, 0.5))
    m = rb.build(touching.free(rod, 1.0, rb.Surface(restitution=1.0, friction=0.8)))
    m.opt.gravity, m.opt.timestep = (0.0, 0.0, 0.0), 1e-6
    rng, impacts = np.random.default_rng(0), 0
    for seed in range(40):
        turn = Rotation.random(random_state=seed)
        height = 0.5 * abs(turn.as_matrix()[2]) @ rod.size + 1e-7
        v, w = rng.uniform(-1.0, 1.0, 3) - (0.0, 0.0, 1.0), rng.uniform(-8.0, 8.0, 3)
        d = touching.placed(m, (0.0, 0.0, height), turn, v, w)
        before = states.energy(m, d)
        rb.step(m, d, 20)
        impacts += abs(d.qvel[:3] - v).max() > 1e-3
        # gyroscopic torque in the step of an impact may add a share of about h |w| = 8e-6
        assert states.energy(m, d) < (1.0 + 1e-5) * before
        assert d.nunsolved == 0
    assert impacts > 20


def test_bouncing_bodies_come_to_rest():
    """Bodies do not bounce below the speed of four steps of free fall, so bounces end."""
    m = rb.build(touching.free(touching.CUBE, 2.0, rb.Surface(restitution=0.6)))
    d = touching.placed(m, (0, 0, 0.3), Rotation.from_euler("xyz", [0.3, 0.5, 0.1]))
    rb.step(m, d, 5000)
    assert abs(d.qvel).max() < 1e-12


def test_a_bouncing_ball_with_restitution_one_keeps_its_energy():
    m = rb.build(touching.free(touching.BALL, 1.0, rb.Surface(restitution=1.0)))
    m.opt.timestep = 1e-4
    d = touching.placed(m, (0, 0, 0.6))
    rb.step(m, d, 30000)
    # each of nine bounces may come a step too early, which changes the height by h v
    height = 0.5 * d.qvel[2] ** 2 / G + d.qpos[2] - 0.1
    assert height == pytest.approx(0.5, rel=9 * 2e-3)


def test_torsional_friction_stops_a_spin_and_holds_it():
    m, d = ball(torsional=0.01)
    d.qvel[5] = 5.0
    rb.step(m, d, 100)
    assert d.qvel[5] == pytest.approx(5.0 - 0.01 * G / INERTIA * 0.1, rel=1e-6)
    assert d.contact_torque[0] == pytest.approx([0.0, 0.0, -0.01 * G], abs=1e-8)
    rb.step(m, d, 400)
    assert abs(d.qvel).max() < 1e-14
    d.qfrc_applied[5] = 0.9 * 0.01 * G
    rb.step(m, d, 100)
    turned = d.qpos.copy()
    rb.step(m, d, 500)
    assert d.qpos == pytest.approx(turned, abs=1e-14)
    d.qfrc_applied[5] = 1.1 * 0.01 * G
    before = d.qvel[5]
    rb.step(m, d, 100)
    assert d.qvel[5] - before == pytest.approx(0.1 * 0.01 * G / INERTIA * 0.1, rel=1e-5)


def test_friction_and_torsional_friction_can_share_a_limit_surface():
    """Force and torque on a sliding, spinning ball lie on an ellipsoid and oppose the motion."""
    mu, torsional = 0.5, 0.01
    m, d = ball(friction=mu, torsional=torsional, limit_surface=True)
    d.qvel[[0, 5]] = (1.0, 20.0)
    rb.step(m, d, 2)
    for _ in range(100):
        rb.step(m, d)
        w = Rotation.from_quat(d.qpos[[4, 5, 6, 3]]).apply(d.qvel[3:])
        slip = d.qvel[:2] + 0.1 * np.array([-w[1], w[0]])
        force, torque = -d.contact_force[0, :2] / mu, -d.contact_torque[0, 2] / torsional
        assert np.hypot(np.linalg.norm(force), torque) == pytest.approx(G, rel=1e-5)
        # (force, torque / radius) opposes (slip, radius * w), where the radius is torsional / mu
        against = np.array([*slip, torsional / mu * w[2]])
        against *= G / np.linalg.norm(against)
        assert np.array([*force, torque]) == pytest.approx(against, abs=2e-3 * G)
    rb.step(m, d, 900)
    w = Rotation.from_quat(d.qpos[[4, 5, 6, 3]]).apply(d.qvel[3:])
    assert w[2] < 0.5 * 20.0  # the ball rolls now, so torsional friction brakes it fully


def test_a_ball_with_a_shared_limit_surface_is_held_up_to_the_ellipsoid():
    mu, torsional = 0.5, 0.01
    m, d = ball(friction=mu, torsional=torsional, rolling=0.1, limit_surface=True)
    for share, moves in ((0.97, False), (1.03, True)):
        d.qfrc_applied[[0, 5]] = share * G * np.sqrt(0.5) * np.array([mu, torsional])
        rb.step(m, d, 300)
        assert (abs(d.qvel[5]) > 1e-3) == moves
        assert moves or abs(d.qvel).max() < 1e-12


@pytest.mark.parametrize("foot", [touching.POINT, rb.Sphere(1e-3)])
def test_torsional_friction_stops_a_plate_that_spins_on_a_small_foot(foot):
    inertia, torque = (1.0 + 0.2**2) / 12.0, 0.02 * G
    plate = (
        rb.SystemBuilder("plate", base="world")
        .body("plate", rb.shapes.box((1.0, 0.2, 0.02), mass=1.0))
        .joint("free", "floating", "world", "plate")
        .geometry("foot", "plate", foot, surface=rb.Surface(torsional=0.02))
    )
    m = rb.build(plate.floor())
    d = touching.placed(m, (0.0, 0.0, m.geom_rbound[0]), angular=(0.0, 0.0, 1.0))
    rb.step(m, d, 400)
    assert d.qvel[5] == pytest.approx(1.0 - torque / inertia * 0.4, rel=1e-6)
    rb.step(m, d, 200)
    assert abs(d.qvel).max() < 1e-14
    turned = 2.0 * np.arctan2(d.qpos[6], d.qpos[3])
    # a step uses the friction at its end, so the plate stops w h / 2 earlier
    assert turned == pytest.approx(0.5 * inertia / torque - 0.5e-3, rel=1e-5)


def test_rolling_friction_stops_a_ball_and_holds_it_on_a_slope():
    m, d = ball(rolling=0.002)
    d.qvel[[0, 4]] = (1.0, 10.0)
    rb.step(m, d, 100)
    start = d.qvel[0]
    rb.step(m, d, 100)
    # the ball's inertia about the contact point is 7/5 m r^2
    assert start - d.qvel[0] == pytest.approx(0.002 * G / (1.4 * 0.1) * 0.1, rel=1e-4)
    m.opt.gravity = (0.01 * G, 0.0, -G)  # like a slope of 0.01, below rolling / r = 0.02
    rb.step(m, d, 16000)
    there = d.qpos.copy()
    rb.step(m, d, 1000)
    assert d.qpos == pytest.approx(there, abs=1e-14)
    m.opt.gravity = (0.05 * G, 0.0, -G)
    rb.step(m, d, 100)
    start = d.qvel[0]
    rb.step(m, d, 100)
    assert d.qvel[0] - start == pytest.approx((0.05 - 0.02) * G / 1.4 * 0.1, rel=1e-4)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("geom_restitution", 1.1),
        ("geom_restitution", -0.1),
        ("geom_torsional", -1e-3),
        ("geom_rolling", np.nan),
    ],
)
def test_invalid_numbers_of_surfaces_are_refused(field, value):
    m, _ = ball()
    with refused(ModelError, "model-array", field):
        m.replaced(**{field: 2 * [value]})
