# SPDX-License-Identifier: Apache-2.0
"""Contact works together with couplings, drives, loops, inverse dynamics and joint forces."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import plain_python, robots, touching
from support.compare import Comparison, with_inverse

import rbdyn_ros as rb
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.joints import JointClass

G = touching.G
UP = (0.0, 0.0, 1.0)


def lever(length=0.4, mass=2.0, surface=None):
    """Return a bar on a hinge about y, with a ball at its end above a floor at -0.1 m."""
    inertia = rb.shapes.box((length, 0.02, 0.02), mass=mass, at=rb.pose((length / 2, 0, 0)))
    return (
        rb.SystemBuilder("lever", base="world")
        .body("bar", inertia)
        .joint("hinge", "revolute", "world", "bar", axis=(0, -1, 0), damping=0.05)
        .geometry("tip", "bar", rb.Sphere(0.05), origin=rb.pose((length, 0, 0)), surface=surface)
        .floor(-0.1)
    )


def press(mass=2.0, driven=None):
    """Return a body on a vertical slide joint, whose position is the height of the body's sole."""
    system = (
        rb.SystemBuilder("press", base="world")
        .body("ram", rb.shapes.box((0.1, 0.1, 0.1), mass=mass))
        .joint("slide", "prismatic", "world", "ram", axis=UP)
        .geometry("sole", "ram", rb.Box((0.1, 0.1, 0.1)), origin=rb.pose((0, 0, 0.05)))
        .floor()
    )
    if driven:
        system.drive("slide", driven)
        system.body("bob", rb.shapes.sphere(0.01, mass=0.1, at=rb.pose((0.1, 0, 0))))
        system.joint("swing", "revolute", "ram", "bob", axis=(0, 1, 0), xyz=(0.3, 0, 0.3))
    return rb.build(system)


def on_go2():
    m = rb.load_urdf(robots.find("go2.urdf"), floating_base=True, strict=False, contact=True)
    d = rb.make_data(m)
    touching.lift(m, d, 0.02)
    return m, d, 700


def on_panda():
    """Return a Panda whose two fingers, one of which mimics the other, press into a floor."""
    wall = rb.Obstacle("wall", rb.Plane(), rb.pose((0.0, 0.0, 0.83)))
    contact = rb.Contact(obstacles=(wall,), surface=rb.Surface(stiffness=1e4))
    m = rb.load_urdf(robots.find("panda.urdf"), strict=False, contact=contact)
    d = rb.make_data(m)
    d.qvel = np.linspace(-0.3, 0.4, m.nv)
    return m, d, 1


def on_lever():
    m = rb.build(lever())
    return m, rb.make_data(m), 200


def touching_one(kind):
    m, d, steps = kind()
    rb.step(m, d, steps)
    rng = np.random.default_rng(0)
    d.qfrc_applied = rng.normal(size=m.nv)
    d.xfrc_applied[1:] = 0.1 * rng.normal(size=(m.nbody - 1, 6))
    rb.forward(m, d)
    assert d.ncon > 0
    assert abs(d.qfrc_contact).max() > 0.1
    return m, d


each_kind = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(on_go2, marks=robots.needs_robots),
        pytest.param(on_panda, marks=robots.needs_robots),
        on_lever,
    ],
    ids=["go2", "panda", "lever"],
)


@each_kind
def test_inverse_reverses_forward(kind):
    """inverse includes contact forces, so qfrc_inverse is the applied force."""
    m, d = touching_one(kind)
    applied = d.qfrc_applied.copy()
    for i in range(1, m.nbody):
        force, torque = np.split(d.xfrc_applied[i], 2)
        J = rb.frame_jacobian(m, d, m.body_names[i], "world")
        applied += J.T @ [*(torque + np.cross(d.xipos[i], force)), *force]
    rb.inverse(m, d)
    # the solver may miss the contact law by 5e-7 of the largest force at each contact
    scale = abs(d.contact_force).max() * m.nbody + abs(d.qfrc_bias).max()
    assert d.qfrc_inverse == pytest.approx(applied, abs=1e-6 * scale)


