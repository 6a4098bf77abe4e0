# SPDX-License-Identifier: Apache-2.0
"""The force at a contact point follows the contact law, and bodies get the sums of forces."""

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots, touching

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.law.contact_constants import DEEPEST, STICK, STIFF
from rbdyn_ros.engine.contact.solve.linearise import linearise_viscous
from rbdyn_ros.share import bundled_robot

MASS = 2.0
WEIGHT = MASS * touching.G
T, Z = 0.01, 0.7  # time constant [s] and damping ratio of most tests
K = MASS / (T * Z) ** 2  # 40816 N/m, above the lower bound WEIGHT / DEEPEST
B = 2.0 * Z * np.sqrt(K * MASS)
RNG = np.random.default_rng(5)


#: A timestep so short that a step has the force of continuous time, with an error of order h.
SHORT = 1e-8
FIRST_ORDER = 1e-6


def point(obstacle_friction=np.inf, height=0.0, h=SHORT, **surface):
    """Return a Model of a body of 2 kg, whose only contact point is its com, above a floor."""
    skin = rb.Surface(**({"time_constant": T, "damping_ratio": Z, "friction": 0.5} | surface))
    system = touching.free(touching.POINT, MASS, skin, floor=False)
    m = rb.build(system.floor(height, obstacle_friction))
    m.opt.timestep = h
    return m


def force(m, depth, velocity=(0.0, 0.0, 0.0), pos=(0.3, -0.2)):
    """Return the contact force on a point at a depth [m] in a floor at z = 0, for qacc = 0."""
    d = touching.placed(m, (*pos, -depth), linear=velocity)
    rb.inverse(m, d)
    assert d.ncon == 1
    assert d.contact_dist[0] == pytest.approx(-depth, rel=1e-14)
    assert d.contact_pos[0] == pytest.approx([*pos, -depth], rel=1e-14)
    return d.contact_force[0]


def test_the_effective_mass_of_a_point_mass_is_its_mass():
    assert point().geom_mass0[0] == pytest.approx(MASS, rel=1e-14)


@pytest.mark.parametrize("depth", [1e-6, 1e-4, 0.02])
@pytest.mark.parametrize("leaving", [-3.0, -0.01, 0.0, 0.001, 0.1, 3.0])
def test_the_normal_force_is_the_force_of_a_spring_and_a_damper(depth, leaving):
    """The force is k depth - b v, but never negative."""
    f = force(point(), depth, (0.0, 0.0, leaving))
    expected = [0.0, 0.0, max(0.0, K * depth - B * leaving)]
    assert f == pytest.approx(expected, rel=FIRST_ORDER, abs=FIRST_ORDER)


def test_contact_never_pulls():
    assert K * 1e-4 - B * 0.1 < 0.0, "the spring and damper must pull here"
    assert K * 0.02 - B * 0.1 > 0.0
    f = force(point(), 1e-4, (1.0, 0.0, 0.1))
    assert np.array_equal(abs(f), np.zeros(3))


def test_a_point_above_the_floor_has_no_force():
    """A gap below 20 um could close in the step, so its contact is listed, without a force."""
    m = point(h=0.001)
    for height in (1e-12, 1.9e-5, 2.1e-5, 0.1):
        d = touching.placed(m, (0.0, 0.0, height))
        m.opt.gravity = (0.0, 0.0, 0.0)  # else gravity closes the gap
        rb.forward(m, d)
        assert d.ncon == (height < 2e-5)
        assert not d.cfrc_contact.any()
        assert not d.qfrc_contact.any()
        assert not d.qacc.any()


@pytest.mark.parametrize("h", [0.05, 0.1])
def test_time_constants_of_contacts_have_a_lower_bound(h):
    m = point(h=h)
    m.opt.gravity = (0.0, 0.0, 0.0)  # else the weight makes the spring stiffer
    assert force(m, 0.01)[2] == pytest.approx(MASS / (h / np.pi * Z) ** 2 * 0.01, rel=1e-12)


def test_a_contact_is_nearly_rigid_by_default():
    m = rb.build(touching.free(touching.POINT, MASS))
    k = WEIGHT / touching.sunk(m.opt.timestep)
    assert force(m, 1e-6)[2] == pytest.approx(k * 1e-6, rel=1e-12)
    slope = STIFF * MASS / m.opt.timestep
    assert force(m, 1e-9, (0, 0, -1e-6))[2] == pytest.approx(k * 1e-9 + slope * 1e-6, rel=1e-12)


