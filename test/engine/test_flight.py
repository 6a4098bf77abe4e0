# SPDX-License-Identifier: Apache-2.0
"""Bodies in flight keep their energy and momentum, and contact adds no energy."""

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import states, touching

import rbdyn_ros as rb
from rbdyn_ros.model.declared.options import INTEGRATORS

OFF_CENTRE = (0.1, 0.05, -0.02)
each_integrator = pytest.mark.parametrize("integrator", ["implicit_damping", "implicit_midpoint"])


def body(com=OFF_CENTRE):
    """Return a Model of a free body whose centre of mass is at `com` in the body's frame."""
    inertia = rb.shapes.box((0.1, 0.2, 0.3), mass=2.0, at=rb.pose(com, rpy=(0.4, 0.2, -0.9)))
    system = rb.SystemBuilder("free", base="world").body("body", inertia)
    return rb.build(system.joint("free", "floating", "world", "body", rpy=(0.3, -0.5, 0.7)))


def momentum(m, d):
    """Return total linear momentum, angular momentum about the world's origin, and energy."""
    d = d.copy()
    rb.forward(m, d)
    P, L, twice = np.zeros(3), np.zeros(3), 0.0
    for i in range(1, m.nbody):
        R, x = d.xmat[i].reshape(3, 3), d.xipos[i]
        xx, yy, zz, xy, xz, yz = m.body_fullinertia[i]
        J = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        w = d.cvel[i, :3]
        v = d.cvel[i, 3:] + np.cross(w, x - d.subtree_com[m.body_rootid[i]])
        P += m.body_mass[i] * v
        L += J @ w + np.cross(x, m.body_mass[i] * v)
        twice += w @ J @ w + m.body_mass[i] * v @ v
    return P, L, 0.5 * twice


def check_momentum(before, after):
    most = 1e-9 * max(np.linalg.norm(before[0]), np.linalg.norm(before[1]))
    for old, new in zip(before[:2], after[:2], strict=True):
        assert np.linalg.norm(new - old) < most


@each_integrator
@pytest.mark.parametrize("com", [(0.0, 0.0, 0.0), OFF_CENTRE])
@pytest.mark.parametrize("turn", [1e-9, 0.01, 0.3])
def test_a_tumbling_body_keeps_energy_and_momentum(turn, com, integrator):
    """Steps by Simo and Wong's equations conserve both, for 10,000 steps of up to 0.3 rad."""
    m = body(com)
    m.opt.gravity, m.opt.integrator = (0.0, 0.0, 0.0), integrator
    d = rb.make_data(m)
    d.qvel[:3] = 0.3, -0.2, 0.1
    d.qvel[3:] = (
        turn / m.opt.timestep * np.array([0.3, 0.9, 0.1]) / np.linalg.norm([0.3, 0.9, 0.1])
    )
    before = momentum(m, d)
    rb.step(m, d, 10_000)
    after = momentum(m, d)
    check_momentum(before, after)
    assert after[2] == pytest.approx(before[2], rel=1e-9)


def test_steps_in_flight_are_of_second_order():
    m = body()
    m.opt.gravity = 0.0, 0.0, 0.0

    def end(integrator, steps):
        m.opt.integrator, m.opt.timestep = integrator, 0.2 / steps
        d = rb.make_data(m)
        d.qvel[:] = 0.3, -0.2, 0.1, 2.0, 7.0, 1.0
        rb.step(m, d, steps)
        return np.array([*d.qpos, *d.qvel])

    truth = end("rk4", 2048)
    errors = [abs(end("implicit_damping", n) - truth).max() for n in (64, 128, 256)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.05)


def test_the_centre_of_mass_of_a_tumbling_body_falls_straight_down():
    """The centre of mass, away from the body's origin, makes Euler steps of free fall."""
    m = body()
    d = rb.make_data(m)
    d.qvel[3:] = 5.0, 20.0, 3.0
    rb.forward(m, d)
    R, start = d.xmat[1].reshape(3, 3), d.xipos[1].copy()
    d.qvel[:3] -= m.body_mat[1].reshape(3, 3).T @ R @ np.cross(d.qvel[3:], m.body_ipos[1])
    rb.step(m, d, 1000)
    rb.forward(m, d)
    h, n = m.opt.timestep, 1000
    assert d.xipos[1] - start == pytest.approx([0.0, 0.0, -9.81 * h * h * n * (n + 1) / 2])


