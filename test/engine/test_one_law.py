# SPDX-License-Identifier: Apache-2.0
"""forward, step and inverse agree on the forces and the acceleration of the next step."""

import numpy as np
import pytest
from support import contact_scenes, forests, mechanisms
from support.one_law import assert_balance, assert_one_answer, missing_force

import rbdyn_ros as rb

G = 9.81

# regressions: each test failed in an earlier version


def test_friction_holds_a_joint_already_in_a_new_data():
    m = rb.build(
        rb.SystemBuilder("rod")
        .body("rod", rb.shapes.sphere(0.05, mass=1.0, at=rb.pose((0.2, 0.0, 0.0))))
        .joint("hinge", "revolute", "base", "rod", axis=(0, 1, 0), friction=5.0)
    )
    d = rb.make_data(m)
    before = assert_one_answer(m, d)
    assert before.qacc[0] == 0.0
    rb.joint_forces(m, before)
    assert np.linalg.norm(before.jnt_bearing[0, 3:]) == pytest.approx(G, rel=1e-12)
    assert_balance(m, before)


@pytest.mark.parametrize("name", contact_scenes.SCENES)
def test_forward_gives_the_acceleration_of_the_next_step_in_all_scenes(name):
    m, d, steps = contact_scenes.started(name)
    rng, applied = np.random.default_rng(0), d.qfrc_applied.copy()
    for n in range(12):
        before = assert_one_answer(m, d)
        assert_balance(m, before)
        d.qfrc_applied[:] = applied + rng.normal(size=m.nv) * (n % 3) * 0.1
        d.xfrc_applied[1:, :3] = rng.normal(size=(m.nbody - 1, 3)) * (n % 2)
        before = assert_one_answer(m, d)
        assert_balance(m, before)
        d.qfrc_applied[:] = applied
        d.xfrc_applied[:] = 0.0
        rb.step(m, d, steps // 12)


@pytest.mark.parametrize("pressed", [0.0, 5.0])
def test_a_floor_carries_a_box_already_in_a_new_data(pressed):
    box = rb.Object("box", rb.Box((0.2, 0.2, 0.2)), mass=1.0, pose=rb.pose((0, 0, 0.1)))
    m = rb.scene(objects=[box])
    d = rb.make_data(m)
    d.xfrc_applied[1, 2] = -pressed
    before = assert_one_answer(m, d)
    # in the first step a near-rigid contact yields by one part in 3e4
    assert before.qacc == pytest.approx(np.zeros(6), abs=1e-4 * (G + pressed))
    assert before.cfrc_contact[1, 5] == pytest.approx(G + pressed, rel=1e-4)
    assert_balance(m, before)


def test_frame_acceleration_equals_the_acceleration_of_the_next_step():
    """The frame of a box on a floor does not fall, even after a reset and with a new push."""
    box = rb.Object("box", rb.Box((0.2, 0.2, 0.2)), mass=1.0, pose=rb.pose((0, 0, 0.1)))
    m = rb.scene(objects=[box])
    d = rb.make_data(m)
    rb.step(m, d, 100)
    rb.reset_data(m, d)
    for push in (0.0, 20.0):
        d.xfrc_applied[1, 0] = push
        rb.forward(m, d)
        after = d.copy()
        rb.step(m, after)
        linear = rb.frame_acceleration(m, d, "box", "local_world_aligned")[3:]
        assert linear == pytest.approx((after.qvel - d.qvel)[:3] / m.opt.timestep, abs=1e-9)
        assert abs(linear[2]) < 1e-3
        assert d.qfrc_contact[2] == pytest.approx(G, rel=1e-4)


def test_the_drive_of_a_piston_exerts_the_force_of_its_impact_on_a_box():
    """The impulse of the drive is the momentum of the box."""
    brick = rb.shapes.box((0.1,) * 3, mass=2.0)
    system = rb.SystemBuilder("press", base="world").body("piston", brick)
    system.joint("slide", "prismatic", "world", "piston", axis=(1, 0, 0), xyz=(0, 0, 1))
    system.geometry("face", "piston", rb.Box((0.1, 0.1, 0.1)))
    m = rb.scene(
        system,
        [rb.Object("box", rb.Box((0.1,) * 3), mass=1.0, pose=rb.pose((0.101, 0, 1)))],
    )
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    rb.set_drive(m, d, "slide", "velocity", 0.2)
    slide = m.jnt_dofadr[m.jnt_id("slide")]
    d.qvel[slide], impulse, largest = 0.2, 0.0, 0.0
    for _ in range(100):
        before = assert_one_answer(m, d)
        assert_balance(m, before)
        rb.step(m, d)
        impulse += d.qfrc_drive[slide] * m.opt.timestep
        largest = max(largest, d.qfrc_drive[slide])
        touched = -d.cfrc_contact[m.jnt_bodyid[m.jnt_id("slide")], 3]
        assert d.qfrc_drive[slide] == pytest.approx(touched, abs=1e-9)
    assert impulse == pytest.approx(1.0 * 0.2, rel=1e-4)
    assert largest > 100.0


def test_a_loop_joint_carries_the_impact_of_a_landing():
    """A cube welded under a lift lands on the floor; the weld carries the lift."""
    brick = rb.shapes.box((0.1,) * 3, mass=1.0)
    system = rb.SystemBuilder("lift", base="world").body("lift", brick)
    system.joint("up", "prismatic", "world", "lift", axis=(0, 0, 1), xyz=(0, 0, 0.5))
    cube = rb.Object("cube", rb.Box((0.1,) * 3), mass=1.0, pose=rb.pose((0, 0, 0.0505)))
    m = rb.scene(system, [cube])
    d = rb.make_data(m)
    d.qvel[:] = 0.0
    m, d = rb.attach(m, d, "cube", "lift")
    weld = []
    for _ in range(30):
        before = assert_one_answer(m, d)
        assert_balance(m, before)
        rb.step(m, d)
        rb.joint_forces(m, d)
        weld.append(d.loop_force[0].copy())
        floor = sum(force[2] for force in d.contact_force[: d.ncon])
        lift = m.jnt_dofadr[m.jnt_id("up")]
        # only the weld carries the lift: the bearing only guides it sideways
        needed = abs(m.body_mass[1] * (G + d.qacc[lift]))
        assert abs(d.loop_force[0, 5]) == pytest.approx(needed, abs=1e-8 * (1 + floor))
    assert max(abs(force[5]) for force in weld) > 50.0


def test_the_drive_of_a_gear_exerts_the_torque_at_its_teeth():
    """A driven gear with twelve teeth moves a second gear against a load of 0.5 N m."""
    system, skin = rb.SystemBuilder("gears"), rb.Surface(friction=0.0)
    for n, name in enumerate(("driver", "driven")):
        system.body(name, rb.shapes.cylinder(0.04, 0.02, mass=1.0))
        system.joint(f"axle {n}", "revolute", "base", name, axis=(0, 0, 1), xyz=(0.1 * n, 0, 0))
        for k in range(12):
            angle = (k + 0.5 * n) * np.pi / 6.0
            at = rb.pose((0.049 * np.cos(angle), 0.049 * np.sin(angle), 0.0), rpy=(0, 0, angle))
            tooth = rb.Box((0.018, 0.008, 0.02))
            system.geometry(f"{name} {k}", name, tooth, origin=at, surface=skin)
    m = rb.build(system)
    d = rb.make_data(m)
    rb.set_drive(m, d, "axle 0", "velocity", 1.0)
    d.qvel[0], d.qfrc_applied[1] = 1.0, 0.5
    torques = []
    for _ in range(2000):
        rb.step(m, d)
        torques.append(d.qfrc_drive[0])
        assert d.qfrc_drive[0] == pytest.approx(-d.cfrc_contact[1, 2], abs=1e-9)
    assert np.mean(torques[500:]) == pytest.approx(0.5, rel=0.05)
    assert max(torques) < 20.0


def test_a_gear_transmits_the_force_of_a_limit_within_the_step():
    system = rb.SystemBuilder("gear").body("a", rb.shapes.box((0.1,) * 3, mass=1.0))
    system.body("b", rb.shapes.box((0.1,) * 3, mass=1.0))
    system.joint("left", "prismatic", "base", "a", axis=(1, 0, 0), limit=(-1.0, 0.0))
    system.joint("right", "prismatic", "base", "b", axis=(1, 0, 0))
    m = rb.build(system.gear("pair", {"left": 1.0, "right": -1.0}))
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    d.qfrc_applied[m.jnt_dofadr[m.jnt_id("right")]] = 1000.0
    for _ in range(3):
        before = assert_one_answer(m, d)
        right = m.jnt_dofadr[m.jnt_id("right")]
        assert before.qfrc_constraint[right] == pytest.approx(-1000.0, rel=1e-5)
        assert_balance(m, before)
        rb.step(m, d)


def test_forces_in_oblique_impacts_balance():
    """In the step of an oblique impact the normal between the shapes rotates."""
    shapes = (rb.Sphere(0.1), rb.Capsule(0.1, 0.1), rb.Cylinder(0.1, 0.15))
    rng, hits = np.random.default_rng(0), 0
    for n in range(18):
        skin = rb.Surface(restitution=0.5 * (n % 3), friction=0.3 * (n % 2))
        pair = [
            rb.Object(
                f"{side}",
                shapes[(n + side * (n // 3)) % 3],
                mass=rng.uniform(0.5, 4.0),
                pose=rb.pose((side, 0.0, 0.0)),
                surface=skin,
            )
            for side in range(2)
        ]
        m = rb.scene(objects=pair, floor=False)
        m.opt.gravity, m.opt.timestep = (0.0, 0.0, 0.0), 0.004
        d = rb.make_data(m)
        angle = rng.uniform(1.325, 1.345)
        d.qpos.reshape(-1, 7)[:] = [0, 0, 0, 1, 0, 0, 0], [0.205, 0.0, 0.01, 1, 0, 0, 0]
        d.qvel[6:9] = -9.0 * np.cos(angle), 9.0 * np.sin(angle), 0.0
        d.qvel.reshape(-1, 6)[:, 3:] = rng.normal(size=(2, 3))
        for _ in range(4):
            before = assert_one_answer(m, d)
            hits += bool((before.contact_time[: before.ncon] > 0.0).any())
            rb.step(m, d)
    assert hits > 0


# inverse agrees with forward


def assert_inverse_returns(m, d):
    """Assert that inverse after forward gives the applied forces."""
    rb.forward(m, d)
    applied, contact = d.qfrc_applied.copy(), abs(d.contact_force[: d.ncon]).max(initial=0.0)
    _, parts = missing_force(m, d)
    rb.inverse_with_xfrc(m, d)
    # the solver's tolerance at each contact is 5e-7 of the largest force
    most = 1e-6 * contact * max(1, d.ncon) + 1e-9 * parts
    assert d.qfrc_inverse == pytest.approx(applied, abs=most)


@pytest.mark.parametrize("name", contact_scenes.SCENES)
def test_inverse_after_forward_gives_the_applied_forces_in_all_scenes(name):
    m, d, steps = contact_scenes.started(name)
    if m.nefc:
        pytest.skip("inverse shares the forces of loops among the actuated joints")
    for _ in range(6):
        assert_inverse_returns(m, d.copy())
        rb.step(m, d, steps // 6)


# random systems

#: All joint types but yaw-pitch-roll, whose steps keep the angular velocity (ypr.py).
TYPES = (*(kind for kind in forests.FLAT if "ypr" not in kind), "spherical", "floating")


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_forces_of_random_systems_balance_and_agree_in_all_functions(first):
    """The 200 systems have dry friction, limits, springs, couplings and driven joints."""
    for seed in range(first, first + 20):
        rng = np.random.default_rng(seed)
        kinds = tuple(rng.choice(TYPES, 5))
        odd = {"coupled": seed % 3 == 0, "driven": seed % 4 == 1, "losses": True}
        m = rb.build(forests.forest(kinds, seed, **odd))
        m.opt.integrator = ("implicit_damping", "euler")[seed % 2]
        d = rb.make_data(m)
        forests.randomise(m, d, seed)
        for _ in range(3):
            before = assert_one_answer(m, d)
            assert_balance(m, before)
            if m.nefc == 0:
                assert_inverse_returns(m, before.copy())
            rb.step(m, d, 5)


@pytest.mark.parametrize(("integrator", "share"), [("implicit", 1.0), ("implicit_midpoint", 0.5)])
@pytest.mark.parametrize("seed", range(4))
def test_inverse_omits_the_derivative_of_coriolis_forces(integrator, share, seed):
    """With implicit integrators inverse gives the applied forces minus s h (dc/dv) qacc."""
    m = rb.build(forests.forest(("revolute", "prismatic", "cylindrical", "universal"), seed))
    m.opt.integrator = integrator
    d = rb.make_data(m)
    forests.randomise(m, d, seed)
    d.xfrc_applied[:] = 0.0
    rb.forward(m, d)
    qacc, qvel = d.qacc.copy(), d.qvel.copy()
    bias = []
    for sign in (1.0, -1.0):
        d.qvel[:] = qvel + sign * qacc
        rb.forward(m, d)
        bias.append(d.qfrc_bias.copy())
    d.qvel[:], d.qacc[:] = qvel, qacc
    rb.inverse(m, d)
    slope = 0.5 * share * m.opt.timestep * (bias[0] - bias[1])
    size = abs(d.qfrc_inverse).max() + abs(d.qfrc_applied).max()
    assert abs(slope).max() > 1e-6 * size
    assert d.qfrc_inverse == pytest.approx(d.qfrc_applied - slope, abs=1e-9 * size)


@pytest.mark.parametrize("name", ["crank_slider", "five_bar", "delta", "gripper", "wedge"])
def test_the_forces_of_mechanisms_balance(name):
    m = rb.build(getattr(mechanisms, name)())
    d = mechanisms.started(m, 1)
    for _ in range(5):
        before = assert_one_answer(m, d)
        assert_balance(m, before)
        largest = 1.0 + abs(before.efc_aref).max()
        assert before.efc_J @ before.qacc == pytest.approx(before.efc_aref, abs=1e-7 * largest)
        rb.step(m, d, 10)
