# SPDX-License-Identifier: Apache-2.0
"""The commands `rbdyn topic`, `rbdyn service` and `rbdyn param` reach a node in a thread."""

import threading
import time

import pytest
import yaml
from support.commands import run
from support.refusals import refused

import rbdyn_ros as rb

rclpy = pytest.importorskip("rclpy")
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

graph_tools = pytest.importorskip("rbdyn_ros.ros.graph_tools")
JOINT_STATE = "sensor_msgs/msg/JointState"


@pytest.fixture
def tool(domain, monkeypatch):
    """Return a function that runs `rbdyn` and returns exit status, stdout and stderr."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

    def call(*words):
        for _ in range(5):  # a busy machine may lose an answer
            done = run(*words)
            if "does not answer" not in done.stderr:
                break
        return done.returncode, done.stdout, done.stderr

    return call


@pytest.fixture
def peer(domain, monkeypatch):
    """Yield a node `/peer` with a topic, a service and a parameter, served in a thread."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("peer", context=context)
    node.heard = []
    node.declare_parameter("rate", 1.0)
    node.declare_parameter("size", 2, ParameterDescriptor(read_only=True))
    node.add_on_set_parameters_callback(
        lambda given: SetParametersResult(successful=given[0].value > 0.0, reason="too low")
    )
    states = node.create_publisher(JointState, "joint_states", 10)
    state = JointState(name=["elbow"], position=[0.5])
    node.create_timer(0.01, lambda: states.publish(state))
    node.create_subscription(JointState, "joint_commands", node.heard.append, 10)

    def answer(request, response):
        response.success, response.message = request.data, "paused"
        return response

    node.create_service(SetBool, "~/pause", answer)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    yield node
    executor.shutdown()
    thread.join(60.0)
    rclpy.shutdown(context=context)


def test_topics_can_be_listed_printed_timed_and_published(tool, peer):
    status, out, _ = tool("topic", "list")
    assert status == 0
    assert f"/joint_states [{JOINT_STATE}]" in out.splitlines()
    status, out, _ = tool("topic", "echo", "--once", "joint_states")
    state = yaml.safe_load(out.split("---")[0])
    assert (status, state["name"], state["position"]) == (0, ["elbow"], [0.5])
    status, out, _ = tool("topic", "hz", "/joint_states", "--once")
    assert (status, float(out.split()[0]) > 0.0) == (0, True)
    words = ("topic", "pub", "/joint_commands", "--once", JOINT_STATE, "{name: [a], effort: [3]}")
    assert tool(*words)[0] == 0  # options may stand anywhere, as with ros2
    end = time.monotonic() + 60.0
    while not peer.heard and time.monotonic() < end:
        time.sleep(0.01)
    assert (peer.heard[0].name, peer.heard[0].effort.tolist()) == (["a"], [3.0])


def test_services_can_be_called_and_parameters_set(tool, peer):
    call = ("service", "call", "/peer/pause", "std_srvs/srv/SetBool", "{data: true}")
    status, out, _ = tool(*call)
    assert (status, yaml.safe_load(out)) == (0, {"success": True, "message": "paused"})
    status, out, _ = tool("param", "list", "/peer")
    assert (status, "rate" in out.split()) == (0, True)
    assert tool("param", "set", "/peer", "rate", "0.5")[0] == 0
    assert tool("param", "get", "/peer", "rate")[:2] == (0, "0.5\n")
    status, _, err = tool("param", "set", "/peer", "rate", "-1.0")
    assert (status, "/peer refuses rate = -1.0: too low" in err) == (1, True)
    status, _, err = tool("param", "get", "/peer", "ratee")
    assert (status, "did you mean 'rate'" in err) == (1, True)
    status, _, err = tool("param", "set", "/peer", "ratee", "0.5")
    assert (status, "/peer has no parameter 'ratee' (did you mean 'rate'?)" in err) == (1, True)
    status, _, err = tool("param", "set", "/peer", "size", "3")
    assert (status, "refuses size = 3" in err, "--ros-args -p size:=3" in err) == (1, True, True)


def test_the_commands_report_misspelled_names(tool, peer, monkeypatch):
    monkeypatch.setattr(graph_tools, "WAIT", 3.0)
    for words, text in (
        (("param", "list", "/per"), "the nodes of ROS_DOMAIN_ID"),
        (("param", "list", "/per"), "did you mean '/peer/list_parameters'?"),
        (("service", "call", "/peer/paus", "std_srvs/srv/SetBool"), "did you mean '/peer/pause'?"),
        (("service", "call", "/peer/pause", "std_srvs/srv/Trigger"), "std_srvs/srv/SetBool"),
        (("topic", "echo", "/joint_state"), "did you mean '/joint_states'?"),
    ):
        for _ in range(5):  # a busy machine discovers the peer late
            found, _, err = tool(*words)
            if text in err:
                break
        assert (found, text in err) == (1, True), err


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("topic", "lst"), 2, "'lst' is not allowed (did you mean 'list'?); allowed are 'list',"),
        (("topic", "echo"), 2, "expected: rbdyn topic echo TOPIC"),
        (("topic", "pub", "/a", "sensor_msgs/JointStat"), 1, "there is no type"),
        (("topic", "pub", "/a", JOINT_STATE, "{nam: [a]}"), 1, "did you mean 'name'"),
        (("topic", "pub", "/a", JOINT_STATE, "{position: [high]}"), 1, "JointState.position"),
        (("topic", "pub", "/a", JOINT_STATE, "[1"), 1, "is not YAML"),
        (("topic", "pub", "/a", JOINT_STATE, "3"), 1, 'write them as "{field: value}"'),
        (("topic", "pub", "/a", JOINT_STATE, "-r", "0"), 2, "the rate is 0"),
        (("param", "set", "/simulator", "a"), 2, "expected: rbdyn param set NODE NAME VALUE"),
    ],
)
def test_wrong_commands_and_missing_arguments_are_refused(tool, words, status, text):
    found, _, err = tool(*words)
    assert (found, text in err) == (status, True), err


def test_missing_names_are_reported_after_a_bounded_wait(tool, monkeypatch):
    monkeypatch.setattr(graph_tools, "WAIT", 0.3)
    for words, text in (
        (("topic", "echo", "/joint_state"), "there is no topic '/joint_state'"),
        (("service", "call", "/a", "std_srvs/srv/Trigger"), "there is no service '/a'"),
        (("topic", "pub", "/a", JOINT_STATE, "--once"), "there is no subscriber of /a"),
    ):
        found, _, err = tool(*words)
        assert (found, text in err) == (1, True), err


def test_messages_are_filled_from_yaml_and_printed_as_yaml():
    transform = graph_tools.interface("geometry_msgs/msg/TransformStamped", "msg")
    values = {"header": {"frame_id": "a"}, "transform": {"rotation": {"w": 1}}}
    message = graph_tools.filled(transform(), values)
    assert (message.header.frame_id, message.transform.rotation.w) == ("a", 1.0)
    assert yaml.safe_load(graph_tools.as_text(message))["transform"]["rotation"]["w"] == 1.0
    path = graph_tools.interface("nav_msgs/msg/Path", "msg")
    poses = [{"pose": {"position": {"x": 2}}}]
    assert graph_tools.filled(path(), {"poses": poses}).poses[0].pose.position.x == 2.0
    with refused(rb.RbdynError, "request"):
        graph_tools.filled(path(), {"poses": [3]})
