# SPDX-License-Identifier: Apache-2.0
"""Messages of topic-based hardware become commands, and the sample's files fit the simulator."""

import math
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

pytest.importorskip("rclpy", reason="rclpy is not installed")

from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.reading.xacro_files import expand
from rbdyn_ros.ros.common.parsing.commands import command_parser
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.simulator.topics.topic_based import TOPIC, TopicBasedParser
from rbdyn_ros.runtime.types import EFFORT, NUMBERS, POSITION, VELOCITY

BOX = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
NAN = math.nan
NAMES = ["a", "b", "c"]


def robot():
    """Return a robot: joints a, b and c, a jaw that mimics a, and a fixed mount."""
    builder = rb.SystemBuilder("arm")
    for name in ("a", "b", "c", "jaw", "mount"):
        builder.body(f"{name}_body", BOX)
    for name in ("a", "b", "c", "jaw"):
        builder.joint(name, "revolute", "base", f"{name}_body", axis=(0, 0, 1))
    builder.joint("mount", "fixed", "base", "mount_body")
    return builder.couple("jaw", "a", 2.0).description()


@pytest.fixture(scope="module")
def make():
    m = rb.build(robot())

    def make(position=(), velocity=(), effort=(), partial="keep"):
        interfaces = {"position": position, "velocity": velocity, "effort": effort}
        return TopicBasedParser(command_parser(m, robot(), partial), interfaces)

    return make


def rows(command):
    """Return mode, position, velocity and effort by the number of the dof."""
    table = zip(
        command.mode.tolist(), *(getattr(command, name) for name in NUMBERS[:3]), strict=True
    )
    return dict(zip(command.dofs.tolist(), table, strict=True))


def test_a_nan_in_a_message_is_not_a_command(make):
    command = make(partial="reject").parse(NAMES, [0.1, NAN, NAN], [], [NAN, NAN, 0.3])
    assert rows(command) == {0: (POSITION, 0.1, 0.0, 0.0), 2: (EFFORT, 0.0, 0.0, 0.3)}


def test_positions_have_priority_over_velocities_and_velocities_over_efforts(make):
    command = make().parse(NAMES, [1.0, NAN, NAN], [2.0, 3.0, NAN], [4.0, 5.0, 6.0])
    assert rows(command) == {
        0: (POSITION, 1.0, 2.0, 4.0),
        1: (VELOCITY, 0.0, 3.0, 5.0),
        2: (EFFORT, 0.0, 0.0, 6.0),
    }


def test_an_array_shorter_than_the_names_belongs_to_the_configured_joints(make):
    parser = make(position=["c", "a"], effort=["b"])
    assert rows(parser.parse(NAMES, [1.0, 2.0], [], [3.0])) == {
        2: (POSITION, 1.0, 0.0, 0.0),
        0: (POSITION, 2.0, 0.0, 0.0),
        1: (EFFORT, 0.0, 0.0, 3.0),
    }
    # an array with a number per name ignores the configuration
    assert rows(make(position=["b", "a"]).parse(["a", "b"], [1.0, 2.0], [], [])) == {
        0: (POSITION, 1.0, 0.0, 0.0),
        1: (POSITION, 2.0, 0.0, 0.0),
    }


def test_a_message_with_only_nan_or_empty_arrays_commands_nothing(make):
    assert rows(make().parse(NAMES, [NAN] * 3, [], [NAN] * 3)) == {}
    assert rows(make().parse(NAMES, [], [], [])) == {}
    assert rows(make(partial="zero").parse(["mount", "jaw", "b"], [NAN, NAN, 1.0], [], [])) == {
        1: (POSITION, 1.0, 0.0, 0.0)
    }


def test_a_mimic_joint_accepts_only_efforts(make):
    assert rows(make().parse(["jaw"], [], [], [1.5])) == {0: (EFFORT, 0.0, 0.0, 3.0)}
    with refused(rb.RbdynError, "request", "joint 'jaw'"):
        make().parse(["jaw"], [1.0], [], [])


