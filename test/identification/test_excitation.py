# SPDX-License-Identifier: Apache-2.0
"""Excitation motions keep all limits, rest at both ends, and are well conditioned."""

from dataclasses import replace

import numpy as np
import pytest
from support.refusals import refused
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control.collisions.self_collision import SelfCollision
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.errors import ModelError, ParameterError, RbdynError
from rbdyn_ros.identification.data.csv_files import read_table
from rbdyn_ros.identification.data.motion import Motion, dof_names
from rbdyn_ros.identification.equations.base import base_parameters, condition
from rbdyn_ros.identification.equations.regressor import torque_regressor
from rbdyn_ros.identification.excitation.excite import check_informative, excite
from rbdyn_ros.identification.excitation.search import rest_shapes, tables
from rbdyn_ros.share import bundled_robot

GRIPPER = """<robot name="g"><link name="base"/>{links}
<joint name="arm" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="30" velocity="2"/></joint>
<joint name="left" type="prismatic"><parent link="a"/><child link="l"/><origin xyz="0.3 0 0"/>
<axis xyz="0 1 0"/><limit lower="0" upper="0.1" effort="40" velocity="1"/></joint>
<joint name="right" type="prismatic"><parent link="a"/><child link="r"/><origin xyz="0.3 0 0"/>
<axis xyz="0 1 0"/><mimic joint="left" multiplier="-2" offset="0.01"/>
<limit lower="-0.09" upper="0.05" effort="40" velocity="0.2"/></joint></robot>"""
LINK = """<link name="{}"><inertial><origin xyz="0.1 0 0.05"/><mass value="{}"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


def gripper():
    links = "".join(LINK.format(*link) for link in (("a", 2.0), ("l", 0.2), ("r", 0.2)))
    return rb.load_urdf(GRIPPER.format(links=links))


@pytest.fixture(scope="module")
def ur5():
    return rb.load_urdf(find("ur5_robot.urdf"))


@pytest.fixture(scope="module")
def messages():
    return []


@pytest.fixture(scope="module")
def motion(ur5, messages):
    return excite(ur5, progress=messages.append)


def efforts(m, excitation, rows):
    """Return the efforts of all joints (t, nv) for a motion; joints that it does not move rest."""
    names = dof_names(m)
    d = rb.make_data(m)
    d.qpos[:] = [excitation.held.get(name, 0.0) for name in names]
    moved = [names.index(name) for name in excitation.names]
    found = np.empty((rows.shape[1], m.nv))
    m = m.replaced()
    m.opt.passive = False
    d = rb.make_data(m)
    d.qpos[:] = [excitation.held.get(name, 0.0) for name in names]
    for k in range(rows.shape[1]):
        d.qpos[moved], d.qvel[moved], d.qacc[moved] = rows[:, k]
        rb.inverse(m, d)
        found[k] = d.qfrc_inverse
    return found


def test_a_finely_sampled_motion_is_within_all_limits(ur5, motion):
    rows = motion.sample(np.linspace(0.0, motion.duration, 20_001))
    q, v = rows[0], rows[1]
    assert (q >= ur5.jnt_range[:, 0] + 0.05).all()
    assert (q <= ur5.jnt_range[:, 1] - 0.05).all()
    assert (np.abs(q - motion.centre) <= 1.5).all()
    assert (np.abs(v) <= 0.5 * ur5.jnt_velocity).all()
    share = np.abs(efforts(ur5, motion, rows)).max(axis=0) / ur5.jnt_effort
    assert (share <= 0.7).all()
    # the reported shares come from fewer samples
    found = np.array([motion.effort_share[name] for name in motion.names])
    assert share == pytest.approx(found, rel=2e-3)
    # every joint reaches one of its limits
    used = np.maximum(np.abs(q - motion.centre).max(axis=0) / 1.5, np.abs(v).max(axis=0) / 1.575)
    assert (used > 0.99).all()
    assert motion.peaks[1] == pytest.approx(q.max(axis=0), abs=1e-3)
    assert motion.peaks[3] == pytest.approx(np.abs(rows[2]).max(axis=0), rel=1e-2)


def test_a_motion_starts_and_ends_at_rest_at_the_centre(ur5, motion):
    rows = motion.sample([0.0, motion.duration, -1.0, 99.0])
    assert rows[0] == pytest.approx(np.broadcast_to(motion.centre, (4, 6)), abs=1e-12)
    assert rows[1:] == pytest.approx(0.0, abs=1e-12)
    assert motion.centre == pytest.approx(ur5.jnt_range.mean(axis=1))


def test_the_derivatives_of_a_motion_are_exact(motion):
    t, h = np.linspace(0.5, 19.5, 50), 1e-5
    before, here, after = (motion.sample(t + k * h) for k in (-1, 0, 1))
    # differences have an error of second order; fourth derivatives are below 200
    assert (after[0] - before[0]) / (2 * h) == pytest.approx(here[1], abs=1e-8)
    assert (after[1] - before[1]) / (2 * h) == pytest.approx(here[2], abs=1e-7)


def test_a_motion_is_better_conditioned_than_random_fourier_series(ur5, motion, messages):
    base = base_parameters(ur5)

    def condition_of(sample):
        rows = sample(np.linspace(0.0, 20.0, 200, endpoint=False))
        Y = base.regressor(torque_regressor(ur5, *rows)) / ur5.jnt_effort[:, np.newaxis]
        return condition(Y.reshape(-1, base.rank))

    rng, shapes = np.random.default_rng(8), rest_shapes(10)
    numbers = []
    for _ in range(20):
        coefficients = shapes @ rng.normal(size=(shapes.shape[1], 6))
        size = np.abs(tables(10, 20.0, np.linspace(0, 20, 500))[0] @ coefficients).max(axis=0)

        def sample(t, c=1.5 * coefficients / size):
            return tables(10, 20.0, t) @ c

        numbers.append(condition_of(sample))
    found = condition_of(motion.sample)
    print(f"condition number {found:.3g}; random series {min(numbers):.3g} to {max(numbers):.3g}")
    # the reported number comes from fewer samples
    assert found == pytest.approx(motion.condition, rel=0.05)
    assert found < 0.8 * min(numbers)
    assert messages[0].startswith("best of 60 random motions: condition number ")
    assert len(messages) > 5


def test_the_same_seed_gives_the_same_motion():
    m = gripper()
    one, same, other = (excite(m, seed=seed, harmonics=2) for seed in (4, 4, 5))
    assert np.array_equal(one.coefficients, same.coefficients)
    assert not np.array_equal(one.coefficients, other.coefficients)


def test_limits_of_mimic_joints_hold():
    bounds = {"velocity_share": 1.0, "position_inset": 0.001}
    motion = excite(gripper(), duration=10.0, harmonics=4, **bounds)
    rows = motion.sample(np.linspace(0.0, 10.0, 5001))
    assert motion.names == ("arm", "left")
    # left is at least 0, and right = 0.01 - 2 left at least -0.09, so left is in [0, 0.05]
    assert motion.centre == pytest.approx([0.5, 0.025])
    assert rows[0, :, 1].min() >= 0.001
    assert rows[0, :, 1].max() <= 0.049
    assert np.abs(rows[1, :, 1]).max() <= 0.1  # `right` moves twice as fast, at up to 0.2 m/s


def test_a_motion_can_be_limited_to_some_joints(ur5):
    centre = np.array([0.3, -1.2, 1.0, -0.5, 0.4, 0.0])
    joints = ["wrist_1_joint", "elbow_joint"]
    motion = excite(ur5, joints=joints, harmonics=4, centre=centre, reach=[0.4, 0.8])
    # the joints are in the order of the robot
    assert motion.names == ("elbow_joint", "wrist_1_joint")
    assert motion.centre.tolist() == [1.0, -0.5]
    assert motion.held == {
        "shoulder_pan_joint": 0.3,
        "shoulder_lift_joint": -1.2,
        "wrist_2_joint": 0.4,
        "wrist_3_joint": 0.0,
    }
    peaks = motion.peaks
    assert (peaks[1] <= [1.4, 0.3]).all()
    assert (peaks[0] >= [0.6, -1.3]).all()
    assert np.isfinite(motion.condition)


def test_efforts_limit_the_motion():
    # 30 N m are more than enough for 2 kg at 0.1 m, but 5.8 N m allow only a smaller motion
    m = gripper()
    weak = m.replaced(jnt_effort=np.array([5.8, 40.0, 40.0]))
    motion = excite(weak, joints=["arm"], velocity_share=1.0, duration=4.0, harmonics=5)
    rows = motion.sample(np.linspace(0.0, 4.0, 4001))
    largest = np.abs(efforts(weak, motion, rows)).max(axis=0)
    assert 0.8 * 0.7 * 5.8 < largest[0] <= 0.7 * 5.8
    free = excite(m, joints=["arm"], velocity_share=1.0, duration=4.0, harmonics=5)
    assert np.abs(efforts(m, free, free.sample(np.linspace(0.0, 4.0, 4001)))).max() > 0.7 * 5.8


def test_acceleration_limits_hold():
    limits = [0.7, 0.05]
    motion = excite(gripper(), acceleration_limits=limits, duration=5.0, harmonics=4)
    largest = np.abs(motion.sample(np.linspace(0.0, 5.0, 5001))[2]).max(axis=0)
    assert (largest <= limits).all()
    # at 0.8 Hz the acceleration limits are reached first
    assert (largest > 0.99 * np.array(limits)).all()


def test_acceleration_limits_of_the_robot_hold():
    m = gripper()
    m = m.replaced(
        jnt_acceleration=np.full(m.njnt, 0.7), jnt_deceleration=np.array([0.9, 0.05, 0.0])
    )
    motion = excite(m, joints=["arm"], duration=5.0, harmonics=4)
    largest = np.abs(motion.sample(np.linspace(0.0, 5.0, 5001))[2]).max()
    assert 0.99 * 0.7 < largest <= 0.7
    free = excite(m, joints=["arm"], duration=5.0, harmonics=4, acceleration_limits=0.9)
    assert np.abs(free.sample(np.linspace(0.0, 5.0, 5001))[2]).max() > 0.8


def test_the_box_contains_all_links(ur5, motion):
    d = rb.make_data(ur5)
    for d.qpos[:] in motion.sample(np.linspace(0.0, 20.0, 301))[0]:
        rb.kinematics(ur5, d)
        for frame in ur5.frame_names:
            place = rb.frame_pose(ur5, d, frame)[0]
            assert (place >= motion.box[0] - 1e-3).all()
            assert (place <= motion.box[1] + 1e-3).all()


def test_a_motion_is_written_as_csv(motion, tmp_path):
    path = tmp_path / "motion.csv"
    motion.write(path, rate=100.0)
    names, time, columns = read_table(path, ("position", "velocity", "acceleration"))
    assert names == motion.names
    assert time == pytest.approx(np.linspace(0.0, 20.0, 2001))
    rows = motion.sample(time)
    for values, row in zip(columns, rows, strict=True):
        assert values == pytest.approx(row, abs=1e-10)
    assert not columns[1][[0, -1]].any()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"joints": ["elbow"]}, "unknown-joint"),
        ({"joints": ["lefft"]}, "unknown-joint"),
        ({"joints": ["right"]}, "unknown-joint"),  # `right` is a mimic joint
        ({"joints": ["arm", "arm"]}, "bad-argument"),
        ({"joints": []}, "bad-argument"),
        ({"joints": "arm"}, "bad-argument"),
        ({"joints": [3]}, "unknown-joint"),
        ({"duration": 0.0}, "bad-argument"),
        ({"duration": float("nan")}, "bad-argument"),
        ({"duration": 1e6}, "bad-argument"),
        ({"harmonics": 1}, "bad-argument"),
        ({"harmonics": 2.5}, "bad-argument"),
        ({"seed": -1}, "bad-argument"),
        ({"velocity_share": 1.5}, "bad-argument"),
        ({"effort_share": float("nan")}, "bad-argument"),
        ({"acceleration_limits": [1.0]}, "bad-argument"),
        ({"acceleration_limits": -1.0}, "bad-argument"),
        ({"acceleration_limits": [1.0, 2.0, 3.0]}, "bad-argument"),
        ({"position_inset": float("inf")}, "bad-argument"),
        ({"position_inset": 0.03}, "no-room"),
        ({"reach": 0.0}, "bad-argument"),
        ({"reach": 1e-300}, "bad-argument"),
        ({"acceleration_limits": 1e-300}, "bad-argument"),
        ({"duration": 1e-9}, "bad-argument"),
        ({"reach": "far"}, "bad-argument"),
        ({"centre": 0.0}, "bad-argument"),
        ({"centre": [0.0, float("nan")]}, "bad-argument"),
        ({"centre": [3.0, 0.02]}, "no-room"),
        ({"effort_share": 0.01}, "no-effort"),
    ],
)
def test_bad_arguments_are_refused(arguments, code):
    arguments = {"position_inset": 0.001, "harmonics": 2, **arguments}
    with refused(ParameterError, code):
        excite(gripper(), **arguments)


@pytest.mark.filterwarnings("error")
def test_too_few_or_too_many_points_are_refused(tmp_path):
    motion = excite(gripper(), position_inset=0.001, harmonics=3, duration=5.0)
    # at least four points per period of the third harmonic are needed: 2.4 Hz
    for rate, wrong in ((2.3, True), (2.5, False), (1e9, True), (float("nan"), True)):
        if wrong:
            with refused(ParameterError, "bad-argument"):
                motion.points(rate)
        else:
            assert np.diff(motion.points(rate)[0]).max() <= 1.0 / rate
    with refused(ParameterError, "bad-argument"):
        motion.write(tmp_path / "m.csv", 1e9)


def test_a_written_motion_contains_the_resting_joints(ur5, tmp_path):
    centre = np.array([0.3, -1.2, 1.0, -0.5, 0.4, 0.1])
    motion = excite(ur5, joints=["wrist_1_joint"], harmonics=3, centre=centre, reach=0.4)
    path = tmp_path / "motion.csv"
    motion.write(path)
    names, _, (qpos, qvel, qacc) = read_table(path, ("position", "velocity", "acceleration"))
    assert sorted(names) == sorted(dof_names(ur5))
    for k, name in enumerate(names):
        if name != "wrist_1_joint":
            assert (qpos[:, k] == centre[dof_names(ur5).index(name)]).all()
            assert not qvel[:, k].any()
            assert not qacc[:, k].any()


def test_a_poorly_conditioned_motion_is_refused():
    motion = excite(gripper(), position_inset=0.001, harmonics=2)
    check_informative(motion)
    for number in (np.inf, np.nan, 2e4):
        with refused(ParameterError, "poor-motion"):
            check_informative(replace(motion, condition=number))


def test_robots_other_than_arms_are_refused():
    with refused(ModelError, "not-an-arm"):
        excite(rb.load_urdf(bundled_robot("seven_dof_arm"), floating_base=True))


def test_a_motion_excites_the_parameters_that_an_earlier_motion_did_not(ur5):
    # the earlier motion moves only the wrist, so the next motion must move the others
    centre = np.array([0.3, -1.2, 1.0, -0.5, 0.4, 0.0])
    wrist = [f"wrist_{k}_joint" for k in (1, 2, 3)]
    first = excite(ur5, joints=wrist, harmonics=3, centre=centre, duration=10.0)
    time, *rows = first.points(20.0)
    earlier = Motion(first.names, time, *rows, np.zeros_like(rows[0]))
    arguments = {"harmonics": 3, "centre": centre, "duration": 10.0}
    after = excite(ur5, **arguments, after=earlier)
    alone = excite(ur5, **arguments)

    def together(motion):
        new = motion.points(20.0)[1:]
        old = np.zeros((3, len(time), 6))
        old[0] = centre
        old[:, :, 3:] = rows
        base, blocks = base_parameters(ur5), []
        for part, known in ((old, slice(3, 6)), (np.array(new), slice(None))):
            Y = base.regressor(torque_regressor(ur5, *part)) / ur5.jnt_effort[:, np.newaxis]
            blocks.append(Y[:, known].reshape(-1, base.rank) / np.sqrt(len(part[0])))
        return condition(np.concatenate(blocks))

    assert together(after) < together(alone)
    assert together(after) == pytest.approx(after.condition, rel=0.05)
    peaks = np.abs(after.peaks[2])
    # all joints that did not move before do move now
    assert peaks[:3].min() > 0.3 * peaks[:3].max()


PILLAR = """<robot name="pillar"><link name="base">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="{x} {y} 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>
<link name="yaw"><inertial><mass value="1"/><origin xyz="0.3 0 0"/>
<inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="hand"><inertial><mass value="1"/><origin xyz="0.5 0 0.1"/>
<inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="1 0 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="yaw"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" velocity="2" effort="50"/></joint>
<joint name="roll" type="revolute"><parent link="yaw"/><child link="hand"/><axis xyz="1 0 0"/>
<limit lower="-2" upper="2" velocity="2" effort="50"/></joint></robot>"""


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_motion_keeps_clear_of_obstacles(side):
    # the hand moves on a circle of radius 1, and the pillar stands on it at 0.8 rad
    text = PILLAR.format(x=np.cos(0.8), y=side * np.sin(0.8))
    m = rb.load_urdf(text, contact=Contact())
    arguments = {"harmonics": 3, "duration": 10.0, "centre": [0.0, 0.0]}
    clear = SelfCollision(m, np.arange(2), 0.01)
    motion = excite(
        rb.load_urdf(text), **arguments, check=lambda path, qpos: clear.check([path], qpos)
    )
    free = excite(rb.load_urdf(text), **arguments)
    angles = [side * one.sample(np.linspace(0.0, 10.0, 2001))[0, :, 0] for one in (motion, free)]
    nearest = [2.0 * np.sin(0.5 * (0.8 - angle.max())) for angle in angles]
    assert nearest[1] < 0.1  # without the check the hand would touch the pillar
    assert 0.11 - 1e-3 <= nearest[0] < 0.3  # with the check the hand keeps its distance
    # even a small motion about this centre would touch the pillar
    with refused(RbdynError, "self-collision"):
        excite(
            rb.load_urdf(text),
            **arguments | {"centre": [side * 0.75, 0.0]},
            check=lambda path, qpos: clear.check([path], qpos),
        )
