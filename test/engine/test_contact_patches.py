# SPDX-License-Identifier: Apache-2.0
"""Friction of lines and faces acts as under even pressure, when bodies spin, roll or tip."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from support import touching

import rbdyn_ros as rb

G = touching.G
MASS = 2.0
ON_ITS_SIDE = Rotation.from_euler("x", np.pi / 2)


def of_rectangle(a, b):
    """Return the mean distance of a rectangle's points from its centre; a, b: half edges."""
    d = np.hypot(a, b)
    aside = a * a / (6.0 * b) * np.log((b + d) / a) + b * b / (6.0 * a) * np.log((a + d) / b)
    return d / 3.0 + aside


def of_octagon(radius):
    tan, sec = np.tan(np.pi / 8), 1.0 / np.cos(np.pi / 8)
    return radius / sec * (sec * tan + np.log(sec + tan)) / (3.0 * tan)


OCTAGON = rb.Points(
    tuple(
        (0.1 * np.cos(angle), 0.1 * np.sin(angle), z)
        for angle in np.pi / 4 * np.arange(8)
        for z in (-0.02, 0.02)
    )
)

#: Patches: shape, height of its centre [m], orientation, mean distance of the patch's points
#: from the patch's centre [m], relative tolerance.
PATCHES = {
    "disc": (rb.Cylinder(0.1, 0.04), 0.02, None, 0.2 / 3.0, 1e-6),
    "side of a cylinder": (rb.Cylinder(0.02, 0.3), 0.02, ON_ITS_SIDE, 0.3 / 4.0, 1e-6),
    "side of a capsule": (rb.Capsule(0.02, 0.3), 0.02, ON_ITS_SIDE, 0.3 / 4.0, 1e-6),
    "square": (touching.CUBE, 0.1, None, of_rectangle(0.1, 0.1), 0.002),
    "plate": (rb.Box((0.4, 0.2, 0.1)), 0.05, None, of_rectangle(0.2, 0.1), 0.012),
    "bar": (rb.Box((0.4, 0.01, 0.1)), 0.05, None, of_rectangle(0.2, 0.005), 0.012),
    "octagon": (OCTAGON, 0.02, None, of_octagon(0.1), 0.005),
}


@pytest.mark.parametrize(("h", "mu"), [(1e-4, 0.8), (1e-3, 0.2), (4e-3, 1.2)])
@pytest.mark.parametrize("patch", PATCHES)
def test_friction_brakes_a_spin_as_with_even_pressure(patch, h, mu):
    shape, height, turn, mean, near = PATCHES[patch]
    m = rb.build(touching.free(shape, MASS, rb.Surface(friction=mu)))
    m.opt.timestep = h
    d = touching.placed(m, (0.0, 0.0, height), turn)
    rb.step(m, d, 50)
    axes = d.xmat[1].reshape(3, 3)
    inertia = axes[2] @ rb.mass_matrix(m, d)[3:, 3:] @ axes[2]
    d.qvel[3:] = 50.0 * axes[2]
    rb.step(m, d, 20)
    most = mu * MASS * G * mean
    braked = (50.0 - d.xmat[1].reshape(3, 3)[2] @ d.qvel[3:]) / (20 * h)
    assert braked == pytest.approx(most / inertia, rel=near)
    assert d.nunsolved == 0
    x, f, t = d.contact_pos[: d.ncon], d.contact_force[: d.ncon], d.contact_torque[: d.ncon]
    torque = (np.cross(x - d.xpos[1], f) + t).sum(axis=0)
    assert torque[2] == pytest.approx(-most, rel=near)
    assert d.cfrc_contact[1, 2] == pytest.approx(torque[2], rel=1e-9)


