# SPDX-License-Identifier: Apache-2.0
"""A robot falls and stays on the floor, but a robot without contact falls through it."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.runtime.loop import warm


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compile the contact kernels first: otherwise waiting for a simulator could time out."""
    warm(rb.load_urdf(find("go2.urdf"), floating_base=True, contact=True))


def test_a_quadruped_falls_and_stays_on_the_floor(simulate, peer):
    # time is paused, so that the robot does not fall before the test subscribes
    flags = ("--ros-args", "-p", "floating_base:=true", "-p", "start_paused:=true")
    simulator = simulate(find("go2.urdf"), "--contact", *flags)
    odometry = peer.collect(Odometry, "odom")
    states = peer.collect(JointState, "joint_states")
    peer.until(lambda: odometry)
    standing = odometry[0].pose.pose.position.z
    assert standing > 0.2  # the robot stands on straight legs, not in the floor
    assert peer.call(SetBool, "/simulator/pause", SetBool.Request(data=False)).success
    peer.until(lambda: odometry[-1].pose.pose.position.z < 0.6 * standing)  # the legs fold
    peer.until(lambda: max(map(abs, states[-1].velocity)) < 0.05)
    assert odometry[-1].pose.pose.position.z > 0.03  # the floor holds the robot
    assert simulator.end() == 0


def test_a_robot_without_contact_falls_through_the_floor(simulate, peer):
    simulate(find("go2.urdf"), "--ros-args", "-p", "floating_base:=true")
    odometry = peer.collect(Odometry, "odom")
    peer.until(lambda: odometry and odometry[-1].pose.pose.position.z < -1.0)