@each_kind
def test_accelerations_in_contact_match_dense_algebra(kind):
    """Dense algebra gives M qacc = applied + passive + contact - bias."""
    m, d = touching_one(kind)
    d.xfrc_applied = 0.0
    rb.forward(m, d)
    M = rb.mass_matrix(m, d.copy())
    force = d.qfrc_applied + d.qfrc_passive + d.qfrc_contact - d.qfrc_bias
    # friction of joints at rest is exact to 1e-10 of the largest value
    scale = abs(d.qfrc_contact).max() + abs(d.qfrc_bias).max()
    assert M @ d.qacc == pytest.approx(force, abs=1e-10 * scale)


#: For each of three cubes: x and z [m], orientation (rpy), vertical velocity [m/s].
CUBES = {
    "alone": (1.0, 0.1275, (0.2, -0.1, 0.3), -0.8),
    "low": (0.0, 0.1, (0.0, 0.0, 0.4), -0.3),
    "high": (0.03, 0.3001, (0.0, 0.0, 0.1), -0.9),
}


def thrown(names, damping):
    """Return the Data after forward of a scene with moving CUBES `names`, with joint damping."""
    objects = [
        rb.Object(each, rb.Box((0.2, 0.2, 0.2)), mass=1.0, pose=rb.pose((x, 0.0, z), rpy=rpy))
        for each, (x, z, rpy, _) in CUBES.items()
        if each in names
    ]
    m = rb.scene(objects=objects)
    m = m.replaced(dof_damping=np.full(m.nv, damping))
    m.opt.integrator = "implicit_damping"
    d = rb.make_data(m)
    d.qvel[:] = np.concatenate([(0.1, -0.2, CUBES[each][3], 0.4, 0.2, -0.1) for each in names])
    rb.forward(m, d)
    return d


@pytest.mark.parametrize("damping", [0.0, 0.7])
def test_bodies_that_do_not_touch_accelerate_as_in_separate_scenes(damping):
    """One cube touches the floor, and two cubes touch each other; the solver separates them."""
    whole = thrown(("alone", "low", "high"), damping)
    assert whole.nmutual > 0
    assert whole.ncon > whole.nmutual
    parts = [thrown(each, damping) for each in (("alone",), ("low", "high"))]
    assert [d.ncon > 0 for d in parts] == [True, True]
    qacc = np.concatenate([d.qacc for d in parts])
    assert np.abs(qacc).max() > 100.0
    np.testing.assert_allclose(whole.qacc, qacc, rtol=0, atol=1e-6 * np.abs(qacc).max())


def test_a_push_that_changes_no_contact_needs_one_solver_iteration():
    """The forces depend linearly on the push, so one iteration finds them."""
    cube = rb.Box((0.2, 0.2, 0.2))
    places = {"alone": (1.0, 0.0, 0.1), "low": (0.0, 0.0, 0.1), "high": (0.0, 0.0, 0.3)}
    m = rb.scene(
        objects=[rb.Object(n, cube, mass=1.0, pose=rb.pose(x)) for n, x in places.items()]
    )
    d = rb.make_data(m)
    rb.step(m, d, 60)
    d.xfrc_applied[1:, :3] = (0.5, -0.3, -2.0), (-0.2, 0.4, -1.0), (0.3, 0.2, -0.5)
    rb.step(m, d)
    assert d.nmutual > 0
    assert d.solver_niter == 1
    pushed = d.contact_force[:4].sum(axis=0)  # the floor's force on the first cube
    # D = 10 m / h, so friction balances 10/11 of the push in the first step
    assert pushed == pytest.approx((-0.5 * 10 / 11, 0.3 * 10 / 11, G + 2.0), abs=1e-3)


@each_kind
def test_contact_forces_act_without_opt_passive(kind):
    m, d = touching_one(kind)
    m.opt.passive = False
    rb.forward(m, d)
    assert not d.qfrc_passive.any()
    assert abs(d.qfrc_contact).max() > 0.1


