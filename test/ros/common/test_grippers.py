# SPDX-License-Identifier: Apache-2.0
"""Grippers without ROS apply presets and limits, convert widths and forces, and end goals."""

import math
from types import SimpleNamespace

import pytest
from support.robots import find, needs_robots

import rbdyn_ros as rb
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.common.gripper.gripper_goal import GripperMonitor, GripperState
from rbdyn_ros.ros.common.gripper.grippers import PARAMETERS, gripper_presets, grippers_of


def values(*grippers, **more):
    found = {row.name: row.default for row in PARAMETERS}
    found |= {f"gripper.{name}": value for name, value in more.items()}
    return SimpleNamespace(**found | {"grippers": grippers})


def test_presets_have_the_dimensions_that_the_vendors_publish():
    presets = gripper_presets()
    assert set(presets) == {"franka_hand", "robotiq_2f_85", "robotiq_2f_140", "so101"}
    assert presets["franka_hand"].slope == 2.0  # both fingers move
    # [m/rad]: the 2F-85 closes by 85 mm in 0.7929 rad, the 2F-140 by 140 mm in 0.695 rad
    assert presets["robotiq_2f_85"].slope == pytest.approx(-0.107201, abs=1e-6)
    assert presets["robotiq_2f_140"].slope == pytest.approx(-0.201439, abs=1e-6)
    assert presets["so101"].slope == pytest.approx(0.065629, abs=1e-6)


LINK = "<link name='{0}'><inertial><mass value='0.1'/><inertia {1}/></inertial></link>"
INERTIA = "ixx='1e-4' iyy='1e-4' izz='1e-4' ixy='0' ixz='0' iyz='0'"
JOINT = """<joint name='{}' type='revolute'><parent link='palm'/><child link='{}'/>
  <axis xyz='0 1 0'/><limit lower='0' upper='0.7' effort='10' velocity='2'/>{}</joint>"""


def robotiq(driver, *others, mimic="<mimic joint='{}'/>"):
    """Return a hand with a joint `driver` and joints `others`, which mimic it by default."""
    text = "<link name='palm'/>"
    for k, name in enumerate((driver, *others)):
        follows = mimic.format(driver) if k else ""
        text += LINK.format(f"finger{k}", INERTIA) + JOINT.format(name, f"finger{k}", follows)
    return rb.load_urdf(f"<robot name='hand'>{text}</robot>")


@pytest.mark.parametrize("prefix", ["", "left_", "left/"])
def test_a_preset_finds_its_joint_among_its_mimic_joints(prefix):
    others = [f"{prefix}{side}_inner_finger_joint" for side in ("left", "right")]
    m = robotiq(f"{prefix}finger_joint", *others)
    (hand,) = grippers_of(m, values("robotiq_2f_140"))
    assert hand.joint == f"{prefix}finger_joint"
    assert hand.width(0.695) == pytest.approx(0.0, abs=1e-12)


def test_a_prefix_of_a_joint_name_must_end_with_a_separator():
    with pytest.raises(RbdynError, match="in the robot that is none of its joints"):
        grippers_of(robotiq("myfinger_joint"), values("robotiq_2f_140"))
    with pytest.raises(RbdynError, match="'a_finger_joint', 'b_finger_joint'"):
        grippers_of(
            robotiq("a_finger_joint", "b_finger_joint", mimic=""), values("robotiq_2f_140")
        )


@needs_robots
def test_the_preset_of_the_panda_hand_gives_width_and_force():
    (hand,) = grippers_of(
        rb.load_urdf(find("panda.urdf")), values("franka_hand", max_velocity=0.05)
    )
    assert hand.joint == "panda_finger_joint1"
    assert (hand.lower, hand.upper, hand.effort, hand.velocity) == (0.0, 0.04, 100.0, 0.2)
    assert hand.width(0.04) == 0.08
    assert hand.force(-20.0) == 10.0
    assert hand.goal(0.02).velocity == 0.05
    assert hand.goal(0.02).effort == 100.0
    assert hand.goal(0.02, 1.0, 1e4) == hand.goal(0.02, 0.2, 100.0)  # clipped to limits


@needs_robots
def test_width_and_force_are_unknown_without_a_preset():
    (finger,) = grippers_of(rb.load_urdf(find("panda.urdf")), values("panda_finger_joint1"))
    assert math.isnan(finger.width(0.04))
    assert math.isnan(finger.force(1.0))


@needs_robots
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("panda_finger_joint2", "mimics joint 'panda_finger_joint1'; name that joint"),
        ("panda_finger_joint", "did you mean 'panda_finger_joint"),
        ("robotiq_2f_140", "in the robot that is none of its joints"),
    ],
)
def test_unsuitable_joints_of_a_gripper_are_refused(name, words):
    with pytest.raises(RbdynError) as caught:
        grippers_of(rb.load_urdf(find("panda.urdf")), values(name))
    assert words in str(caught.value)


SECOND = 10**9


def state(time=0.0, position=0.0, velocity=0.0, number=1, failed=""):
    return GripperState(round(time * SECOND), position, velocity, -3.0, number, failed)


def test_only_a_gripper_that_hardly_moves_stalls_after_the_timeout():
    monitor = GripperMonitor(0.5, 1, values(), state())
    assert monitor.ending(state(0.9), False) is None
    assert monitor.ending(state(1.0, velocity=0.002), False) is None
    assert monitor.ending(state(2.0), False) is None
    end = monitor.ending(state(2.001), False)
    assert (end.how, end.stalled, end.reached) == ("abort", True, False)


def test_without_measured_velocities_position_changes_show_that_a_gripper_moves():
    monitor = GripperMonitor(0.0, 1, values(goal_tolerance=1e-3), state(position=0.04))
    for k in range(101):  # closing for 10 s at 2 mm/s with noise of 0.2 mm, then rest
        position = 0.04 - 2e-4 * k + 2e-4 * (-1) ** k
        assert monitor.ending(state(0.1 * k, position), False) is None
    assert monitor.ending(state(10.5, 0.02), False) is None
    assert monitor.ending(state(11.01, 0.0202), False).stalled


def test_a_gripper_that_creeps_counts_as_stalled():
    monitor = GripperMonitor(0.0, 1, values(goal_tolerance=1e-3), state(position=0.04))
    for k in range(11):
        assert monitor.ending(state(0.1 * k, 0.04 - 9e-5 * k), False) is None
    assert monitor.ending(state(1.1, 0.04 - 9e-5 * 11), False).stalled


def test_an_error_equal_to_the_tolerance_does_not_count_as_reached():
    monitor = GripperMonitor(0.5, 1, values(goal_tolerance=0.25), state())
    assert monitor.ending(state(position=0.25), False) is None
    assert monitor.ending(state(position=0.26), False).reached


def test_a_reset_of_time_ends_the_goal_of_a_gripper():
    monitor = GripperMonitor(0.5, 1, values(), state(1.0))
    assert monitor.ending(state(0.5), False).why == "time was reset"
