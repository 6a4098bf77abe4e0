# SPDX-License-Identifier: Apache-2.0
"""With the node policy_node a simulated robot walks as it does without ROS."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from support import networks, robots

import rbdyn_ros as rb
from rbdyn_ros.nanoseconds import nanoseconds

pytestmark = robots.needs_robots

#: Duration of the walk, and the timestep with which the policy was trained [s].
WALK, STEP = 10.0, 0.005
#: Commanded velocities [m/s, m/s, rad/s], each with the allowed error of the mean from 2 s on.
COMMANDS = [([0.5, 0.0, 0.0], 0.06), ([0.0, 0.0, 0.0], 0.06), ([0.3, 0.0, 0.8], 0.08)]
LOCKSTEP = ("time_mode:=lockstep", "lockstep_timeout:=0.0", "start_paused:=true")


@pytest.fixture
def walk(simulate, tmp_path):
    """Return walk(*parameters), which starts the simulator of a Go2 and returns it."""

    def start(*parameters):
        pose = zip(networks.GO2, networks.STANDING, strict=True)
        start = [w for name, q in pose for w in ("-p", f"initial_positions.{name}:={q}")]
        words = ("--floating-base", "--contact", "--ros-args", "-p", "strict:=false", *start)
        return simulate(robots.find("go2.urdf"), *words, *parameters)

    return start


def in_python(policy, first, command):
    """Simulate the policy without ROS, from the first odometry; return qpos after each step."""
    m = rb.load_urdf(robots.find("go2.urdf"), floating_base=True, strict=False, contact=True)
    m.opt.timestep = STEP
    d, legs = rb.make_data(m), rb.PolicyJoints(m, policy)
    place = first.pose.pose.position
    d.qpos[:3] = place.x, place.y, place.z
    d.qpos[7:] = networks.STANDING
    found = [d.qpos.copy()]
    for tick in range(round(WALK / STEP)):
        if tick % round(0.02 / STEP) == 0:
            # the node gets its command after the first action
            legs.act(d, command if tick else [0.0, 0.0, 0.0])
        legs.apply(d)
        rb.step(m, d)
        found.append(d.qpos.copy())
    return np.array(found)


@pytest.mark.parametrize(("command", "off"), COMMANDS)
def test_a_robot_walks_in_lock_step_as_in_python(walk, policy_node, tmp_path, peer, command, off):
    from geometry_msgs.msg import Twist
    from nav_msgs.msg import Odometry
    from rclpy.qos import QoSProfile

    from rbdyn_interfaces.msg import JointCommand

    path = networks.trot(tmp_path)
    walk(*(w for name in (*LOCKSTEP, f"timestep:={STEP}") for w in ("-p", name)))
    policy_node(path, "-p", "command_timeout:=1000.0")
    seen = peer.hear(Odometry, "odom", QoSProfile(depth=5000))
    peer.hear(JointCommand, "joint_commands_by_mode")  # the policy has answered the first state
    twist = Twist()
    twist.linear.x, twist.linear.y, twist.angular.z = command
    peer.send(Twist, "cmd_vel", twist)
    peer.pause(False)
    begun = nanoseconds(seen[0].header.stamp)  # stamps are wall times: /clock is off
    time_of = lambda message: (nanoseconds(message.header.stamp) - begun) * 1e-9  # noqa: E731
    peer.until(lambda: time_of(seen[-1]) >= WALK)
    motion = in_python(rb.load_policy(path), seen[0], command)
    velocities, apart = [], []
    for message in seen:
        now, place = time_of(message), message.pose.pose.position
        if now <= WALK:
            assert now < 1.0 or 0.26 < place.z < 0.38
            ours = motion[round(now / STEP), :3]
            apart.append(np.abs(np.array([place.x, place.y, place.z]) - ours).max())
        if 2.0 < now <= WALK:
            twist = message.twist.twist
            velocities.append([twist.linear.x, twist.linear.y, twist.angular.z])
    np.testing.assert_allclose(np.mean(velocities, axis=0), command, atol=off)
    # efforts differ by rounding, which the network and the contacts amplify
    assert max(apart[: round(1.0 / STEP)]) < 1e-6
    assert max(apart) < 1e-3
    assert len(velocities) > 1000


def test_a_policy_with_a_wrong_input_size_is_refused_without_a_traceback(policy_node, tmp_path):
    path = networks.trot(tmp_path)
    networks.linear(tmp_path / "trot.onnx", np.zeros((12, 7)), np.zeros(12))
    node = policy_node(path)
    assert node.process.wait(300) == 2
    assert "takes 7 numbers in 'obs', but the observation has 47" in node.text()
    assert "Traceback" not in node.text()


def test_the_node_sends_no_commands_without_a_policy_or_messages_of_the_base(
    walk, policy_node, tmp_path, peer
):
    from rbdyn_interfaces.msg import JointCommand

    node = policy_node("''")
    assert node.process.wait(300) == 2
    assert "parameter 'policy' is empty" in node.text()
    walk()  # in real time, not in lock-step
    commands = peer.collect(JointCommand, "joint_commands_by_mode")
    node = policy_node(networks.trot(tmp_path), "-p", "base:=imu")
    node.wait_for("nothing is commanded: no message on imu was accepted")
    assert not commands
    node.end_well()


def test_a_policy_for_another_robot_is_reported(simulate, policy_node, tmp_path):
    simulate("panda")
    node = policy_node(networks.trot(tmp_path))
    node.wait_for("it has no joint 'FL_hip_joint'")
    node.end_well()
