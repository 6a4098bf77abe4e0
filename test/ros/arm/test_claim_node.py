# SPDX-License-Identifier: Apache-2.0
"""One controller commands an arm, and one publisher sends its states."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from arm_pair import SENDERS_KNOWN, UR5_START, start_pair
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support.robots import find

RIVAL = "another controller is called /arm_controller"


def test_a_second_node_that_commands_the_arm_or_sends_its_states_is_a_fault(
    simulate, control, peer
):
    robot = find("ur5_robot.urdf")
    twin = control(robot, False, mode="gravity", state_timeout=1)
    pair = start_pair(simulate, control, peer, robot, UR5_START, 250)
    neither_twin_arms(pair, twin)
    of_states = (another_device, other_states) if SENDERS_KNOWN else (a_counted_device,)
    for scenario in (*of_states, other_efforts, a_twin_appears):
        pair.peer.until(lambda: "rival" not in pair.ask("arm"))
        pair.arm_it()
        scenario(pair, control)
        pair.do("disarm", "clear_fault")
    pair.end_well()


def neither_twin_arms(pair, twin):
    """Two controllers of one name get each service call, so the arm is not armed."""
    for controller in (pair.controller, twin):
        controller.wait_for("controlling '")
        controller.wait_for(RIVAL, 30.0)
    pair.arm.rest(0.04)
    for _ in range(5):
        assert RIVAL in pair.ask("arm")
    pair.arm.wait(0.2)
    for controller in (pair.controller, twin):
        assert "; armed" not in controller.text()
    twin.end_well()
    assert RIVAL not in pair.ask("arm")


def another_device(pair, _):
    """A gripper that publishes its states on the same topic is no fault."""
    publisher = pair.peer.publisher(JointState, "joint_states")
    for _ in range(20):
        publisher.publish(JointState(name=["finger"], position=[0.1]))
        pair.arm.wait(0.01)
    assert pair.said[-1] == "gravity; armed"
    pair.peer.node.destroy_publisher(publisher)


def a_counted_device(pair, _):
    """If rclpy hides senders, a publisher counts as a rival until it sends other joints."""
    publisher = pair.peer.publisher(JointState, "joint_states")
    ends(pair, "holding")
    assert "/joint_states" in pair.said[-1]  # the node's name may not be known yet
    pair.do("disarm", "clear_fault")
    pair.peer.until(lambda: "/peer" in pair.ask("arm"))
    finger = JointState(name=["finger"], position=[0.1])
    pair.peer.insist(publisher, finger, lambda: "rival" not in pair.ask("arm"))
    pair.arm_it()
    pair.peer.node.destroy_publisher(publisher)


def other_efforts(pair, _):
    """Another node commands the arm, on a topic that this controller does not use."""
    publisher = pair.peer.publisher(Float64MultiArray, "effort_commands")
    ends(pair, "holding")
    assert "/effort_commands" in pair.said[-1]  # the node's name may not be known yet
    pair.do("disarm", "clear_fault")
    pair.peer.until(lambda: "/peer" in pair.ask("arm"))
    pair.peer.node.destroy_publisher(publisher)


def other_states(pair, _):
    """Another publisher sends states of the same joints at other positions."""
    publisher = pair.peer.publisher(JointState, "joint_states")
    first = len(pair.arm.rows)
    elsewhere = np.add(pair.arm.position, 0.2).tolist()
    state = JointState(name=pair.arm.names, position=elsewhere, velocity=[0.0] * 6)
    state.header.stamp = pair.peer.node.get_clock().now().to_msg()

    def said():
        return "fault rivals" in pair.said[-1] and "silent" in pair.said[-1]

    pair.peer.insist(publisher, state, said)
    assert "two publishers" in pair.said[-1]  # the nodes' names may not be known yet
    pair.do("disarm", "clear_fault")

    def refused():
        publisher.publish(state)
        why = pair.ask("arm")
        return all(words in why for words in ("two publishers", "/peer", "/simulator"))

    pair.peer.until(refused)
    pair.peer.node.destroy_publisher(publisher)
    speeds = [np.abs(row[2]).max() for row in pair.arm.rows[first:]]
    assert max(speeds) < 0.1


def a_twin_appears(pair, control):
    """A second controller in a dry run is a rival, too: service calls reach both controllers."""
    twin = control(find("ur5_robot.urdf"), True, mode="gravity", dry_run="true")
    pair.controller.wait_for(f"fault rivals: {RIVAL}", 30.0)
    pair.arm.rest()
    pair.controller.wait_for("holding")
    twin.end_well()


def ends(pair, ending):
    pair.until_said("fault rivals", ending)
    place = pair.arm.rest()
    assert np.abs(pair.arm.position - place).max() < 1e-3
