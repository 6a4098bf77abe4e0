# SPDX-License-Identifier: Apache-2.0
"""Resting bodies do not move, and bodies slide by Coulomb's law, up to rounding."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots, states, touching

import rbdyn_ros as rb

G = touching.G
MU = 0.5
BOX = rb.Box((0.2, 0.2, 0.1))


def slope(share):
    """Return m, d, rotation and angle for a box of 2 kg on a slope with the tangent MU * share."""
    angle = np.arctan(MU * share)
    turn = Rotation.from_euler("y", angle)
    system = touching.free(BOX, 2.0, rb.Surface(friction=MU), floor=False)
    m = rb.build(system.obstacle("slope", rb.Plane(), origin=rb.pose(rpy=(0, angle, 0))))
    d = touching.placed(m, turn.apply([0.0, 0.0, 0.05]), turn)
    return m, d, turn, angle


@pytest.mark.parametrize("seconds", [1, 60])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_box_on_a_slope_below_the_friction_angle_does_not_creep(share, seconds):
    m, d, turn, angle = slope(share)
    rb.step(m, d, 1000)
    before = d.qpos.copy()
    rb.step(m, d, 1000 * seconds)
    assert d.qpos == pytest.approx(before, abs=1e-15)
    assert abs(d.qvel).max() < 1e-13  # rounding error of forces of 20 N on 2 kg
    assert d.nunsolved == 0
    assert d.solver_niter == 1
    # friction balances the weight along the slope
    down = turn.apply([1.0, 0.0, 0.0])
    assert d.cfrc_contact[1, 3:] @ down == pytest.approx(-2.0 * G * np.sin(angle), rel=1e-12)


@pytest.mark.parametrize("share", [1.01, 1.1, 1.5, 2.0])
def test_a_box_on_a_slope_above_the_friction_angle_slides_without_lifting(share):
    m, d, turn, angle = slope(share)
    rb.step(m, d, 500)
    down, up = turn.apply([1.0, 0.0, 0.0]), turn.apply([0.0, 0.0, 1.0])
    start = d.qvel[:3] @ down
    rb.step(m, d, 1000)
    accelerated = G * (np.sin(angle) - MU * np.cos(angle))
    assert d.qvel[:3] @ down - start == pytest.approx(accelerated, rel=1e-6)
    assert d.qpos[:3] @ up == pytest.approx(0.05, abs=2e-6)
    assert d.nunsolved == 0


def test_a_cube_that_slides_flat_does_not_lift():
    """The box stops after v^2 / (2 mu g) - v h / 2, as a step uses the friction at its end."""
    m = rb.build(touching.free(rb.Box((0.1, 0.1, 0.1)), 1.0, rb.Surface(friction=MU)))
    d = touching.placed(m, (0.0, 0.0, 0.05))
    rb.step(m, d, 300)
    start, highest = d.qpos.copy(), 0.0
    d.qvel[0] = 6.0
    for _ in range(1500):
        rb.step(m, d, 1)
        highest = max(highest, d.qpos[2] - start[2])
    assert highest < 1e-9
    way = 36.0 / (2.0 * MU * G) - 6.0 * m.opt.timestep / 2.0
    assert d.qpos[0] - start[0] == pytest.approx(way, rel=1e-6)
    assert abs(d.qvel).max() < 1e-14


def test_a_load_below_the_friction_limit_moves_a_box_by_less_than_a_micrometre():
    m, d, _, _ = slope(0.0)
    rb.step(m, d, 500)
    start = d.qpos[:3].copy()
    d.qfrc_applied[0] = 0.9 * MU * 2.0 * G
    rb.step(m, d, 500)
    moved = d.qpos[0] - start[0]
    assert 0.0 < moved < 1e-6
    there = d.qpos.copy()
    rb.step(m, d, 500)
    assert d.qpos == pytest.approx(there, abs=1e-15)
    d.qfrc_applied[0] = 0.0
    rb.step(m, d, 500)
    # the box springs back, except for the slip of corners that carry less load
    assert d.qpos[0] - start[0] == pytest.approx(0.0, abs=0.2 * moved)


@robots.needs_robots
@pytest.mark.parametrize("name", ["go2.urdf", "anymal.urdf"])
def test_a_robot_that_has_fallen_lies_still(name):
    """The joints have no torque and no dry friction."""
    m = rb.load_urdf(robots.find(name), floating_base=True, strict=False, contact=True)
    d = rb.make_data(m)
    touching.lift(m, d, 0.2)
    rb.step(m, d, 39_000)  # Go2's damped joints settle with a time constant of 1.6 s
    before = d.qpos.copy()
    rb.step(m, d, 1000)
    assert abs(d.qpos[:3] - before[:3]).max() < 1e-9
    assert abs(d.qvel).max() < 1e-9
    assert d.contact_dist[: d.ncon].min() > -1e-5


def test_a_heavy_body_comes_to_rest_on_a_light_wheel():
    """A body of 100 kg falls on its own wheel of 10 g."""
    system = rb.SystemBuilder("cart", base="world")
    system.body("load", rb.shapes.box((0.4, 0.4, 0.2), mass=100.0))
    system.joint("slide", "prismatic", "world", "load", axis=(0, 0, 1))
    system.body("wheel", rb.shapes.sphere(0.02, mass=0.01))
    system.joint("axle", "revolute", "load", "wheel", axis=(0, 1, 0), xyz=(0, 0, -0.2))
    system.geometry("rim", "wheel", rb.Sphere(0.02))
    m = rb.build(system.floor())
    d = rb.make_data(m)
    d.qpos[0] = 0.5
    rb.step(m, d, 4000)
    assert d.nbad == 0
    assert abs(d.qvel).max() < 1e-6
    assert -1e-9 < d.contact_dist[0] < 0.0


@pytest.mark.parametrize("mass", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("h", [1e-4, 1e-2])
def test_bodies_of_any_mass_come_to_rest_with_any_timestep(mass, h):
    m = rb.build(touching.free(touching.CUBE, mass))
    m.opt.timestep = h
    turn = Rotation.from_euler("xyz", [0.4, 0.3, 0.2])
    d = touching.placed(m, (0, 0, 0.2), turn, (1, 0, 0), (0, 5, 1))
    rb.step(m, d, round(4.0 / h))
    assert abs(d.qvel).max() < 1e-9
    assert 0.1 - d.qpos[2] == pytest.approx(touching.sunk(h), rel=1e-3)


def test_a_rod_that_jams_loses_energy():
    """In Painleve's paradox, friction pushes the tip of a sliding rod into the floor.

    The forces grow until the tip stops, within one step, so a solution exists.
    """
    length, tilt = 1.0, 0.5
    inertia = rb.shapes.box((length, 0.01, 0.01), mass=1.0)
    tip = rb.Points(((-length / 2, 0.0, 0.0),))
    system = rb.SystemBuilder("rod", base="world").body("rod", inertia)
    system.joint("free", "floating", "world", "rod")
    system.geometry("tip", "rod", tip, surface=rb.Surface(friction=1.5))
    m = rb.build(system.floor())
    turn = Rotation.from_euler("y", -np.pi / 2 + tilt)
    d = touching.placed(m, (0, 0, 0.5 * length * np.cos(tilt)), turn, (-3.0, 0, 0))
    energy = states.energy(m, d)
    for _ in range(300):
        rb.step(m, d, 1)
        before, energy = energy, states.energy(m, d.copy())
        assert energy < before
    assert d.nunsolved == 0


@pytest.mark.parametrize("depth", [0.005, 0.1])
def test_a_body_that_starts_inside_the_floor_comes_out_slowly(depth):
    m = rb.build(touching.free(touching.CUBE, 1.0))
    d = touching.placed(m, (0, 0, 0.1 - depth))
    fastest = 0.0
    for _ in range(1000):
        rb.step(m, d, 1)
        fastest = max(fastest, d.qvel[2])
    assert fastest < 0.5
    assert d.qpos[2] == pytest.approx(0.1, abs=1e-5)
