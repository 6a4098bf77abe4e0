# SPDX-License-Identifier: Apache-2.0
"""Attached links, and states that are carried to other Models, agree with closed forms."""

import dataclasses

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.errors import ModelError, ParameterError
from rbdyn_ros.model.connected import connected_trees

G = 9.81
PENDULUM = """<robot name="p"><link name="base"/><link name="rod"><inertial>
<origin xyz="0 0 -0.4"/><mass value="0.7"/>
<inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 -0.4"/><geometry><sphere radius="0.05"/></geometry></collision></link>
<joint name="swing" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
</joint></robot>"""
BALL = rb.Object("ball", rb.Sphere(0.05), mass=0.3, pose=rb.pose((0.2, 0.1, -0.8)))
OTHER = rb.Object("other", rb.Sphere(0.05), mass=0.5, pose=rb.pose((3.0, 0.0, 0.0)))


def scene(*objects, robot=PENDULUM, **more):
    m = rb.scene(robot, objects=objects, floor=False, **more)
    m.opt.timestep = 1e-3
    return m


def place(m, d, link):
    return np.array(rb.frame_pose(m, d, link)[0])


def test_a_ball_attached_to_the_world_hangs_and_falls_when_it_is_detached():
    m = scene(BALL, OTHER)
    d = rb.make_data(m)
    rb.step(m, d, 100)
    held, h = rb.attach(m, d, "ball")
    assert held.loop_names == ("ball on world",)
    at, other = place(m, d, "ball"), d.qpos[-7:].copy()
    assert np.array_equal(h.qpos, d.qpos)
    assert (h.time, held.nq) == (d.time, m.nq)
    rb.step(held, h, 1)
    # the other body goes on falling with the same bits
    rb.step(m, d, 1)
    assert np.array_equal(h.qpos[-7:], d.qpos[-7:])
    assert not np.array_equal(other, d.qpos[-7:])
    rb.step(held, h, 999)
    assert place(held, h, "ball") == pytest.approx(at, abs=1e-12)
    free = rb.carry(held, h, m)
    assert np.array_equal(free.qpos, h.qpos)
    free.qvel[:] = 0.0
    rb.step(m, free, 200)
    fallen = G * 1e-6 * 200 * 201 / 2  # the sum of the semi-implicit steps is exact
    assert place(m, free, "ball")[2] == pytest.approx(at[2] - fallen, abs=1e-12)


def test_the_force_of_the_weld_carries_the_weight_of_an_attached_ball():
    held, h = rb.attach(m := scene(BALL), rb.make_data(m), "ball")
    rb.forward(held, h)
    rb.joint_forces(held, h)
    assert h.loop_force[0, 3:] == pytest.approx([0.0, 0.0, 0.3 * G], abs=1e-12)


def test_a_pendulum_with_an_attached_ball_swings_as_with_a_payload():
    """The reference is a rod whose payload has the ball's mass and inertia."""
    m = scene(BALL)
    d = rb.make_data(m)
    held, h = rb.attach(m, d, "ball", "rod")
    inertia = 0.4 * 0.3 * 0.05**2
    alone = rb.load_urdf(PENDULUM)
    alone.opt.timestep = 1e-3
    loaded = rb.with_payload(alone, "rod", 0.3, (0.2, 0.1, -0.8), (inertia,) * 3 + (0.0,) * 3)
    one = rb.make_data(loaded)
    for model, data in ((held, h), (loaded, one)):
        data.qvel[0] = 0.0
        rb.step(model, data, 1000)
    # the weld corrects positions, which causes an error of first order
    assert h.qpos[0] == pytest.approx(one.qpos[0], abs=2e-5)
    assert abs(one.qpos[0]) > 0.1
    apart = np.array(rb.frame_pose(held, h, "rod")[1]).T @ (place(held, h, "ball"))
    assert apart == pytest.approx((0.2, 0.1, -0.8), abs=1e-9)


