"""Commands in real time on every command topic, and their effect on the robot."""

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
    """The simulated robot as commanders see it."""

    def __init__(self, simulator, peer):
        self.simulator, self.peer = simulator, peer
        self.states = peer.collect(JointState, "joint_states")
        peer.until(lambda: self.states)

    def until(self, condition, send=lambda: None):
        """Wait for 10 states in a row to hold to a condition; send a command for each of them."""

        def holds():
            send()
            seen = len(self.states)
            self.peer.until(lambda: len(self.states) > seen)
            return len(self.states) > 10 and all(map(condition, self.states[-10:]))

        self.peer.until(holds)


@pytest.fixture
def robot(simulate, peer, two_joints):
    """A robot strong enough to reach every target at once."""
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


def test_every_topic_that_commands(robot, peer):
    joints = peer.publisher(JointState, "joint_commands")
    joints.publish(JointState(name=["turn", "lift"], position=[0.4, 0.8]))
    robot.until(lambda s: near(s.position[0], 0.8) and near(s.position[1], 0.4))
    joints.publish(JointState(name=["lift"], velocity=[0.3]))
    robot.until(lambda s: near(s.velocity[0], 0.3) and near(s.position[1], 0.4))

    # a spring carries the arm only to where its moment equals gravity, short of its goal
    by_mode = peer.publisher(JointCommand, "joint_commands_by_mode")
    spring = JointCommand(
        name=["lift", "turn"],
        mode=[JointCommand.POSITION, JointCommand.IMPEDANCE],
        position=[1.0, 0.0],
        stiffness=[0.0, 100.0],
        damping=[0.0, 5.0],
    )
    by_mode.publish(spring)
    robot.until(
        lambda s: (
            near(s.position[0], 1.0)
            and near(s.velocity[1], 0.0)
            and near(s.effort[1], -100.0 * s.position[1], 0.01)
            and 0.015 < s.position[1] < 0.025
        )
    )

    end = JointTrajectoryPoint(positions=[1.5, -0.3], velocities=[0.0, 0.0])
    end.time_from_start.nanosec = 400_000_000
    trajectory = JointTrajectory(joint_names=["lift", "turn"], points=[end])
    peer.publisher(JointTrajectory, "joint_trajectory").publish(trajectory)
    robot.until(lambda s: near(s.position[0], 1.5) and near(s.position[1], -0.3))

    # of ros2_control: NaN is no command, an array may be shorter than the names
    bridge = peer.publisher(JointState, "topic_based_joint_commands")
    bridge.publish(JointState(name=["lift", "turn"], position=[1.2], effort=[NAN, NAN]))
    robot.until(lambda s: near(s.position[0], 1.2) and near(s.position[1], -0.3))
    bridge.publish(JointState(name=["lift", "turn"], position=[NAN], effort=[0.5, NAN]))
    robot.until(lambda s: s.effort[0] == 0.5 and near(s.position[1], -0.3))
    assert "refused" not in robot.simulator.text()


def test_the_latest_command_of_two_commanders_counts(robot, peer):
    one, other = (peer.publisher(JointState, "joint_commands") for _ in range(2))

    def effort(lift, turn):
        return lambda s: (s.effort[0], s.effort[1]) == (lift, turn)

    one.publish(JointState(name=["lift", "turn"], effort=[1.0, 2.0]))
    robot.until(effort(1.0, 2.0))
    other.publish(JointState(name=["turn"], effort=[-1.0]))
    robot.until(effort(1.0, -1.0))
    one.publish(JointState(name=["lift"], effort=[-2.0]))
    robot.until(effort(-2.0, -1.0))
    other.publish(JointState(name=["lift", "turn"], effort=[3.0, 9.0]))
    robot.until(effort(3.0, 9.0))
    other.publish(JointState(name=["lift", "turn"], effort=[NAN, 4.0]))  # refused as a whole
    robot.simulator.wait_for("joint 'lift' is nan")
    robot.until(effort(3.0, 9.0))

    # the log names a node that publishes with best effort
    weak = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    peer.node.create_publisher(JointState, "joint_commands", weak)
    robot.simulator.wait_for("nothing is received from node /peer on /joint_commands")
    robot.simulator.wait_for("Make its publisher reliable")