def test_a_robot_sinks_by_a_millimetre_at_most():
    """For a long time constant the stiffness is raised, with the same damping ratio."""
    m = point(time_constant=1.0)
    k = WEIGHT / DEEPEST
    assert force(m, DEEPEST)[2] == pytest.approx(WEIGHT, rel=1e-12)
    b = 2.0 * Z * np.sqrt(k * MASS)
    assert force(m, 1e-3, (0, 0, -0.1))[2] == pytest.approx(WEIGHT + 0.1 * b, rel=1e-12)
    m.opt.gravity = (0.0, 3.0, -4.0)
    assert force(m, 1e-3)[2] == pytest.approx(5.0 * MASS, rel=1e-12)
    m.opt.gravity = (0.0, 0.0, 0.0)
    assert force(m, 1e-3)[2] == pytest.approx(MASS / Z**2 * 1e-3, rel=1e-12)


def test_a_contact_can_carry_the_weight_of_the_whole_tree():
    """A light finger may have to carry its robot, so the robot's weight bounds the stiffness."""
    system = touching.free(touching.POINT, 0.01, rb.Surface(time_constant=1.0))
    system.body("torso", rb.shapes.box((0.1, 0.1, 0.1), mass=30.0))
    system.joint("stop", "prismatic", "body", "torso", axis=(0, 0, 1))
    m = rb.build(system)
    d = touching.placed(m, (0.0, 0.0, -1e-3))
    rb.inverse(m, d)
    assert d.contact_force[0, 2] == pytest.approx(30.01 * touching.G, rel=1e-12)


def test_a_contact_has_the_given_stiffness_and_damping():
    m = point(stiffness=1234.0, damping=56.0)
    assert force(m, 0.01, (0, 0, -0.1))[2] == pytest.approx(12.34 + 5.6, rel=1e-13)
    soft = point(stiffness=1.0)  # a given stiffness has no lower bound
    b = 2.0 * Z * np.sqrt(MASS)
    assert force(soft, 0.01, (0, 0, -0.1))[2] == pytest.approx(0.01 + 0.1 * b, rel=1e-13)
    damped = point(damping=7.0)
    assert force(damped, 0.01, (0, 0, -0.1))[2] == pytest.approx(K * 0.01 + 0.7, rel=1e-13)


@pytest.mark.parametrize("speed", [0.0, 1e-9, 1e-4, 2e-3, 0.01, 5.0])
def test_friction_follows_coulombs_law(speed):
    """Without memory, friction on a slow point is STICK m v / h, where m v is its momentum."""
    along = np.array([0.6, -0.8])
    m = point()
    f = force(m, 0.001, (*(speed * along), -0.02))
    normal = K * 0.001 + 0.02 * B
    assert f[2] == pytest.approx(normal, rel=1e-12)
    wanted = STICK * MASS / m.opt.timestep * speed
    assert f[:2] == pytest.approx(-min(wanted, 0.5 * normal) * along, rel=1e-12, abs=1e-15)


def test_friction_stays_in_the_cone_and_never_accelerates_the_slip():
    m = point()
    for _ in range(200):
        v = RNG.normal(size=3) * 10.0 ** RNG.uniform(-6, 1)
        f = force(m, 10.0 ** RNG.uniform(-6, -2), v)
        assert np.hypot(*f[:2]) <= 0.5 * f[2] * (1 + 1e-14)
        assert f[:2] @ v[:2] <= 0.0


@pytest.mark.parametrize(
    ("own", "other", "holds"),
    [(0.5, 0.2, 0.2), (0.5, 0.9, 0.5), (0.5, np.inf, 0.5), (0.0, 1.0, 0.0)],
)
def test_the_smaller_friction_coefficient_applies(own, other, holds):
    f = force(point(other, friction=own), 0.001, (1.0, 0.0, 0.0))
    assert f[0] == pytest.approx(-holds * K * 0.001, rel=1e-12)


def test_viscous_friction_replaces_coulomb_friction():
    """Viscous friction does not depend on the normal force (Kajita, section 6.3.4)."""
    m = point(viscosity=30.0, friction=0.0)
    for v in ((0.5, -0.2, -0.1), (0.5, -0.2, 0.0), (1e-6, 2e-6, 5.0)):
        f = force(m, 0.001, v)
        assert f[:2] == pytest.approx([-30.0 * v[0], -30.0 * v[1]], rel=1e-12)
        assert f[2] == pytest.approx(max(0.0, K * 0.001 - B * v[2]), rel=1e-12)


