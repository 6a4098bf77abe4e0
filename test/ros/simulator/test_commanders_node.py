# SPDX-License-Identifier: Apache-2.0
"""Commands on every command topic act on the robot in real time."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("rbdyn_interfaces.msg", reason="rbdyn_interfaces is not built")
pytest.importorskip("trajectory_msgs.msg", reason="trajectory_msgs is not installed")

from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbdyn_interfaces.msg import JointCommand

NAN = float("nan")


class Robot:
    """A simulated robot and its received states."""

    def __init__(self, simulator, peer):
        self.simulator, self.peer = simulator, peer
        self.states = peer.collect(JointState, "joint_states")
        peer.until(lambda: self.states)

    def take(self, publisher, command, condition):
        """Publish a command, again if it is lost, until 10 successive states meet a condition."""
        self.states.clear()
        fulfil = lambda: len(self.states) > 10 and all(map(condition, self.states[-10:]))  # noqa: E731
        self.peer.repeat(lambda: publisher.publish(command), fulfil)


@pytest.fixture
def robot(simulate, peer, two_joints):
    """Yield a robot that is strong enough to reach every target quickly."""
    two_joints.write_text(two_joints.read_text().replace('effort="8"', 'effort="500"'))
    bridge = (
        *("-p", "topic_based_commands:=true", "-p", "topic_based_position_joints:=[lift]"),
        *("-p", "topic_based_effort_joints:=[lift, turn]"),
    )
    timeout = ("-p", "command_timeout:=100.0")
    simulator = simulate(two_joints, "--ros-args", *bridge, *timeout)
    yield Robot(simulator, peer)
    simulator.end_well()


def near(value, wanted, tolerance=1e-3):
    return abs(value - wanted) < tolerance


def test_the_robot_follows_commands_on_every_topic(robot, peer):
    joints = peer.publisher(JointState, "joint_commands")
    command = JointState(name=["turn", "lift"], position=[0.4, 0.8])
    robot.take(joints, command, lambda s: near(s.position[0], 0.8) and near(s.position[1], 0.4))
    command = JointState(name=["lift"], velocity=[0.3])
    robot.take(joints, command, lambda s: near(s.velocity[0], 0.3) and near(s.position[1], 0.4))

    # with a spring the arm rests where stiffness times deflection equals gravity
    by_mode = peer.publisher(JointCommand, "joint_commands_by_mode")
    spring = JointCommand(
        name=["lift", "turn"],
        mode=[JointCommand.POSITION, JointCommand.IMPEDANCE],
        position=[1.0, 0.0],
        stiffness=[0.0, 100.0],
        damping=[0.0, 5.0],
    )
    robot.take(
        by_mode,
        spring,
        lambda s: (
            near(s.position[0], 1.0)
            and near(s.velocity[1], 0.0)
            and near(s.effort[1], -100.0 * s.position[1], 0.01)
            and 0.015 < s.position[1] < 0.025
        ),
    )

    end = JointTrajectoryPoint(positions=[1.5, -0.3], velocities=[0.0, 0.0])
    end.time_from_start.nanosec = 400_000_000
    trajectory = JointTrajectory(joint_names=["lift", "turn"], points=[end])
    paths = peer.publisher(JointTrajectory, "joint_trajectory")
    robot.take(paths, trajectory, lambda s: near(s.position[0], 1.5) and near(s.position[1], -0.3))

    # as in ros2_control, NaN is no command, and an array may be shorter than the names
    bridge = peer.publisher(JointState, "topic_based_joint_commands")
    command = JointState(name=["lift", "turn"], position=[1.2], effort=[NAN, NAN])
    robot.take(bridge, command, lambda s: near(s.position[0], 1.2) and near(s.position[1], -0.3))
    command = JointState(name=["lift", "turn"], position=[NAN], effort=[0.5, NAN])
    robot.take(bridge, command, lambda s: s.effort[0] == 0.5 and near(s.position[1], -0.3))
    assert "refused" not in robot.simulator.text()


def test_a_joint_follows_the_latest_command_of_two_commanders(robot, peer):
    one, other = (peer.publisher(JointState, "joint_commands") for _ in range(2))

    def take(publisher, names, efforts, lift, turn):
        command = JointState(name=names, effort=efforts)
        robot.take(publisher, command, lambda s: (s.effort[0], s.effort[1]) == (lift, turn))

    take(one, ["lift", "turn"], [1.0, 2.0], 1.0, 2.0)
    take(other, ["turn"], [-1.0], 1.0, -1.0)
    take(one, ["lift"], [-2.0], -2.0, -1.0)
    take(other, ["lift", "turn"], [3.0, 9.0], 3.0, 9.0)
    refused = JointState(name=["lift", "turn"], effort=[NAN, 4.0])  # refused for both joints
    logged = lambda: "joint 'lift' is nan" in robot.simulator.text()  # noqa: E731
    peer.repeat(lambda: other.publish(refused), logged)
    take(other, ["lift", "turn"], [NAN, 4.0], 3.0, 9.0)

    # the log names the node that publishes with incompatible QoS
    weak = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    peer.node.create_publisher(JointState, "joint_commands", weak)
    robot.simulator.wait_for("nothing is received from node /peer on /joint_commands")
    robot.simulator.wait_for("Make its publisher reliable")
