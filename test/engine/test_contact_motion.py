# SPDX-License-Identifier: Apache-2.0
"""Bodies in contact come to rest, slide, creep, roll and bounce."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import states, touching

import rbdyn_ros as rb

G = touching.G


def slope(shape, angle, friction, **surface):
    """Return a Model of a free body and a plane that slopes down along x by an angle [rad]."""
    skin = rb.Surface(friction=friction, **surface)
    system = touching.free(shape, 1.0, skin, floor=False)
    m = rb.build(system.obstacle("slope", rb.Plane(), origin=rb.pose(rpy=(0, angle, 0))))
    return m, Rotation.from_euler("y", angle)


def resting(m, turn, height):
    """Return Data of a body at rest, a micrometre deep in a plane through the origin."""
    return touching.placed(m, turn.apply([0.0, 0.0, height - 1e-6]), turn)


@pytest.mark.parametrize("h", [0.001, 0.002])
@pytest.mark.parametrize("drop", [0.01, 0.05, 0.1])
def test_a_box_dropped_flat_comes_to_rest(drop, h):
    m = rb.build(touching.free(touching.CUBE, 2.0))
    m.opt.timestep = h
    d = touching.placed(m, (0.0, 0.0, 0.1 + drop))
    deepest = 0.0
    for _ in range(round(1.0 / h)):
        rb.step(m, d, 1)
        deepest = max(deepest, 0.1 - d.qpos[2])
    assert abs(d.qvel).max() < 1e-12
    # four near-rigid contacts carry m/4 each
    assert d.ncon == 4
    assert 0.1 - d.qpos[2] == pytest.approx(touching.sunk(h), rel=0.01)
    # the falling box moves up to one step into the floor before its contact is found, and stops
    # within the next step
    assert deepest < 1.5 * h * np.sqrt(2.0 * G * drop)


@pytest.mark.parametrize("mass", [0.01, 30.0])
@pytest.mark.parametrize("h", [0.001, 0.002])
def test_light_and_heavy_boxes_come_to_rest(mass, h):
    shape = rb.Box((0.02, 0.02, 0.04)) if mass < 1.0 else rb.Box((0.3, 0.4, 0.6))
    m = rb.build(touching.free(shape, mass))
    m.opt.timestep = h
    d = touching.placed(m, (0, 0, 0.5 * shape.size[2] + 0.01), linear=(0.2, 0, 0))
    rb.step(m, d, round(2.0 / h))
    assert abs(d.qvel).max() < 1e-9
    assert 0.0 < 0.5 * shape.size[2] - d.qpos[2] < 1e-3


@pytest.mark.parametrize("h", [0.001, 0.002])
def test_a_torso_rests_on_light_fingers(h):
    """30 kg rest on three hinged fingers of 10 g at their limits; a fourth finger is free."""
    system = rb.SystemBuilder("hand", base="world")
    system.body("torso", rb.shapes.box((0.3, 0.3, 0.2), mass=30.0))
    system.joint("free", "floating", "world", "torso")
    for n in range(4):
        turn = n * np.pi / 2
        at = (0.1 * np.cos(turn), 0.1 * np.sin(turn), -0.1)
        inertia = rb.shapes.box((0.02, 0.02, 0.05), mass=0.01, at=rb.pose((0, 0, -0.025)))
        system.body(f"finger{n}", inertia)
        system.joint(
            f"j{n}", "revolute", "torso", f"finger{n}", axis=(0, 1, 0), xyz=at,
            rpy=(0, 0, turn), limit=rb.Limit(-0.1, 0.1), damping=1e-3,
        )  # fmt: skip
        tip = rb.pose((0, 0, -0.05))
        system.geometry(f"tip{n}", f"finger{n}", rb.Sphere(0.01), origin=tip)
    m = rb.build(system.floor())
    m.opt.timestep = h
    d = rb.make_data(m)
    touching.lift(m, d, 0.01)
    rb.step(m, d, round(4.0 / h))
    assert d.nbad == 0
    assert d.qpos[2] > 0.15  # the fingers carry the torso
    assert abs(d.qvel).max() < 1e-2
    assert d.contact_dist[: d.ncon].min() > -1e-3
    rb.forward(m, d)
    assert d.cfrc_contact[:, 5].sum() == pytest.approx(30.04 * G, rel=1e-2)


def test_a_ball_rolls_down_a_slope():
    """On a gentle slope the ball accelerates with 5/7 g sin(angle); on a steep slope it slides."""
    angle = 0.4
    m, turn = slope(touching.BALL, angle, 0.5)
    assert np.tan(angle) * 2 / 7 < 0.5
    d = resting(m, turn, 0.1)
    down = turn.apply([1.0, 0.0, 0.0])
    rb.step(m, d, 200)
    before = d.qvel[:3] @ down
    rb.step(m, d, 500)
    # the penetration of some 1e-5 m reduces the rolling radius by 1e-4
    assert d.qvel[:3] @ down - before == pytest.approx(5 / 7 * G * np.sin(angle) * 0.5, rel=2e-4)
    spin = Rotation.from_quat(d.qpos[[4, 5, 6, 3]]).apply(d.qvel[3:])[1]
    assert d.qvel[:3] @ down == pytest.approx(spin * 0.1, rel=1e-3)

    steep, turn = slope(touching.BALL, 1.2, 0.3)
    d = resting(steep, turn, 0.1)
    rb.step(steep, d, 700)
    sliding = G * (np.sin(1.2) - 0.3 * np.cos(1.2)) * 0.7
    assert d.qvel[:3] @ turn.apply([1.0, 0.0, 0.0]) == pytest.approx(sliding, rel=5e-3)


def test_a_ball_that_slides_begins_to_roll():
    """After a time of 2/7 v / (mu g) the ball rolls, with 5/7 of its initial speed v."""
    m, _ = slope(touching.BALL, 0.0, 0.2)
    d = touching.placed(m, (0, 0, 0.1 - 4e-5), linear=(1.0, 0.0, 0.0))
    stop = 2 / 7 / (0.2 * G)
    rb.step(m, d, round(stop * 500))
    # half of the time until the ball rolls; contact springs oscillate a little at the start
    assert d.qvel[0] == pytest.approx(1.0 - 0.2 * G * d.time, abs=2e-3)
    rb.step(m, d, round(stop * 1000))
    assert d.qvel[0] == pytest.approx(5 / 7, rel=1e-3)
    assert d.qvel[4] == pytest.approx(50 / 7, rel=1e-3)


def rebound(k, ratio, h, mass=1.0, started=0.3, shape=touching.BALL):
    """Return the speed with which a body rebounds from an impact at 1 m/s, without gravity.

    The contact has the stiffness k and a damping ratio; it begins after a share `started` of a
    step.
    """
    skin = rb.Surface(stiffness=k, damping=2.0 * ratio * np.sqrt(k * mass), friction=0.0)
    m = rb.build(touching.free(shape, mass, skin))
    m.opt.gravity = (0.0, 0.0, 0.0)
    m.opt.timestep = h
    d = touching.placed(m, (0, 0, 0.1 + started * h), linear=(0, 0, -1.0))
    for _ in range(round(2.0 * np.pi / np.sqrt(k / mass) / h) + 10):
        rb.step(m, d, 1)
    assert d.ncon == 0
    return d.qvel[2]


def schwager(z):
    """Return the coefficient of restitution of a spring and damper that cannot pull.

    z is the damping ratio.

    Source: Schwager, Poeschel, Coefficient of restitution and linear-dashpot model revisited,
    2007.
    """
    root = np.sqrt(1.0 - z * z)
    return np.exp(-z / root * (np.pi - np.arctan2(2.0 * z * root, 1.0 - 2.0 * z * z)))


@pytest.mark.parametrize("shape", ["sphere", "box"])
@pytest.mark.parametrize("stiff", [0.01, 0.1, 0.99])
def test_a_spring_without_damping_returns_the_full_speed(shape, stiff):
    """This holds for any h^2 k / m below 1, where m is the mass per contact."""
    h, mass = 1e-3, 2.0
    k = stiff * mass / h**2 / (4 if shape == "box" else 1)
    for started in (0.01, 0.5, 0.9):
        body = touching.CUBE if shape == "box" else touching.BALL
        assert rebound(k, 0.0, h, mass, started, body) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("ratio", [0.05, 0.3, 0.6])
@pytest.mark.parametrize(("h", "accuracy"), [(1e-4, 1e-4), (1e-3, 1e-3), (3e-3, 1e-2)])
def test_the_rebound_of_a_damped_ball_follows_schwagers_formula(ratio, h, accuracy):
    """The error is of second order in h: 1 % for h^2 k / m = 0.1."""
    for started in (0.01, 0.3, 0.6, 0.9):
        e = rebound(1e4, ratio, h, 1.0, started)
        assert e == pytest.approx(schwager(ratio), rel=accuracy)


def test_a_hull_that_bounces_on_undamped_springs_keeps_its_energy():
    m = rb.build(
        touching.free(
            touching.SHAPES["box"], 1.0, rb.Surface(stiffness=1e4, damping=0.0, friction=0.0)
        )
    )
    d = touching.placed(m, (0, 0, 0.16), Rotation.from_euler("xyz", [0.4, 0.3, 0.0]))
    most = least = touching.G * 0.16
    for _ in range(2000):
        rb.step(m, d, 1)
        rb.energy(m, d)
        if d.ncon == 0:
            most, least = max(most, d.energy.sum()), min(least, d.energy.sum())
    assert most < 1.01 * touching.G * 0.16
    assert least > 0.99 * touching.G * 0.16


@pytest.mark.parametrize("stiff", [0.01, 1.0, 100.0])
def test_a_body_rests_where_the_contact_spring_balances_its_weight(stiff):
    mass, h = 2.0, 1e-3
    k = stiff * mass / h**2
    m = rb.build(touching.free(touching.BALL, mass, rb.Surface(stiffness=k)))
    d = touching.placed(m, (0.0, 0.0, 0.101))
    rb.step(m, d, 2000)
    assert 0.1 - d.qpos[2] == pytest.approx(mass * G / k, rel=1e-9)
    assert abs(d.qvel).max() < 1e-12


def test_a_cylinder_rolls_without_bumps():
    """The cylinder is not approximated by a polygon, so its height stays constant."""
    m = rb.build(touching.free(touching.CYLINDER, 1.0))
    lying = Rotation.from_euler("x", np.pi / 2)
    d = touching.placed(m, (0, 0, 0.1), lying, (0.5, 0, 0), (0, 0, -5.0))
    rb.step(m, d, 500)
    heights, angles = [], []
    for _ in range(1000):
        rb.step(m, d, 1)
        heights.append(d.qpos[2])
        angles.append(d.qpos[0])
    assert angles[-1] - angles[0] > 0.45  # the cylinder has turned by 4.5 rad
    depth = 0.1 - np.mean(heights)
    assert 0.0 < depth < 1e-3
    assert np.ptp(heights) < 1e-6 * depth
    assert d.qvel[0] == pytest.approx(0.5, rel=1e-3)


ROUGH = rb.Surface(friction=2.0)


def on(ground, shape):
    """Return a Model of a free body with a shape, and this kind of ground at height 0."""
    body = touching.free(shape, 1.0, ROUGH, floor=ground == "a floor")
    if ground == "a floor":
        return rb.build(body)
    if ground == "a large sphere":
        return rb.build(body.obstacle("dome", rb.Sphere(500.0), origin=rb.pose((0, 0, -500.0))))
    turns = ground != "a fixed link"
    table = rb.SystemBuilder("table", base="room" if turns else "block")
    table.body("block", rb.shapes.box((4.0, 4.0, 1.0), mass=100.0))
    if turns:
        table.joint("turn", "revolute", "room", "block", axis=(0, 0, 1))
    top = rb.Cylinder(2.0, 1.0) if turns else rb.Box((4.0, 4.0, 1.0))
    table.geometry("block", "block", top, origin=rb.pose((0.0, 0.0, -0.5)), surface=ROUGH)
    robots = {"it": body, "table": table}
    if ground == "a round table before it":
        robots = dict(reversed(robots.items()))
    return rb.scene(robots, floor=False)


@pytest.mark.parametrize(
    "ground",
    ["a floor", "a fixed link", "a large sphere", "a round table", "a round table before it"],
)
def test_a_coin_rolls_in_a_circle(ground):
    """The coin loses 0.17 % of its energy in 3 s; with contact points on straight paths, 0.6 %.

    The coin's axis has a constant angle to the vertical and precesses at p. Then the coin spins
    about its axis at w = (p^2 sin cos / 4 - g / r cos) / (3/2 p sin), see test_rolling.py.
    """
    r, half, c, s, p = 0.1, 5e-4, np.cos(0.87), np.sin(0.87), 2.5
    spin = (0.25 * p**2 * s * c - G / r * c) / (1.5 * p * s)
    up, axis = np.array([0.0, c, s]), np.array([0.0, -s, c])
    turn = Rotation.from_matrix(np.column_stack([[1.0, 0.0, 0.0], up, axis]))
    w, centre = p * s * up + spin * axis, r * up + half * axis
    m = on(ground, rb.Cylinder(r, 2 * half))
    d, first = rb.make_data(m), m.nv - 6 if ground == "a round table before it" else 0
    d.qpos[first : first + 7] = 0.0, 0.0, centre[2], *touching.wxyz(turn)
    d.qvel[first : first + 6] = *np.cross(w, centre), *turn.inv().apply(w)
    start = states.energy(m, d.copy())
    rb.step(m, d, 3000)
    assert states.energy(m, d.copy()) == pytest.approx(start, rel=2.5e-3)


def test_a_box_that_tumbles_on_a_large_sphere_gains_no_energy():
    """Contact points stay at corners; if they moved along the sphere, they would add energy."""
    m, turn, w = on("a large sphere", touching.CUBE), Rotation.from_rotvec([0.9, 0.1, 0.0]), 6.0
    low = min((turn.apply(x) for x in np.ndindex(2, 2, 2)), key=lambda x: x[2])
    centre = 0.2 * (turn.apply([0.5, 0.5, 0.5]) - low)
    d = touching.placed(m, centre, turn, np.cross([0, 0, w], centre), turn.inv().apply([0, 0, w]))
    before = states.energy(m, d.copy())
    for _ in range(15):
        rb.step(m, d, 20)
        after = states.energy(m, d.copy())
        assert after < before * (1.0 + 1e-6)
        before = after


def test_a_tilted_cylinder_rights_itself_and_stands_on_three_points():
    m = rb.build(touching.free(touching.CYLINDER, 1.0))
    for azimuth in (0.0, 1.0, 4.0):
        tilt = Rotation.from_rotvec(0.2 * np.array([np.cos(azimuth), np.sin(azimuth), 0.0]))
        d = touching.placed(m, (0, 0, 0.125), tilt)
        rb.step(m, d, 4000)
        upright = Rotation.from_quat(d.qpos[[4, 5, 6, 3]]).apply([0, 0, 1])
        assert upright[2] > 1.0 - 1e-9
        assert abs(d.qvel).max() < 1e-6
        assert d.ncon == 3


def test_a_standing_cylinder_resists_tilting_equally_in_all_directions():
    """Springs at three points, 120 degrees apart, give a moment of 3/2 k r^2 times the tilt."""
    k = 1e4
    m = rb.build(touching.free(touching.CYLINDER, 1.0, rb.Surface(stiffness=k)))
    angle = 1e-5
    for azimuth in np.linspace(0.0, 2 * np.pi, 25):
        axis = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        d = touching.placed(m, (0, 0, 0.1 - 1e-3), Rotation.from_rotvec(angle * axis))
        rb.inverse(m, d)  # with qacc = 0
        assert d.ncon == 3
        moment = d.cfrc_contact[1, :3]
        # the tilt shifts the base by 0.1 m times the angle, so the normal force has a moment
        expected = -(1.5 * k * 0.1**2 - 3 * k * 1e-3 * 0.1) * angle
        assert moment @ axis == pytest.approx(expected, rel=1e-3)
        assert np.cross(moment, axis)[2] == pytest.approx(0.0, abs=1e-3 * abs(expected))


@pytest.mark.parametrize("shape", touching.SHAPES)
def test_all_shapes_come_to_rest_on_a_block(shape):
    """The body falls on a wide box; round shapes may roll slowly."""
    top = rb.pose((0.0, 0.0, -0.5))
    system = touching.free(touching.SHAPES[shape], floor=False)
    m = rb.build(system.obstacle("table", rb.Box((20.0, 20.0, 1.0)), origin=top))
    d = touching.placed(m, (0, 0, 0.2), Rotation.from_euler("xyz", [0.4, 0.3, 0.2]))
    rb.step(m, d, 6000)
    assert d.nbad == 0
    assert 0.0 < d.qpos[2] + 0.2 < 0.35
    assert -1e-3 < d.contact_dist[: min(d.ncon, m.ncontact)].min() < 0.0
    if shape in ("box", "points"):
        assert abs(d.qvel).max() < 1e-5
    assert abs(d.qvel[2]) < 1e-4


def test_a_sliding_box_stops_where_coulomb_friction_stops_it():
    """A pushed box slides the distance v^2 / (2 mu g)."""
    m, _ = slope(rb.Box((0.6, 0.6, 0.1)), 0.0, 0.4)
    d = touching.placed(m, (0, 0, 0.05 - 3.9e-5), linear=(1.0, 0.5, 0.0))
    rb.step(m, d, 2000)
    way = np.hypot(*d.qpos[:2])
    assert way == pytest.approx(1.25 / (2 * 0.4 * G), rel=5e-3)
    assert d.qpos[0] == pytest.approx(2 * d.qpos[1], rel=1e-6)
    assert abs(d.qvel).max() < 1e-9


def test_viscous_friction_slows_a_box_exponentially():
    """With 2 N s/m at each of four corners the speed is v exp(-8 t / m)."""
    m, _ = slope(rb.Box((0.6, 0.6, 0.01)), 0.0, 0.0, viscosity=2.0)
    d = touching.placed(m, (0, 0, 0.005 - 3.9e-5), linear=(1.0, 0.0, 0.0))
    rb.step(m, d, 200)
    assert d.qvel[0] == pytest.approx(np.exp(-8.0 * 0.2), rel=1e-2)


def test_viscous_friction_does_not_brake_a_hovering_box():
    """The box hovers so low that contact points are listed, but without a force."""
    m, _ = slope(rb.Box((0.6, 0.6, 0.01)), 0.0, 0.0, viscosity=2.0)
    m.opt.gravity = np.zeros(3)
    d = touching.placed(m, (0, 0, 0.005 + 1e-5), linear=(1.0, 0.0, 0.0))
    rb.step(m, d, 200)
    assert d.ncon == 4
    assert d.qvel[0] == 1.0
    m.opt.gravity = (0.0, 0.0, -G)
    rb.step(m, d, 200)
    assert d.qvel[0] == pytest.approx(np.exp(-8.0 * 0.2), rel=2e-2)