@pytest.mark.parametrize("way", ["bodies", "M"])
def test_a_hinge_carries_the_weight_that_a_contact_does_not_carry(way):
    """A bar rests on a hinge and on the ball at its end; each carries about half of its weight."""
    m = rb.build(lever())
    d = rb.make_data(m)
    if way == "M":
        rb.set_drive(m, d, "hinge", "velocity")
        rb.set_drive(m, d, "hinge", "force")
    rb.step(m, d, 5000)
    assert abs(d.qvel[0]) < 1e-9
    rb.forward(m, d)
    rb.joint_forces(m, d)
    angle = d.qpos[0]
    assert angle == pytest.approx(-np.arcsin(0.05 / 0.4), abs=1e-3)
    at, normal = d.contact_pos[0], d.contact_force[0, 2]
    # moments about the hinge, with friction at the contact point
    rub = d.contact_force[0, 0]
    assert at[0] == pytest.approx(0.4 * np.cos(angle), rel=1e-12)
    moment = normal * at[0] - rub * at[2]
    # the force is 6e7 N s/m times a velocity that is rounded to some 1e-16 m/s
    assert moment == pytest.approx(2.0 * G * 0.2 * np.cos(angle), abs=1e-6)
    R = d.xmat[1].reshape(3, 3)
    bearing = R @ d.jnt_force[0, 3:]
    assert bearing + d.contact_force[0] == pytest.approx([0.0, 0.0, 2.0 * G], abs=1e-6)
    assert d.jnt_force[0, :3] == pytest.approx(np.zeros(3), abs=1e-6)


def test_a_free_root_joint_transmits_no_force():
    m, d = touching_one(on_go2)
    d.qfrc_applied = 0.0
    rb.forward(m, d)
    rb.joint_forces(m, d)
    # weight, inertial and contact forces of some hundred N cancel here
    assert d.cfrc_int[1] == pytest.approx(np.zeros(6), abs=1e-10 * abs(d.cfrc_contact).max())


def test_qfrc_driven_is_the_weight_minus_the_force_from_the_floor():
    down = rb.Trajectory((0.0, 1.0, 2.0), (0.001, -0.001, -0.003))
    m = press(driven=down)
    d = rb.make_data(m)
    rb.step(m, d, 1000)
    rb.forward(m, d)
    rb.inverse(m, d)
    assert d.ncon == 4
    assert d.qpos_all[1] == pytest.approx(-1e-3, rel=1e-9)  # driven joints come last
    floor = d.cfrc_contact[1, 5]
    assert floor > 10.0
    # the contact has no force on the pendulum
    assert d.qfrc_contact == pytest.approx([0.0], abs=1e-9)
    # compare with the same motion a centimetre higher, without contact
    above = press(driven=rb.Trajectory((0.0, 1.0, 2.0), (0.011, 0.009, 0.007)))
    free = rb.make_data(above)
    free.time, free.qpos, free.qvel, free.qacc = d.time, d.qpos, d.qvel, d.qacc
    rb.inverse(above, free)
    assert free.ncon == 0
    assert d.qfrc_driven[0] == pytest.approx(free.qfrc_driven[0] - floor, rel=1e-9)


def test_a_press_reaches_its_prescribed_position():
    """Despite the floor a step reaches the position; qfrc_drive is the force of the drive."""
    m = press()
    d = rb.make_data(m)
    d.qpos[0] = -1e-4
    rb.set_drive(m, d, "slide", "position", -5e-4)
    for _ in range(20):
        rb.step(m, d, 1)
        assert d.qpos[0] == pytest.approx(-5e-4, abs=1e-15)
    rb.forward(m, d)
    k = m.geom_mass0[0] * G / touching.sunk(m.opt.timestep)
    assert d.cfrc_contact[1, 5] == pytest.approx(4 * k * 5e-4, rel=1e-9)
    assert d.qfrc_drive[0] == pytest.approx(2.0 * G - 4 * k * 5e-4, rel=1e-9)
    rb.set_drive(m, d, "slide", "force")
    rb.step(m, d, 2000)
    assert d.cfrc_contact[1, 5] == pytest.approx(2.0 * G, rel=1e-9)


