# SPDX-License-Identifier: Apache-2.0
"""The node policy_node against a simulator: the robot walks as it does without ROS."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from support import networks, robots

import rbdyn_ros as rb
from rbdyn_ros.nanoseconds import nanoseconds

pytestmark = robots.needs_robots

#: Time that the robot walks [s], and its timestep [s].
WALK, STEP = 0.4, 0.001
LOCKSTEP = ("time_mode:=lockstep", "lockstep_timeout:=0.0", "start_paused:=true")


@pytest.fixture
def walk(simulate, tmp_path):
    """Start a Go2 in lock-step: walk(*parameters); return the simulator."""

    def start(*parameters):
        pose = zip(networks.GO2, networks.STANDING, strict=True)
        start = [w for name, q in pose for w in ("-p", f"initial_positions.{name}:={q}")]
        words = ("--floating-base", "--contact", "--ros-args", "-p", "strict:=false", *start)
        return simulate(robots.find("go2.urdf"), *words, *parameters)

    return start


def in_python(policy, first):
    """Return the motion from a first state without ROS, by time in timesteps."""
    m = rb.load_urdf(robots.find("go2.urdf"), floating_base=True, strict=False, contact=True)
    d, legs = rb.make_data(m), rb.PolicyJoints(m, policy)
    place = first.pose.pose.position
    d.qpos[:3] = place.x, place.y, place.z
    d.qpos[7:] = networks.STANDING
    found = [d.qpos.copy()]
    for tick in range(round(WALK / STEP)):
        if tick % 20 == 0:
            legs.act(d, [0.0, 0.0, 0.0])
        legs.apply(d)
        rb.step(m, d)
        found.append(d.qpos.copy())
    return np.array(found)


def test_a_robot_walks_in_lock_step_as_in_python(walk, policy_node, tmp_path, peer):
    from nav_msgs.msg import Odometry
    from rclpy.qos import QoSProfile

    from rbdyn_interfaces.msg import JointCommand

    path = networks.trot(tmp_path)
    walk(*(w for name in LOCKSTEP for w in ("-p", name)))
    seen = peer.hear(Odometry, "odom", QoSProfile(depth=5000))
    policy_node(path)
    peer.hear(JointCommand, "joint_commands_by_mode")  # it answers the first state
    peer.pause(False)
    begun = nanoseconds(seen[0].header.stamp)  # of the wall: nobody publishes /clock
    time_of = lambda message: (nanoseconds(message.header.stamp) - begun) * 1e-9  # noqa: E731
    peer.until(lambda: time_of(seen[-1]) >= WALK)
    motion = in_python(rb.load_policy(path), seen[0])
    for message in seen:
        tick = round(time_of(message) / STEP)
        if tick < len(motion):
            place = message.pose.pose.position
            # the sums of an effort are in another order, and contact lets differences grow
            np.testing.assert_allclose(
                [place.x, place.y, place.z], motion[tick, :3], atol=1e-12, err_msg=str(tick)
            )
    assert len(seen) > 200


def test_a_policy_that_does_not_fit_ends_with_a_sentence(policy_node, tmp_path):
    path = networks.trot(tmp_path)
    networks.linear(tmp_path / "trot.onnx", np.zeros((12, 7)), np.zeros(12))
    node = policy_node(path)
    assert node.process.wait(300) == 2
    assert "takes 7 numbers in 'obs', but the observation has 5" in node.text()
    assert "Traceback" not in node.text()


def test_nothing_is_commanded_without_a_policy_or_a_base(walk, policy_node, tmp_path, peer):
    from rbdyn_interfaces.msg import JointCommand

    node = policy_node("''")
    assert node.process.wait(300) == 2
    assert "parameter 'policy' is empty" in node.text()
    walk()  # in real time
    commands = peer.collect(JointCommand, "joint_commands_by_mode")
    node = policy_node(networks.trot(tmp_path), "-p", "base:=imu")
    node.wait_for("nothing is commanded: no message on imu was accepted")
    assert not commands
    node.end_well()


def test_the_robot_of_another_policy_is_named(simulate, policy_node, tmp_path):
    simulate("panda")
    node = policy_node(networks.trot(tmp_path))
    node.wait_for("it has no joint 'FL_hip_joint'")
    node.end_well()