def test_friction_between_two_discs_brakes_a_spin_as_with_even_pressure():
    """The discs touch at 8 points, a little inside their rims."""
    disc = rb.Cylinder(0.1, 0.04)
    parts = [
        rb.Object(name, disc, mass=1.0, pose=rb.pose((0.0, 0.0, z)),
                  surface=rb.Surface(friction=0.5))
        for name, z in (("lower", 0.02), ("upper", 0.06))
    ]  # fmt: skip
    m = rb.scene(objects=parts, floor=False)
    d = rb.make_data(m)
    m.opt.gravity = np.zeros(3)
    d.qfrc_applied[2], d.qfrc_applied[8] = 40.0, -40.0  # press the bodies together
    rb.step(m, d, 50)
    d.qvel[11] = 30.0
    rb.step(m, d, 10)
    braked = 0.5 * 40.0 * 0.2 / 3.0 / 0.005 * 0.01
    assert 30.0 - d.qvel[11] == pytest.approx(braked, rel=0.025)
    assert d.qvel[5] == pytest.approx(30.0 - d.qvel[11], rel=1e-9)


def differential_drive(width, track, radius=0.05):
    """Return Model and Data of a base on two wheels (`track` apart) and two frictionless balls."""
    system = rb.SystemBuilder("drive", base="world")
    system.body("base", rb.shapes.box((0.2, 0.2, 0.05), mass=5.0))
    system.joint("free", "floating", "world", "base")
    for name, y in (("left", 0.5 * track), ("right", -0.5 * track)):
        system.body(name, rb.shapes.sphere(radius, mass=0.3))
        system.joint(name, "continuous", "base", name, axis=(0, 1, 0), xyz=(0, y, 0))
        aside = rb.pose(rpy=(np.pi / 2, 0.0, 0.0))
        system.geometry(name, name, rb.Cylinder(radius, width), origin=aside)
    for name, x in (("front", 0.1), ("back", -0.1)):
        ball = rb.pose((x, 0.0, 0.02 - radius))
        slick = rb.Surface(friction=0.0)
        system.geometry(name, "base", rb.Sphere(0.02), origin=ball, surface=slick)
    m = rb.build(system.floor())
    d = rb.make_data(m)
    d.qpos[2] = radius
    return m, d


@pytest.mark.parametrize("h", [2.5e-4, 1e-3])
def test_wide_wheels_turn_in_place_about_the_middles_of_their_contact_lines(h):
    """A turning wheel of width L touches along a line, of which one point does not slip.

    With even pressure, friction brakes each turning line by mu N L / 4. Wheels at a distance T
    therefore need a thrust of twice this torque over T, which moves the point without slip
    outwards by L^2 / (4 T) (accurate to 1 %). If only the ends of the lines touched, the point
    would be at L / 2, and the base would turn by 3.99 instead of 4.38 rad.
    """
    width, track, radius, speed = 0.03, 0.3, 0.05, 0.33
    m, d = differential_drive(width, track, radius)
    m.opt.timestep = h
    rb.step(m, d, 50)
    way, yaw = 0.0, 0.0
    for _ in range(round(2.0 / h)):
        d.qfrc_applied[6:] = 0.2 * (np.array([-1.0, 1.0]) * speed / radius - d.qvel[6:])
        rb.step(m, d, 1)
        way += h * radius * 0.5 * (d.qvel[7] - d.qvel[6])
        yaw += h * d.qvel[5]
    right = way / (0.5 * track + width**2 / (4.0 * track))
    assert yaw == pytest.approx(right, rel=5e-3)
    assert yaw > 1.08 * way / (0.5 * track + 0.5 * width)
    assert abs(d.qvel[:2]).max() < 1e-6
    assert d.nunsolved == 0


def rate_of_tracks(length, width, gauge, speed):
    """Return the yaw rate [rad/s] of evenly loaded tracks, `gauge` apart, at opposite speeds."""
    x, y = np.meshgrid(
        length * ((np.arange(400) + 0.5) / 400 - 0.5), width * ((np.arange(60) + 0.5) / 60 - 0.5)
    )
    y = y + 0.5 * gauge

    def torque(w):
        along, aside = speed - w * y, w * x
        return np.mean((x * aside - y * along) / np.hypot(along, aside))

    return brentq(torque, 1e-6, 4.0 * speed / gauge)