@pytest.mark.parametrize(
    ("speed", "lagged", "viscosity"),
    [(0.0, 3.0, STICK * MASS / 0.001), (0.0, 0.0, 0.0), (0.6, 3.0, 2.5), (0.6, 0.0, 0.0)],
)
def test_linearised_viscous_friction_has_the_documented_viscosity(speed, lagged, viscosity):
    m = point(h=0.001)
    d = touching.placed(m, (0.0, 0.0, -0.001))
    rb.step(m, d)
    d.contact_vel[0], d.contact_lagged[0, 0] = (speed, 0.0, 0.0, 0.0), lagged
    linearise_viscous(m, d)
    assert d.contact_force_slope[0, 1] == pytest.approx(viscosity, rel=1e-15)
    assert d.contact_load[0, :2] == pytest.approx([-viscosity * speed, 0.0], rel=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_contact_forces_rotate_with_the_scene(seed):
    """A scene on a tilted and shifted plane equals the scene on the floor in other coordinates."""
    R = Rotation.random(random_state=seed)
    shift = np.random.default_rng(seed).uniform(-2, 2, 3)
    skin = rb.Surface(friction=0.4)
    level = rb.build(touching.free(touching.CUBE, MASS, skin))
    plane = rb.Pose(tuple(shift), tuple(touching.wxyz(R)))
    system = touching.free(touching.CUBE, MASS, skin, floor=False)
    tilted = rb.build(system.obstacle("slope", rb.Plane(), origin=plane))
    tilted.opt.gravity = R.apply(level.opt.gravity)
    pos, turn = np.array([0.2, 0.1, 0.07]), Rotation.from_euler("xyz", [0.1, 0.2, 0.3])
    linear, angular = np.array([0.3, -0.2, -0.1]), (0.3, -1.0, 0.5)
    here = touching.placed(level, pos, turn, linear, angular)
    there = touching.placed(tilted, shift + R.apply(pos), R * turn, R.apply(linear), angular)
    rb.inverse(level, here)  # with qacc = 0
    rb.inverse(tilted, there)
    assert here.ncon == there.ncon == 3
    n = here.ncon
    # depths are differences of coordinates of 2 m, which have rounding errors of 1e-14
    assert there.contact_normal[:n] == pytest.approx(
        np.tile(R.as_matrix()[:, 2], (n, 1)), abs=1e-14
    )
    assert there.contact_dist[:n] == pytest.approx(here.contact_dist[:n], abs=1e-14)
    assert there.contact_pos[:n] == pytest.approx(shift + R.apply(here.contact_pos[:n]), abs=1e-14)
    assert there.contact_force[:n] == pytest.approx(R.apply(here.contact_force[:n]), rel=1e-11)
    force, moment = np.split(here.qfrc_inverse, 2)
    assert there.qfrc_inverse[:3] == pytest.approx(R.apply(force), rel=1e-10)
    assert there.qfrc_inverse[3:] == pytest.approx(moment, abs=1e-10 * np.abs(force).max())


@pytest.mark.parametrize("height", [-3.0, 0.25, 100.0])
def test_the_force_depends_on_the_depth_below_a_floor_of_any_height(height):
    m = point(height=height)
    d = touching.placed(m, (0.0, 0.0, height - 2.0**-10))
    rb.inverse(m, d)
    assert d.contact_force[0, 2] == pytest.approx(K * 2.0**-10, rel=1e-12)
    d.qpos[2] = height + 1e-3
    rb.forward(m, d)
    assert d.ncon == 0


def sums(m, d):
    """Return cfrc_contact and qfrc_contact as sums of the listed contact forces."""
    cfrc, qfrc = np.zeros_like(d.cfrc_contact), np.zeros(m.nv)
    for n, (_, _, x, _, _, f) in enumerate(touching.contacts(d)):
        t = d.contact_torque[n]
        for g, force, torque in zip(d.contact_geom[n], (-f, f), (-t, t), strict=True):
            i = m.geom_bodyid[g]
            if i > 0:
                arm = x - d.subtree_com[m.body_rootid[i]]
                cfrc[i] += [*np.cross(arm, force) + torque, *force]
                J = rb.frame_jacobian(m, d, m.body_names[i], "world")
                qfrc += J.T @ [*np.cross(x, force) + torque, *force]
    return cfrc, qfrc


def fallen(name, seconds=0.32, **more):
    """Return the Model and Data of a robot `seconds` after its fall from 5 cm has begun."""
    m = rb.load_urdf(robots.find(name), floating_base=True, strict=False, contact=True, **more)
    d = rb.make_data(m)
    d.qvel[3:] = np.random.default_rng(1).uniform(-0.5, 0.5, m.nv - 3)
    touching.lift(m, d, 0.05)
    rb.step(m, d, round(seconds / m.opt.timestep))
    rb.forward(m, d)
    return m, d


@robots.needs_robots
@pytest.mark.parametrize("name", ["go2.urdf", "talos_reduced.urdf", "panda.urdf"])
def test_cfrc_contact_and_qfrc_contact_sum_all_contacts(name):
    """In the Panda the second finger mimics the first, so both forces act on one dof."""
    m, d = fallen(name, 0.7)
    for _ in range(500):  # the robot may be in the air after a bounce
        if abs(d.qfrc_contact).max() > 1.0:
            break
        rb.step(m, d, 1)
        rb.forward(m, d)
    assert 0 < d.ncon <= m.ncontact
    cfrc, qfrc = sums(m, d)
    scale = abs(cfrc).max()
    assert d.cfrc_contact == pytest.approx(cfrc, abs=1e-13 * scale)
    assert d.qfrc_contact == pytest.approx(qfrc, abs=1e-12 * scale)
    assert abs(qfrc).max() > 1.0


def test_contacts_that_do_not_fit_are_dropped_and_counted():
    """The first contacts, by geometry, obstacle and corner, are kept."""
    side = np.linspace(-1.0, 1.0, 40)
    corners = tuple((x, y, 0.0) for x in side for y in side)
    surface = rb.Surface(stiffness=100.0)
    m = rb.build(touching.free(rb.Points(corners), MASS, surface))
    assert m.ncontact == 1000
    d = touching.placed(m, (0.0, 0.0, -0.01))
    rb.inverse(m, d)
    assert d.ncon == 1000
    assert d.ndropped == 600
    assert np.array_equal(d.contact_pos[:, :2], np.array(corners)[:1000, :2])
    assert d.contact_force == pytest.approx(np.tile([0.0, 0.0, 1.0], (1000, 1)), rel=1e-12)
    assert d.cfrc_contact[1, 5] == pytest.approx(1000.0, rel=1e-12)
    rb.step(m, d, 2)
    assert np.isfinite(d.qvel).all()


def test_a_robot_without_geometries_causes_no_warning_about_contacts():
    """Data starts with a nonzero count of dropped contacts, which no kernel resets."""
    m = rb.load_urdf(bundled_robot("pendulum"))
    d = rb.make_data(m)
    d.buffer.view(np.int64)[m.data_offsets["ndropped"]] = 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rb.step(m, d)


def test_two_obstacles_touch_two_geometries():
    """Each of the four pairs has a contact; contacts are ordered by geometry, then by obstacle."""
    skin = rb.Surface(stiffness=1000.0)
    system = touching.free(touching.POINT, MASS, skin)
    system.geometry("ball", "body", rb.Sphere(0.1), origin=rb.pose((0, 0, 0.05)), surface=skin)
    m = rb.build(system.obstacle("wall", rb.Plane(), origin=rb.pose(rpy=(0, np.pi / 2, 0))))
    d = touching.placed(m, (-0.01, 0.0, -0.02))
    rb.inverse(m, d)
    found = [(g, o, dist) for g, o, _, _, dist, _ in touching.contacts(d)]
    names = [(m.geom_names[g], m.geom_names[m.ngeomlink + o]) for g, o, _ in found]
    assert names == [("skin", "floor"), ("skin", "wall"), ("ball", "floor"), ("ball", "wall")]
    assert [x[2] for x in found] == pytest.approx([-0.02, -0.01, -0.07, -0.11], rel=1e-12)
    # the wall's z axis is the world's x axis
    total = d.cfrc_contact[1, 3:]
    assert total == pytest.approx([120.0, 0.0, 90.0], rel=1e-12)