REFUSED = [
    (NAMES, [1.0, math.inf, NAN], []),
    (NAMES, [], [0.0, -math.inf]),
    (NAMES, [1.0], []),
    (["a"], [], [1.0, 1.0]),
    (["a", "b", "jaw"], [], [NAN, NAN]),
    (["a", "a"], [1.0, 1.0], []),
    (["a", "juw"], [1.0, NAN], []),
    (["mount"], [1.0], []),
    ([], [], []),
]


@pytest.mark.parametrize(("names", "position", "effort"), REFUSED)
def test_invalid_messages_of_topic_based_hardware_are_refused(make, names, position, effort):
    with refused(rb.RbdynError, "request"):
        make(effort=["a", "c"]).parse(names, position, [], effort)


def test_unsuitable_joints_in_the_configuration_are_refused(make):
    with refused(rb.ParameterError, ["parameter"] * 3) as error:
        make(position=["a", "jaw"], velocity=["b", "b"], effort=["d"])
    assert [finding.element for finding in error.value.findings] == [
        f"topic_based_{kind}_joints" for kind in ("position", "velocity", "effort")
    ]


SAMPLE = Path(__file__).parents[4] / "config" / "ros2_control"


@pytest.fixture(scope="module")
def sample():
    """Return the sample's robot, and a function that expands its <ros2_control> element."""
    path = SAMPLE / "seven_dof_arm.urdf.xacro"

    def tag(**arguments):
        text = expand(path, Audit(), xacro_args=arguments)
        return ET.fromstring(text).find("ros2_control")

    return rb.load_urdf(path), tag


def interfaces(joint, kind):
    return [found.get("name") for found in joint.findall(kind)]


def test_the_sample_names_the_joints_of_its_robot(sample):
    m, tag = sample
    joints = tag().findall("joint")
    assert tuple(joint.get("name") for joint in joints) == SingleJoints.commanded(m).names
    for joint in joints:
        assert interfaces(joint, "command_interface") == ["position"]
        assert interfaces(joint, "state_interface") == ["position", "velocity", "effort"]
    for joint in tag(command_interface="effort").findall("joint"):
        assert interfaces(joint, "command_interface") == ["effort"]


def test_the_sample_has_the_topics_of_the_node(sample):
    _, tag = sample
    hardware = tag(namespace="/left").find("hardware")
    assert hardware.find("plugin").text == (
        "joint_state_topic_hardware_interface/JointStateTopicSystem"
    )
    assert {param.get("name"): param.text for param in hardware.findall("param")} == {
        "joint_commands_topic": f"/left/{TOPIC}",
        "joint_states_topic": "/left/joint_states",
        "trigger_joint_command_threshold": "-1",
        "sum_wrapped_joint_states": "false",
    }
    topics = [param.text for param in tag().find("hardware").findall("param")][:2]
    assert topics == ["/topic_based_joint_commands", "/joint_states"]


def test_all_files_of_the_sample_configure_the_same_joints(sample):
    m, _ = sample
    names = SingleJoints.commanded(m).names
    simulator = yaml.safe_load((SAMPLE / "simulator.yaml").read_text())["/**"]["ros__parameters"]
    assert tuple(simulator["topic_based_position_joints"]) == names
    assert simulator["topic_based_commands"] is True
    controllers = yaml.safe_load((SAMPLE / "controllers.yaml").read_text())
    arm = controllers["arm_controller"]["ros__parameters"]
    assert tuple(arm["joints"]) == names
    assert arm["command_interfaces"] == ["position"]
    manager = controllers["controller_manager"]["ros__parameters"]
    assert simulator["clock_rate"] >= manager["update_rate"]
    # the hardware commands in every update, so commands must not expire between two updates
    assert 1.0 / manager["update_rate"] < simulator.get("command_timeout", 0.1)