@pytest.mark.parametrize(("restitution", "seed"), [(0.5, 4), (0.5, 8), (0.9, 0), (0.9, 5)])
def test_a_steel_part_that_bounces_gains_no_energy(restitution, seed):
    """The part is a box of 3 x 6 x 20 mm, which leaves the floor with more than 100 rad/s."""
    size = np.array([0.003, 0.006, 0.020])
    surface = rb.Surface(restitution=restitution)
    m = rb.build(touching.free(rb.Box(tuple(size)), 7850 * np.prod(size), surface))
    d = touching.placed(m, [0.0, 0.0, 0.5], Rotation.random(random_state=seed))
    start, fastest = states.energy(m, d.copy()), 0.0
    with warnings.catch_warnings():
        # the part turns by more than 0.5 rad in a step, which causes a warning
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(100):
            rb.step(m, d, 5)
            assert states.energy(m, d.copy()) < start
            fastest = max(fastest, np.linalg.norm(d.qvel[3:]))
    assert fastest > 100.0


# the part may turn by more than 0.5 rad in a step, which causes a warning
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_an_elastic_impact_of_a_spinning_part_adds_no_energy(integrator, friction):
    """The part turns by 0.2 rad in a step; gyroscopic torque in impacts would add up to 160 %."""
    part, impacts = rb.Box((0.003, 0.006, 0.020)), 0
    m = rb.build(touching.free(part, 0.003, rb.Surface(restitution=1.0, friction=friction)))
    m.opt.gravity, m.opt.integrator = (0.0, 0.0, 0.0), integrator
    for seed in range(8):
        spin = 120.0 * np.random.default_rng(seed).normal(size=3)
        turn = Rotation.random(random_state=seed)
        d = touching.placed(m, (0.0, 0.0, 0.015), turn, (0.0, 0.0, -2.0), spin)
        for _ in range(25):
            before, rate = states.energy(m, d.copy()), d.qvel.copy()
            rb.step(m, d)
            if d.ncon > 0 and abs(d.contact_force[: d.ncon]).max() > 0.0:
                assert states.energy(m, d.copy()) < (1.0 + 1e-5) * before
                impacts += abs(d.qvel - rate).max() > 0.1
        assert d.nunsolved == 0
    assert impacts > 8


def linked(held):
    """Return a Model of two elastic boxes, attached to each other if `held`, else hinged."""
    size, skin = (0.1, 0.2, 0.3), rb.Surface(restitution=1.0, friction=0.0)
    if held:
        boxes = [
            rb.Object(name, rb.Box(size), mass=1.0, pose=rb.pose((0.0, y, 0.6)), surface=skin)
            for name, y in (("a", 0.0), ("b", 0.21))
        ]
        m = rb.scene(objects=boxes)
        m, _ = rb.attach(m, rb.make_data(m), "b", "a")
    else:
        system = rb.SystemBuilder("two", base="world").floor()
        for name, mass in (("a", 1.0), ("b", 0.7)):
            system.body(name, rb.shapes.box(size, mass=mass))
            system.geometry(f"{name} skin", name, rb.Box(size), surface=skin)
        system.joint("free", "floating", "world", "a")
        system.joint("hinge", "revolute", "a", "b", xyz=(0.0, 0.12, 0.2), axis=(0.3, 1.0, 0.2))
        m = rb.build(system)
    m.opt.gravity = 0.0, 0.0, 0.0
    return m


def thrown(m, held, speed, seed):
    """Return Data in which two boxes fall and rotate about a random axis at `speed` [rad/s]."""
    rng, turn = np.random.default_rng(seed), Rotation.random(random_state=seed)
    d, w = rb.make_data(m), rng.normal(size=3)
    w *= speed / np.linalg.norm(w)
    for n in range(2 if held else 1):
        arm = turn.apply((0.0, 0.21 * n - 0.105 * held, 0.0))
        d.qpos[7 * n : 7 * n + 7] = *(np.array([0.0, 0.0, 0.6]) + arm), *touching.wxyz(turn)
        d.qvel[6 * n : 6 * n + 3] = np.array([0.0, 0.0, -0.1 * speed]) + np.cross(w, arm)
        d.qvel[6 * n + 3 : 6 * n + 6] = turn.inv().apply(w)
    if not held:
        d.qpos[7], d.qvel[6] = rng.uniform(-1.0, 1.0), speed * rng.uniform(-1.0, 1.0)
    return d