def test_attachments_can_be_removed_one_by_one():
    m = scene(BALL, OTHER)
    d = rb.make_data(m)
    one, a = rb.attach(m, d, "ball")
    both, b = rb.attach(one, a, "other", "ball")
    assert both.loop_names == ("ball on world", "other on ball")
    rb.step(both, b, 50)
    loose = rb.carry(both, b, m)
    last, e = rb.attach(m, loose, "other", "ball")
    rb.step(last, e, 100)
    assert place(last, e, "ball")[2] < -0.8 - 0.04
    assert place(last, e, "other") - place(last, e, "ball") == pytest.approx(
        (2.8, -0.1, 0.8), abs=1e-9
    )


def test_a_ball_attached_to_the_world_still_blocks_a_rod():
    """The rod swings against the ball and stops. It would push a free ball away."""
    near = rb.Object("near", rb.Sphere(0.05), mass=0.3, pose=rb.pose((-0.2, 0.0, -0.35)))
    m = scene(near)
    d = rb.make_data(m)
    d.qpos[0] = -0.3
    held, h = rb.attach(m, d, "near")
    assert held.push_geom.tolist() == m.push_geom.tolist()
    h.qvel[0] = 3.0
    lowest = np.inf
    for _ in range(300):
        rb.step(held, h)
        lowest = min(lowest, rb.distance(held, h, "rod", "near").distance)
    assert -1e-4 < lowest < 1e-3
    assert place(held, h, "near") == pytest.approx((-0.2, 0.0, -0.35), abs=1e-9)


def test_two_attached_bodies_no_longer_touch():
    m = rb.scene(PENDULUM, objects=[BALL, OTHER], floor=False)
    held, _ = rb.attach(m, rb.make_data(m), "ball", "rod")
    names = [{held.geom_names[g] for g in pair} for pair in held.push_geom.tolist()]
    assert {"ball", "rod"} not in names
    assert {"ball", "other"} in names
    assert {"rod", "other"} in names


def test_two_attached_bodies_have_no_contact_even_if_the_scene_has_no_others(tmp_path):
    """The bodies overlap by 1 mm, so a contact would push against the weld."""
    cubes = [
        rb.Object(name, rb.Box((0.2, 0.2, 0.2)), mass=1.0, pose=rb.pose((0.0, 0.0, height)))
        for name, height in (("low", 0.1), ("high", 0.3))
    ]
    m = rb.scene(objects=cubes)
    d = rb.make_data(m)
    d.qpos[9] = 0.299
    held, h = rb.attach(m, d, "low", "high")
    assert (m.npush, held.npush) == (1, 0)
    rb.step(held, h, 300)
    assert {(one.geom1, one.geom2) for one in rb.contacts(held, h)} == {("floor", "low")}
    assert h.contact_force[: h.ncon, 2].sum() == pytest.approx(2.0 * G, rel=1e-9)
    rb.save(held, tmp_path / "held.npz")
    again = rb.load(tmp_path / "held.npz")
    other = rb.make_data(again)
    rb.load_state(again, other, rb.save_state(held, h))
    assert h.qpos[9] - h.qpos[2] == pytest.approx(0.199, abs=1e-9)
    for model, data in ((held, h), (again, other)):
        rb.step(model, data, 50)
    assert np.array_equal(h.qpos, other.qpos)
    apart = rb.carry(held, h, m)
    rb.step(m, apart, 1000)
    assert apart.qpos[9] - apart.qpos[2] == pytest.approx(0.2, abs=1e-8)


def test_a_belt_that_stops_brakes_the_crate_on_it():
    """The crate moved with the belt and now decelerates by mu g."""
    surface = rb.Surface(friction=0.4)
    belt = rb.Obstacle("belt", rb.Box((20.0, 1.0, 0.1)), rb.pose((0.0, 0.0, -0.05)), 0.4,
                       velocity=(0.5, 0.0, 0.0))  # fmt: skip
    crate = rb.Object("crate", rb.Box((0.1, 0.1, 0.1)), mass=1.0, pose=rb.pose((0.0, 0.0, 0.05)),
                      surface=surface)  # fmt: skip
    m = rb.scene(objects=[crate], obstacles=[belt], floor=False)
    m.opt.timestep = 1e-3
    d = rb.make_data(m)
    rb.step(m, d, 1000)
    assert d.qvel[0] == pytest.approx(0.5, abs=1e-9)
    still = m.replaced(geom_velocity=np.zeros((m.ngeom, 3)))
    d = rb.carry(m, d, still)
    rb.step(still, d, 50)
    assert d.qvel[0] == pytest.approx(0.5 - 0.4 * G * 0.05, rel=1e-6)
    rb.step(still, d, 500)
    assert np.abs(d.qvel).max() < 1e-9