def test_drives_hold_a_robot_that_touches_the_floor():
    m, d, _ = on_panda()
    rb.forward(m, d)
    assert d.ncon > 0
    joints = [m.jnt_names[j] for j in np.flatnonzero(m.jnt_class == JointClass.FREE)]
    start = d.qpos.copy()
    for name in joints:
        rb.set_drive(m, d, name, "position")
    rb.step(m, d, 100)
    assert d.qpos == pytest.approx(start, abs=1e-13)
    rb.forward(m, d)
    force = d.qfrc_drive + d.qfrc_contact + d.qfrc_passive - d.qfrc_bias
    assert force == pytest.approx(rb.mass_matrix(m, d.copy()) @ d.qacc, abs=1e-8)


def test_coupled_fingers_close_on_a_ball():
    """A gripper whose second finger mimics the first closes on a fixed ball."""
    system = rb.SystemBuilder("gripper", base="world")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        system.body(side, rb.shapes.box((0.02, 0.02, 0.1), mass=0.1))
        at = (0.1 * sign, 0.0, 0.0)
        system.joint(side, "prismatic", "world", side, axis=(1, 0, 0), xyz=at, damping=1.0)
        system.geometry(side, side, rb.Box((0.02, 0.02, 0.1)))
    system.couple("right", "left", ratio=-1.0)
    m = rb.build(system.obstacle("ball", rb.Sphere(0.05)))
    d = rb.make_data(m)
    d.qfrc_applied = -5.0
    rb.step(m, d, 4000)
    assert abs(d.qvel[0]) < 1e-6
    assert d.ncon == 2
    assert d.cfrc_contact[:, 3] == pytest.approx([0.0, 2.5, -2.5], rel=1e-6)
    assert d.qpos[0] == pytest.approx(-0.04, abs=1e-3)


def test_a_gap_causes_no_contact_force_without_gravity():
    m = rb.build(touching.free(touching.CUBE))
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = touching.placed(m, (0, 0, 0.0999))
    rb.step(m, d, 1000)
    assert d.qpos[2] > 0.0999
    assert 0.0 <= d.qvel[2] < 0.1
    assert abs(d.qvel[3:]).max() < 1e-12


REPOSITORY = Path(__file__).resolve().parents[2]
STAGES = ("aba", "inverse", "forward", "forward_dynamics", "step")
SOLVED = (
    "qacc", "qacc_all", "qacc_step", "Dinv_u", "U_Dinv", "a", "qLD", "qLDiagInv", "cacc",
    "cfrc_sum", "qfrc_inverse",
)  # fmt: skip


def test_plain_python_computes_the_same_contact(tmp_path):
    """Plain Python (NUMBA_DISABLE_JIT=1) and compiled code differ only by rounding.

    The contact is soft: a near-rigid contact would multiply rounding errors of velocities by 3e4.
    """
    soft = lever(surface=rb.Surface(time_constant=0.01))
    m = rb.build(soft.obstacle("peg", rb.Box((0.1, 0.1, 0.1)), origin=rb.pose((0.4, 0, -0.09))))
    d = rb.make_data(m)
    d.qvel, d.qfrc_applied = -0.3, 0.5
    rb.forward(m, d)
    assert d.ncon == 1
    source, result = tmp_path / "robot.pickle", tmp_path / "result.pickle"
    source.write_bytes(pickle.dumps((m, d)))
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "test")])
    subprocess.run(
        [sys.executable, "-m", "support.plain_python", "numbers", str(source), str(result)],
        env={**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"},
        check=True, timeout=120,
    )  # fmt: skip
    buffers = pickle.loads(result.read_bytes())
    for name in STAGES:
        ours, theirs = d.copy(), rb.make_data(m)
        assert not isinstance(buffers[name], str), buffers[name]
        theirs.buffer[:] = buffers[name]
        rb.forward(m, ours)
        rb.factor_m(m, ours)
        plain_python.run(m, ours, name)
        tolerance = with_inverse(1e-12, rb.mass_matrix(m, ours.copy()), m.nv)
        with Comparison("contact in plain Python", name) as case:
            for field in [field.name for field in DATA_FIELDS if field.dims]:
                # contact_step is a difference of nearly equal velocities, with a larger error
                if not field.startswith("rk_") and field != "contact_step":
                    share = tolerance if field in SOLVED else 1e-12
                    case.close(field, getattr(theirs, field), getattr(ours, field), share)
