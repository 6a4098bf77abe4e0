# SPDX-License-Identifier: Apache-2.0
"""Grippers without ROS: their presets, limits, widths and forces, and how goals end."""

import math
from types import SimpleNamespace

import pytest
from support.robots import find, needs_robots

import rbdyn_ros as rb
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.common.gripper_goal import GripperMonitor, GripperState
from rbdyn_ros.ros.common.grippers import PARAMETERS, gripper_presets, grippers_of


def values(*grippers, **more):
    found = {row.name: row.default for row in PARAMETERS}
    found |= {f"gripper.{name}": value for name, value in more.items()}
    return SimpleNamespace(**found | {"grippers": grippers})


def test_presets_have_their_makers_figures():
    presets = gripper_presets()
    assert set(presets) == {"franka_hand", "robotiq_2f_85", "robotiq_2f_140"}
    assert presets["franka_hand"].slope == 2.0  # two fingers
    for name, width in (("robotiq_2f_85", 0.085), ("robotiq_2f_140", 0.14)):
        preset = presets[name]
        assert preset.slope * (preset.open - preset.closed) == pytest.approx(width)
        assert preset.slope < 0.0  # a larger angle closes it


@needs_robots
def test_the_hand_of_the_panda_has_its_width_and_force():
    (hand,) = grippers_of(
        rb.load_urdf(find("panda.urdf")), values("franka_hand", max_velocity=0.05)
    )
    assert hand.joint == "panda_finger_joint1"
    assert (hand.lower, hand.upper, hand.effort, hand.velocity) == (0.0, 0.04, 100.0, 0.2)
    assert hand.width(0.04) == 0.08
    assert hand.force(-20.0) == 10.0
    assert hand.goal(0.02).velocity == 0.05
    assert hand.goal(0.02).effort == 100.0
    assert hand.goal(0.02, 1.0, 1e4) == hand.goal(0.02, 0.2, 100.0)  # the joint's limits


@needs_robots
def test_without_a_preset_width_and_force_are_not_known():
    (finger,) = grippers_of(rb.load_urdf(find("panda.urdf")), values("panda_finger_joint1"))
    assert math.isnan(finger.width(0.04))
    assert math.isnan(finger.force(1.0))


@needs_robots
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("panda_finger_joint2", "mimics joint 'panda_finger_joint1'; name that one"),
        ("panda_finger_joint", "did you mean 'panda_finger_joint"),
        ("robotiq_2f_140", "in the robot that is none of its joints"),
    ],
)
def test_a_joint_that_moves_no_gripper_is_refused(name, words):
    with pytest.raises(RbdynError) as caught:
        grippers_of(rb.load_urdf(find("panda.urdf")), values(name))
    assert words in str(caught.value)


SECOND = 10**9


def state(time=0.0, position=0.0, velocity=0.0, number=1, failed=""):
    return GripperState(round(time * SECOND), position, velocity, -3.0, number, failed)


def test_a_slow_gripper_stalls_after_the_timeout_and_a_moving_one_does_not():
    monitor = GripperMonitor(0.5, 1, values(), 0)
    assert monitor.ending(state(0.9), False) is None
    assert monitor.ending(state(1.0, velocity=0.002), False) is None
    assert monitor.ending(state(2.0), False) is None
    end = monitor.ending(state(2.001), False)
    assert (end.how, end.stalled, end.reached) == ("abort", True, False)


def test_the_tolerance_is_open_as_in_gripper_controllers():
    monitor = GripperMonitor(0.5, 1, values(goal_tolerance=0.25), 0)
    assert monitor.ending(state(position=0.25), False) is None
    assert monitor.ending(state(position=0.26), False).reached


def test_a_reset_of_time_ends_a_goal():
    monitor = GripperMonitor(0.5, 1, values(), SECOND)
    assert monitor.ending(state(0.5), False).why == "time was reset"
