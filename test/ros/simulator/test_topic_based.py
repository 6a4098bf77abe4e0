"""What ros2_control's bridge may send, and the sample that points it at the simulator."""

import math
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.urdf_files.xacro_files import expand
from rbdyn_ros.ros.common.convert import SingleJoints
from rbdyn_ros.ros.simulator.commands import make_gate
from rbdyn_ros.ros.simulator.topic_based import TOPIC, TopicBasedGate
from rbdyn_ros.runtime.orders import EFFORT, NUMBERS, POSITION, VELOCITY, Command

BOX = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
NAN = math.nan
NAMES = ["a", "b", "c"]


def robot():
    """Joints a, b and c, a jaw that follows a, and a fixed mount."""
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
        return TopicBasedGate(make_gate(m, robot(), partial), interfaces)

    return make


def rows(judged):
    """By dof: mode, position, velocity, effort."""
    assert isinstance(judged, Command), judged
    table = zip(
        judged.mode.tolist(), *(getattr(judged, name) for name in NUMBERS[:3]), strict=True
    )
    return dict(zip(judged.dofs.tolist(), table, strict=True))


def test_nan_is_no_command_and_an_empty_array_none_of_its_kind(make):
    judged = make(partial="reject").judge(NAMES, [0.1, NAN, NAN], [], [NAN, NAN, 0.3])
    assert rows(judged) == {0: (POSITION, 0.1, 0.0, 0.0), 2: (EFFORT, 0.0, 0.0, 0.3)}


def test_position_before_velocity_before_effort_and_the_rest_feeds_forward(make):
    judged = make().judge(NAMES, [1.0, NAN, NAN], [2.0, 3.0, NAN], [4.0, 5.0, 6.0])
    assert rows(judged) == {
        0: (POSITION, 1.0, 2.0, 4.0),
        1: (VELOCITY, 0.0, 3.0, 5.0),
        2: (EFFORT, 0.0, 0.0, 6.0),
    }


def test_a_short_array_is_of_the_configured_joints_in_their_order(make):
    gate = make(position=["c", "a"], effort=["b"])
    assert rows(gate.judge(NAMES, [1.0, 2.0], [], [3.0])) == {
        2: (POSITION, 1.0, 0.0, 0.0),
        0: (POSITION, 2.0, 0.0, 0.0),
        1: (EFFORT, 0.0, 0.0, 3.0),
    }
    # as long as the names: theirs, whatever is configured
    assert rows(make(position=["b", "a"]).judge(["a", "b"], [1.0, 2.0], [], [])) == {
        0: (POSITION, 1.0, 0.0, 0.0),
        1: (POSITION, 2.0, 0.0, 0.0),
    }


def test_a_bridge_that_nobody_commands_commands_nothing(make):
    assert rows(make().judge(NAMES, [NAN] * 3, [], [NAN] * 3)) == {}
    assert rows(make().judge(NAMES, [], [], [])) == {}
    assert rows(make(partial="zero").judge(["mount", "jaw", "b"], [NAN, NAN, 1.0], [], [])) == {
        1: (POSITION, 1.0, 0.0, 0.0)
    }


def test_a_follower_takes_efforts_only(make):
    assert rows(make().judge(["jaw"], [], [], [1.5])) == {0: (EFFORT, 0.0, 0.0, 3.0)}
    assert make().judge(["jaw"], [1.0], [], []) == (
        "joint 'jaw' follows joint 'a' and takes efforts only; give the position to 'a'"
    )


REFUSED = [
    (
        NAMES,
        [1.0, math.inf, NAN],
        [],
        (
            "the position of joint 'b' is inf; a number up to 1e+100, or NaN for no command, is "
            "needed"
        ),
    ),
    (
        NAMES,
        [],
        [0.0, -math.inf],
        "the effort of joint 'c' is -inf; a number up to 1e+100, or NaN for no command, is needed",
    ),
    (
        NAMES,
        [1.0],
        [],
        (
            "there are 1 positions for 3 names, and topic_based_position_joints has 0 joints; as "
            "many as one of them, or none, are needed"
        ),
    ),
    (
        ["a"],
        [],
        [1.0, 1.0],
        (
            "there are 2 efforts for 1 names, and topic_based_effort_joints has 2 joints; as "
            "many as one of them, or none, are needed"
        ),
    ),
    (
        ["a", "b", "jaw"],
        [],
        [NAN, NAN],
        "topic_based_effort_joints has joint 'c', which the message does not name",
    ),
    (["a", "a"], [1.0, 1.0], [], "joint 'a' is named twice"),
    (["a", "juw"], [1.0, NAN], [], "there is no joint 'juw' (did you mean 'jaw'?)"),
    (["mount"], [1.0], [], "joint 'mount' is fixed"),
    ([], [], [], "it names no joint"),
]


@pytest.mark.parametrize(("names", "position", "effort", "words"), REFUSED)
def test_what_is_refused(make, names, position, effort, words):
    assert make(effort=["a", "c"]).judge(names, position, [], effort) == words


def test_a_configuration_that_cannot_be_is_refused(make):
    with pytest.raises(rb.ParameterError) as caught:
        make(position=["a", "jaw"], velocity=["b", "b"], effort=["d"])
    assert [str(finding) for finding in caught.value.findings] == [
        (
            "parameter 'topic_based_position_joints': joint 'jaw' follows joint 'a' and takes "
            "efforts only; give the position to 'a'."
        ),
        "parameter 'topic_based_velocity_joints': joint 'b' is named twice.",
        "parameter 'topic_based_effort_joints': there is no joint 'd'; there are a, b, c, jaw.",
    ]


SAMPLE = Path(__file__).parents[3] / "config" / "ros2_control"


@pytest.fixture(scope="module")
def sample():
    """The robot of the sample, and its <ros2_control> tag by the arguments of the xacro file."""
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
    assert tuple(joint.get("name") for joint in joints) == SingleJoints.actuated(m).names
    for joint in joints:
        assert interfaces(joint, "command_interface") == ["position"]
        assert interfaces(joint, "state_interface") == ["position", "velocity", "effort"]
    for joint in tag(command_interface="effort").findall("joint"):
        assert interfaces(joint, "command_interface") == ["effort"]


def test_the_sample_points_at_the_topics_of_the_node(sample):
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


def test_the_sample_configures_the_same_joints_everywhere(sample):
    m, _ = sample
    names = SingleJoints.actuated(m).names
    simulator = yaml.safe_load((SAMPLE / "simulator.yaml").read_text())["/**"]["ros__parameters"]
    assert tuple(simulator["topic_based_position_joints"]) == names
    assert simulator["topic_based_commands"] is True
    controllers = yaml.safe_load((SAMPLE / "controllers.yaml").read_text())
    arm = controllers["arm_controller"]["ros__parameters"]
    assert tuple(arm["joints"]) == names
    assert arm["command_interfaces"] == ["position"]
    manager = controllers["controller_manager"]["ros__parameters"]
    assert simulator["clock_rate"] >= manager["update_rate"]
    # every update sends; the simulator must not give commands up between two of them
    assert 1.0 / manager["update_rate"] < simulator.get("command_timeout", 0.1)