@pytest.mark.parametrize(
    ("length", "width", "gauge"), [(0.4, 0.1, 0.4), (0.6, 0.1, 0.4), (0.4, 0.1, 0.6)]
)
def test_a_tracked_vehicle_turns_as_with_even_pressure(length, width, gauge):
    system = rb.SystemBuilder("tracks", base="world")
    system.body("hull", rb.shapes.box((length, gauge, 0.1), mass=10.0))
    system.joint("free", "floating", "world", "hull")
    for name, y in (("left", 0.5 * gauge), ("right", -0.5 * gauge)):
        origin = rb.pose((0.0, y, 0.0))
        system.geometry(name, "hull", rb.Box((length, width, 0.1)), origin=origin)
    m = rb.build(system.floor())
    belts = np.zeros_like(m.geom_velocity)
    belts[[m.geom_id("left"), m.geom_id("right")], 0] = 0.3, -0.3
    m = m.replaced(geom_velocity=belts)
    d = rb.make_data(m)
    d.qpos[2] = 0.05
    rb.step(m, d, 2000)
    right = rate_of_tracks(length, width, gauge, 0.3)
    assert abs(d.qvel[5]) == pytest.approx(right, rel=0.025)
    assert abs(d.qvel[:5]).max() < 1e-9


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_friction_holds_a_torque_below_its_limit_without_creep(share):
    m = rb.build(touching.free(touching.CUBE, MASS, rb.Surface(friction=0.5)))
    d = touching.placed(m, (0.0, 0.0, 0.1))
    rb.step(m, d, 100)
    most = 0.5 * MASS * G * of_rectangle(0.1, 0.1)
    d.qfrc_applied[5] = share * most
    rb.step(m, d, 500)
    before = d.qpos.copy()
    rb.step(m, d, 2000)
    assert d.qpos == pytest.approx(before, abs=1e-14)
    d.qfrc_applied[5] = 1.01 * most
    rb.step(m, d, 200)
    assert d.qvel[5] > 1e-3


@pytest.mark.parametrize("spin", [0.0, 0.5])
@pytest.mark.parametrize(("share", "tips"), [(0.995, False), (1.005, True)])
def test_a_box_tips_about_its_edge(share, tips, spin):
    """A push at the top tips the box before it slides, with and without a torque about z."""
    m = rb.build(touching.free(rb.Box((0.1, 0.1, 0.4)), MASS, rb.Surface(friction=1.0)))
    d = touching.placed(m, (0.0, 0.0, 0.2))
    rb.step(m, d, 100)
    push = share * MASS * G * 0.05 / 0.4
    d.qfrc_applied[[0, 4]] = push, 0.2 * push
    d.qfrc_applied[5] = spin * MASS * G * 0.02
    rb.step(m, d, 1500)
    assert (abs(d.qpos[5]) > 0.01) == tips
    assert tips or abs(d.qvel).max() < 1e-12


def test_friction_of_an_uneven_load_acts_at_the_centre_of_pressure():
    """A box whose centre of mass is off the middle slides straight and decelerates by mu g."""
    heavy = rb.shapes.box((0.2, 0.2, 0.1), mass=MASS, at=rb.pose((0.03, 0.04, 0.0)))
    system = rb.SystemBuilder("box", base="world").body("box", heavy)
    system.joint("free", "floating", "world", "box")
    system.geometry("skin", "box", rb.Box((0.4, 0.4, 0.1)), surface=rb.Surface(friction=0.4))
    m = rb.build(system.floor())
    d = touching.placed(m, (0.0, 0.0, 0.05))
    rb.step(m, d, 100)
    d.qvel[:2] = 1.2, -0.9
    rb.step(m, d, 200)
    assert np.hypot(*d.qvel[:2]) == pytest.approx(1.5 - 0.2 * 0.4 * G, rel=1e-6)
    assert abs(d.qvel[5]) < 1e-6


def test_a_single_contact_point_has_no_patch():
    for shape in (touching.BALL, touching.POINT):
        m = rb.build(touching.free(shape, 1.0))
        d = touching.placed(m, (0.0, 0.0, m.geom_rbound[0]), angular=(0.0, 0.0, 5.0))
        rb.step(m, d, 20)
        assert d.ncon == 1
        assert not d.contact_lever[0].any()
        assert not d.contact_torque[0].any()
        assert d.qvel[5] == pytest.approx(5.0, rel=1e-12)
