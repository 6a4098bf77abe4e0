# SPDX-License-Identifier: Apache-2.0
"""The simulator warns once of each other node that publishes on its topics."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")

import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from rbdyn_ros.ros.common.graph.qos import LATCHED


@pytest.fixture
def beside(peer):
    """Yield beside(name), which makes a node next to the simulator."""
    nodes = []

    def make(name):
        nodes.append(rclpy.create_node(name, context=peer.context))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()


def test_a_warning_names_each_other_publisher_once_with_the_remedy(
    simulate, beside, peer, two_joints
):
    simulator = simulate(two_joints)
    states = beside("joint_state_publisher")
    states.create_publisher(JointState, "joint_states", 10)
    publisher = beside("robot_state_publisher")
    publisher.create_publisher(TFMessage, "/tf", 100)
    publisher.create_publisher(String, "robot_description", LATCHED)
    publisher.create_subscription(JointState, "joint_states", lambda _: None, 10)
    beside("localisation").create_publisher(TFMessage, "/tf", 100)
    simulator.wait_for("node /joint_state_publisher publishes /joint_states too: its states")
    simulator.wait_for("node /robot_state_publisher publishes /robot_description and /tf too")
    simulator.wait_for("node /localisation publishes /tf too; its frames must not be frames")
    assert "publish_tf:=false" in simulator.text()
    # no further warning comes
    peer.spin(4.0)
    assert simulator.text().count(" too") == 3
    simulator.end_well()


def test_a_robot_state_publisher_beside_a_simulator_without_tf_causes_no_warning(
    simulate, beside, peer, two_joints
):
    simulator = simulate(two_joints, "--ros-args", "-p", "publish_tf:=false")
    publisher = beside("robot_state_publisher")
    publisher.create_publisher(TFMessage, "/tf", 100)
    publisher.create_publisher(String, "robot_description", LATCHED)
    peer.spin(6.0)
    assert " too" not in simulator.text()
    simulator.end_well()
