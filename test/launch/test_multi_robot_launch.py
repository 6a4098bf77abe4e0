# SPDX-License-Identifier: Apache-2.0
"""launch/multi_robot.launch.py gives each robot a namespace, and all robots one /clock."""

import time
from pathlib import Path

import pytest

pytest.importorskip("launch_ros", reason="launch and launch_ros are in no package registry")

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile

LAUNCH = Path(__file__).parents[2] / "launch"


def test_every_robot_has_a_namespace_and_a_prefix_and_only_one_publishes_the_clock(launch_file):
    told = launch_file("multi_robot.launch.py", "robots:=left,right, top").told(3)
    assert set(told) == {"/left/simulator", "/right/simulator", "/top/simulator"}
    for name in ("left", "right", "top"):
        parameters = told[f"/{name}/simulator"]["parameters"]
        assert parameters["frame_prefix"] == f"{name}/"
        assert "robots" not in parameters
        assert parameters["on_timeout"] == "gravity"  # config/multi_robot.yaml sets this
        # `left` publishes the clock by default, and the others use it
        assert parameters.get("publish_clock", True) == (name == "left")
        assert parameters["use_sim_time"] == (name != "left")
    seeds = [row["parameters"].get("seed") for row in told.values()]
    assert set(seeds) == {1, 2, None}


def test_a_single_process_gets_the_list_of_robots_and_no_namespace(launch_file):
    started = launch_file("multi_robot.launch.py", "one_process:=true")
    told = started.told()
    assert told["/simulator"]["parameters"]["robots"] == ["left", "right"]
    # `__ns` would move every node of the process into one namespace
    assert not any("__ns" in word for word in told["/simulator"]["argv"])


def test_arguments_are_passed_to_all_simulators(launch_file):
    told = launch_file("multi_robot.launch.py", "on_timeout:=hold").told(2)
    assert {row["parameters"]["on_timeout"] for row in told.values()} == {"hold"}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("left,,right", "'' is not a valid namespace"),
        ("left,2nd", "'2nd' is not a valid namespace"),
        ("[left]", "'[left]' is not a valid namespace"),
        ("left,left", "'left' is named twice"),
    ],
)
def test_invalid_names_are_refused(launch_file, names, words):
    started = launch_file("multi_robot.launch.py", f"robots:={names}")
    assert started.process.wait(120.0) == 1
    assert f"robots is '{names}': {words}" in started.text()


@pytest.mark.parametrize("one_process", ["false", "true"])
def test_two_launched_robots_have_their_own_topics(launch_file, domain, one_process, monkeypatch):
    started = launch_file("multi_robot.launch.py", f"one_process:={one_process}", real=True)
    started.wait_for("simulating 'seven_dof_arm'", times=2)
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node("peer", context=context)
    try:
        for robot in ("left", "right"):
            until(lambda topic=f"/{robot}/joint_states": node.count_publishers(topic) == 1)
        assert node.count_publishers("/joint_states") == 0
        expected = ["/" if one_process == "true" else "/left"]
        until(lambda: clocks(node) == expected)
        frames = roots(node, context)
        assert frames == {("world", "left/base_link"), ("world", "right/base_link")}
    finally:
        node.destroy_node()
        context.try_shutdown()
    assert started.end() == 0, started.text()


@pytest.mark.parametrize("one_process", ["false", "true"])
def test_two_robots_of_another_urdf_can_be_launched(launch_file, one_process):
    urdf = LAUNCH.parent / "config" / "robots" / "pendulum.urdf"
    given = (f"urdf:={urdf}", f"one_process:={one_process}")
    started = launch_file("multi_robot.launch.py", *given, real=True)
    started.wait_for("simulating 'pendulum'", times=2)
    assert started.end() == 0, started.text()


def clocks(node):
    """Return the namespaces of the nodes that publish /clock."""
    return [claim.node_namespace for claim in node.get_publishers_info_by_topic("/clock")]


def roots(node, context):
    """Return the pairs ("world", child frame) in /tf_static."""
    tf_message = pytest.importorskip("tf2_msgs.msg").TFMessage
    messages = []
    qos = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(tf_message, "/tf_static", messages.append, qos)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    until(lambda: executor.spin_once(timeout_sec=0.05) or len(messages) == 2)
    executor.remove_node(node)
    found = [t for message in messages for t in message.transforms]
    return {(t.header.frame_id, t.child_frame_id) for t in found if t.header.frame_id == "world"}


def until(condition, timeout=300.0):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "the condition is still false"
        time.sleep(0.05)
