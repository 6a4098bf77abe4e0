# SPDX-License-Identifier: Apache-2.0
"""A preset gives the arm controller topics and settings, and a wrong preset is refused."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

import numpy as np
from arm_pair import UR5_START, Pair, start_arm
from std_msgs.msg import Float64MultiArray
from support.refusals import worded
from support.robots import find

import rbdyn_ros as rb

ROBOT, COMMANDS = find("ur5_robot.urdf"), "/forward_effort_controller/commands"


def publishers(peer, topic):
    return [info.node_name for info in peer.node.get_publishers_info_by_topic(topic)]


def test_a_preset_names_topics_and_explicit_values_override_it(control, peer):
    node = control(ROBOT, arm="ur5e")
    peer.until(lambda: publishers(peer, COMMANDS))
    said = node.text()
    assert "arm 'ur5e' behind ur_robot_driver; its preset was not run on the arm" in said
    assert "robot_compensates_gravity is true" in said
    assert "output is effort_commands" in said
    assert not publishers(peer, "/effort_commands")
    node.end_well()

    node = control(
        ROBOT, arm="ur5e", remap={"effort_commands": "/mine"}, robot_compensates_friction="false"
    )
    peer.until(lambda: publishers(peer, "/mine"))
    said = node.text()
    assert "robot_compensates_friction is false, set explicitly; the preset has true" in said
    assert "topic effort_commands is /mine, set explicitly" in said
    node.end_well()


def test_a_wrong_preset_ends_the_start_with_one_line(control):
    """Each refused start ends with status 2 and one line in the log."""
    starts = [
        ({"arm": "ur5"}, "did you mean 'ur5e'"),
        ({"arm": "fr3"}, "the robot has no joint"),
        ({"arm": "xarm7"}, "takes no efforts"),
        ({"arm": "5"}, "'arm'"),
        ({"arm": "ur5e", "friction_compensation": 0.9}, "friction_compensation is 0.9"),
    ]
    started = [control(ROBOT, False, **given) for given, _ in starts]
    for controller, (_, words) in zip(started, starts, strict=True):
        assert controller.process.wait(120.0) == 2, controller.text()
        lines = controller.text().splitlines()
        (why,) = (line for line in lines if line.startswith("rbdyn: "))
        assert words in why
        worded("arm_controller", why)
        assert "Traceback" not in controller.text()


def behind_the_driver(simulate, control, peer, **given):
    """Return the Pair of a UR5 with its driver's topics, and the list of its commands."""
    driver = (
        *("-p", "robot_compensates_gravity:=true", "-p", "effort_includes_gravity:=false"),
        *("-r", f"effort_commands:={COMMANDS}"),
    )
    simulator = start_arm(simulate, ROBOT, UR5_START, 250, more=driver)
    words = {"arm": "ur5e", "mode": "gravity", "state_timeout": 1.0, "simulated_clock": "true"}
    controller = control(ROBOT, **words, **given)
    pair, commands = Pair(simulator, controller, peer), []
    peer.node.create_subscription(Float64MultiArray, COMMANDS, commands.append, 10)
    return pair, commands


def test_an_arm_with_the_driver_of_its_preset_floats(simulate, control, peer):
    pair, commands = behind_the_driver(simulate, control, peer)
    pair.arm_it()
    place = pair.arm.position
    peer.until(lambda: len(commands) > 100)
    pair.arm.wait(1.0)
    assert np.abs(pair.arm.position - place).max() < 2e-3
    m = rb.load_urdf(ROBOT)
    d = rb.make_data(m)
    by_name = dict(zip(pair.arm.names, pair.arm.position, strict=True))
    d.qpos = [by_name[name] for name in m.jnt_names]
    # the arm compensates gravity itself, and its measured efforts exclude this compensation
    assert np.abs(rb.gravity_term(m, d)).max() > 10.0
    assert np.abs(commands[-1].data).max() < 1.0
    assert np.abs(pair.arm.rows[-1][3]).max() < 1.0
    pair.end_well()


def test_the_start_up_test_refuses_an_arm_with_a_wrong_setting(simulate, control, peer):
    """The arm compensates gravity, but a parameter that overrides the preset says otherwise."""
    pair, commands = behind_the_driver(simulate, control, peer, robot_compensates_gravity="false")
    pair.arm.rest(0.04)
    pair.until_arming(lambda why: "where the model needs" in why)
    assert not commands
    pair.end_well()