@pytest.mark.parametrize(
    ("held", "integrator"), [(True, "implicit_damping"), *((False, name) for name in INTEGRATORS)]
)
def test_an_elastic_impact_of_a_spinning_two_link_robot_adds_no_energy(held, integrator):
    """The robot turns by 0.03 rad in a step; Coriolis forces in impacts once added up to 2 %."""
    m, impacts, speed = linked(held), 0, 30.0
    m.opt.integrator = integrator
    for seed in range(12):
        d = thrown(m, held, speed, seed)
        after = states.energy(m, d.copy())
        for _ in range(200):
            before, rate = after, d.qvel.copy()
            rb.step(m, d)
            after = states.energy(m, d.copy())
            hit = d.ncon > 0 and abs(d.contact_force[: d.ncon]).max() > 0.0
            if hit and abs(d.qvel - rate).max() > 0.05 * speed:
                assert after < (1.0 + (m.opt.timestep * speed) ** 2) * before
                impacts += 1
    assert d.nunsolved == 0
    assert impacts > 6


def in_space(friction=0.5, restitution=0.3):
    """Return a Model of two free boxes, without gravity and without a floor."""
    skin = rb.Surface(friction=friction, restitution=restitution)
    objects = [
        rb.Object(name, rb.Box((0.1, 0.2, 0.3)), mass=mass, surface=skin, pose=rb.pose(place))
        for name, mass, place in (("one", 1.0, (0, 0, 0)), ("two", 3.0, (0.5, 0.02, 0.03)))
    ]
    m = rb.scene(objects=objects, floor=False)
    m.opt.gravity = 0.0, 0.0, 0.0
    return m


def test_bodies_that_collide_in_space_keep_their_momentum():
    m = in_space()
    d = rb.make_data(m)
    d.qvel[:6] = 1.5, 0.1, 0.0, 5.0, 20.0, 3.0
    d.qvel[9:] = -3.0, 9.0, 1.0
    before, touched = momentum(m, d), 0
    for _ in range(500):
        rb.step(m, d)
        touched += d.ncon > 0 and d.contact_force[: d.ncon].any()
    after = momentum(m, d)
    assert touched > 0
    check_momentum(before, after)
    assert after[2] < before[2]