@pytest.mark.parametrize(
    ("link", "to", "error", "code"),
    [
        ("bal", "world", ModelError, "unknown-frame"),
        ("ball", "rodd", ModelError, "unknown-frame"),
        ("ball", "ball", ParameterError, "attach"),
        ("base", "world", ParameterError, "attach"),
        ("other", "ball", ParameterError, "attach"),
        ("ball", "other", ParameterError, "attach"),
    ],
)
def test_invalid_attachments_are_refused(link, to, error, code):
    m = scene(BALL, OTHER)
    held, h = rb.attach(m, rb.make_data(m), "other", "ball")
    with refused(error, code):
        rb.attach(held, h, link, to)


def test_a_data_of_another_model_is_refused():
    m = scene(BALL)
    with refused(ModelError, "data-of-other-model"):
        rb.attach(m, rb.make_data(scene(BALL)), "ball")
    with refused(ModelError, "not-a-model"):
        rb.carry(m, rb.make_data(m), "other")


def test_attaching_connects_the_trees_of_two_bodies():
    m = scene(BALL, OTHER)
    assert connected_trees(m).tolist() == [0, 1, 2, 3]
    d = rb.make_data(m)
    on_rod, _ = rb.attach(m, d, "other", "rod")
    assert connected_trees(on_rod).tolist() == [0, 1, 2, 1]
    in_world, _ = rb.attach(m, d, "ball")
    assert connected_trees(in_world).tolist() == [0, 1, 2, 3]


def test_the_state_of_a_joint_is_not_carried_to_a_joint_of_another_type():
    heavy = PENDULUM.replace(
        '<link name="base"/>',
        '<link name="base"><inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.02"'
        ' ixy="0" ixz="0" iyz="0"/></inertial></link>',
    )
    pose = rb.pose((5.0, 0.0, 2.0))
    old = scene(rb.Object("p", heavy.replace("continuous", "floating"), pose=pose))
    new = scene(rb.Object("p", heavy, pose=pose), OTHER)
    d = rb.make_data(old)
    rb.step(old, d, 10)
    carried = rb.carry(old, d, new)
    here, there = (m.jnt_qposadr[m.jnt_id("p/swing")] for m in (old, new))
    assert np.array_equal(carried.qpos[:there], d.qpos[:here])
    assert np.array_equal(carried.qpos[there:], new.qpos0[there:])
    back = rb.carry(new, rb.make_data(new), old)
    assert np.array_equal(back.qpos[here:], old.qpos0[here:])


FLOATING = """<robot name="r"><link name="trunk"><inertial><mass value="2"/>
<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="hand"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>
<inertia ixx="0.002" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="trunk"/><child link="hand"/>
<origin xyz="0.15 0 0"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="3"/>
</joint></robot>"""


@pytest.mark.parametrize("others", [(), (OTHER,)])
def test_the_hand_of_a_floating_robot_carries_an_attached_object(others):
    """The effort of the hand's joint carries the ball, while the robot floats without support."""
    robot = rb.Placed(FLOATING, rb.pose((0.0, 0.0, 0.3)), floating_base=True)
    ball = dataclasses.replace(BALL, pose=rb.pose((0.6, 0.2, 0.3)))
    m, d = rb.attach(m := scene(ball, *others, robot=robot), rb.make_data(m), "ball", "hand")
    lift = m.jnt_dofadr[m.jnt_id("lift")]
    d.qacc = np.where(np.arange(m.nv) == lift, -20.0, 0.0)
    rb.inverse(m, d)
    moments = 0.3 * G * (0.6 - 0.15) + 0.5 * G * 0.1
    expected = -moments - 20.0 * (0.002 + 0.5 * 0.1**2)
    assert d.qfrc_inverse[lift] == pytest.approx(expected, rel=1e-12)
    of_ball = m.jnt_dofadr[m.jnt_id("ball")] + np.arange(6)
    assert d.qfrc_inverse[of_ball] == pytest.approx(np.zeros(6), abs=1e-12)
