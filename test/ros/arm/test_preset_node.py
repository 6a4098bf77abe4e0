"""The arm controller with the name of an arm: its topics, what the log says, refused starts."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from support.refusals import worded
from support.robots import find


def publishers(peer, topic):
    return [info.node_name for info in peer.node.get_publishers_info_by_topic(topic)]


def test_a_preset_names_topics_and_explicit_values_count_more(control, peer):
    robot = find("ur5_robot.urdf")
    node = control(robot, arm="ur5e")
    commands = "/forward_effort_controller/commands"
    peer.until(lambda: publishers(peer, commands))
    said = node.text()
    assert "arm 'ur5e' behind ur_robot_driver; its preset was not run on the arm" in said
    assert "robot_compensates_gravity is true" in said
    assert "output is effort_commands" in said
    assert not publishers(peer, "/effort_commands")
    node.end_well()

    node = control(
        robot, arm="ur5e", remap={"effort_commands": "/mine"}, robot_compensates_friction="false"
    )
    peer.until(lambda: publishers(peer, "/mine"))
    said = node.text()
    assert "robot_compensates_friction is false, set explicitly; the preset has true" in said
    assert "topic effort_commands is /mine, explicitly" in said
    node.end_well()


def test_refused_starts_with_a_preset(control):
    """Exit status 2 and one line each."""
    robot = find("ur5_robot.urdf")
    starts = [
        ({"arm": "ur5"}, "did you mean 'ur5e'"),
        ({"arm": "fr3"}, "the robot has no joint"),
        ({"arm": "xarm7"}, "takes no efforts"),
        ({"arm": "5"}, "'arm'"),
        ({"arm": "ur5e", "friction_compensation": 0.9}, "friction_compensation is 0.9"),
    ]
    started = [control(robot, False, **given) for given, _ in starts]
    for controller, (_, words) in zip(started, starts, strict=True):
        assert controller.process.wait(120.0) == 2, controller.text()
        lines = controller.text().splitlines()
        (why,) = (line for line in lines if line.startswith("rbdyn: "))
        assert words in why
        worded("arm_controller", why)
        assert "Traceback" not in controller.text()