def test_a_body_tumbles_the_same_while_other_bodies_touch():
    """A contact between other bodies changes the motion by at most 1e-12."""
    shape, ends = rb.Box((0.1, 0.2, 0.3)), []
    for low in (0.05, 1.0):
        objects = [
            rb.Object("flies", shape, mass=1.0, pose=rb.pose((0.0, 0.0, 3.0))),
            rb.Object("slides", rb.Sphere(0.05), mass=1.0, pose=rb.pose((1.0, 0.0, low))),
        ]
        m = rb.scene(objects=objects)
        d = rb.make_data(m)
        d.qvel[:] = 0.1, 0.2, 0.0, 30.0, 90.0, 10.0, *(1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        rb.step(m, d, 200)
        assert (d.ncon > 0) == (low == 0.05)
        ends.append([*d.qpos[:7], *d.qvel[:6]])
    assert ends[0] == pytest.approx(ends[1], rel=1e-12, abs=1e-12)


def test_rk4_keeps_its_order_while_other_bodies_touch():
    """Only the ball on the floor makes Euler steps; a pendulum and a free ball do not."""
    arm = rb.SystemBuilder("arm", base="ground")
    rod = rb.shapes.box((0.03, 0.03, 0.3), mass=1.0, at=rb.pose((0.0, 0.0, -0.15)))
    arm.body("upper", rod).body("lower", rod)
    arm.joint("A", "revolute", "ground", "upper", xyz=(0, 0, 5), axis=(0, 1, 0))
    arm.joint("B", "revolute", "upper", "lower", xyz=(0, 0, -0.3), axis=(0, 1, 0))
    ends = []
    for low in (0.05, 1.0):
        objects = [
            rb.Object("flies", rb.Sphere(0.05), mass=1.0, pose=rb.pose((3.0, 0.0, 3.0))),
            rb.Object("slides", rb.Sphere(0.05), mass=1.0, pose=rb.pose((1.0, 0.0, low))),
        ]
        m = rb.scene({"arm": arm}, objects=objects)
        m.opt.integrator = "rk4"
        d = rb.make_data(m)
        d.qpos[:2], d.qvel[-6] = (1.0, 2.0), 0.5
        rb.step(m, d, 200)
        assert (d.ncon > 0) == (low == 0.05)
        ends.append([*d.qpos[:9], *d.qvel[:8]])
    assert ends[0] == pytest.approx(ends[1], rel=1e-12, abs=1e-12)


def jumper():
    """Return a Model of a free trunk with two legs of two links each, and a ball."""
    rod = rb.shapes.box((0.05, 0.05, 0.3), mass=0.5, at=rb.pose((0.0, 0.02, -0.15)))
    robot = rb.SystemBuilder("jumper", base="trunk")
    robot.body("trunk", rb.shapes.box((0.4, 0.2, 0.1), mass=4.0, at=rb.pose((0.05, 0.0, 0.02))))
    robot.geometry("trunk", "trunk", rb.Box((0.4, 0.2, 0.1)))
    for side, x in (("left", 0.2), ("right", -0.2)):
        robot.body(f"{side}_thigh", rod).body(f"{side}_shin", rod)
        robot.joint(
            f"{side}_hip", "revolute", "trunk", f"{side}_thigh", xyz=(x, 0, 0), axis=(0, 1, 0)
        )
        robot.joint(
            f"{side}_knee", "revolute", f"{side}_thigh", f"{side}_shin",
            xyz=(0, 0, -0.3), axis=(0.6, 0.8, 0),
        )  # fmt: skip
    ball = rb.Object("ball", rb.Sphere(0.1), mass=1.0, pose=rb.pose((0.0, 0.5, 0.01)))
    m = rb.scene({"it": rb.Placed(robot, floating_base=True)}, objects=[ball], floor=False)
    m.opt.gravity = 0.0, 0.0, 0.0
    return m


@pytest.mark.parametrize("integrator", ["rk4", "implicit_midpoint"])
def test_a_robot_hit_by_a_ball_keeps_its_momentum(integrator):
    """As in SimBenchmark's momentum test, a ball hits a floating robot, with steps of 1 ms."""
    m = jumper()
    m.opt.integrator = integrator
    d = rb.make_data(m)
    d.qvel[:10] = 0.1, 0.0, 0.2, 1.0, 2.0, -1.0, 3.0, -2.0, 1.0, 4.0
    d.qvel[-6:-3] = 0.0, -4.0, 0.0
    before, touched = momentum(m, d), 0
    for _ in range(300):
        rb.step(m, d)
        touched += d.ncon > 0 and d.contact_force[: d.ncon].any()
    assert touched > 0
    check_momentum(before, momentum(m, d))


def test_specialised_steps_and_derivatives_agree_with_the_engine_in_flight():
    m = body()
    fast = rb.specialize(m, ["step", "step_derivatives"])
    d = rb.make_data(m)
    d.qvel[:] = 0.3, -0.2, 0.1, 20.0, 70.0, 10.0
    d.qfrc_applied[:] = 1.0, 2.0, 3.0, 0.4, 0.5, 0.6
    twin = d.copy()
    rb.step(m, d, 50)
    for _ in range(50):
        fast.step(twin)
    assert twin.qpos == pytest.approx(d.qpos, rel=1e-9, abs=1e-9)
    assert twin.qvel == pytest.approx(d.qvel, rel=1e-9, abs=1e-9)
    by_state, _by_force = fast.step_derivatives(d)
    for k in range(6):
        ends = []
        for change in (1e-6, -1e-6):
            moved = d.copy()
            moved.qvel[k] += change
            rb.step(m, moved)
            ends.append(moved.qvel.copy())
        slope = (ends[0] - ends[1]) / 2e-6
        assert by_state[6:, 6 + k] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_a_body_that_turns_too_fast_causes_one_warning_with_its_name():
    m = in_space()
    d = rb.make_data(m)
    d.qvel[9:] = 0.0, 0.0, 600.0
    with pytest.warns(RuntimeWarning, match=r"'two' turns at 600 rad/s, by 0.6 rad .* 0\.00083 s"):
        rb.step(m, d)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rb.step(m, d, 2)
    assert d.nfast == 2


def test_a_body_whose_state_becomes_nan_causes_one_warning_with_its_name():
    m = in_space()
    d = rb.make_data(m)
    d.xfrc_applied[2, 0] = np.nan
    with pytest.warns(RuntimeWarning, match="'two' is no longer .* xfrc_applied is not finite"):
        rb.step(m, d)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rb.step(m, d)
    assert d.nlost == 2
