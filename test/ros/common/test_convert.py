# SPDX-License-Identifier: Apache-2.0
"""Prepared messages equal the messages of rclpy, with quaternions in the order xyzw."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

import rbdyn_ros as rb
from rbdyn_ros.ros.common.parsing import convert
from rbdyn_ros.ros.common.parsing.convert import Prepared
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.share import bundled_robot


def test_quaternions_become_xyzw():
    assert convert.xyzw([1.0, 2.0, 3.0, 4.0]).tolist() == [2.0, 3.0, 4.0, 1.0]


#: Stamps [ns]; the last two are before 1970.
STAMPS = 0, 999_999_999, 1_000_000_000, 86_400_000_000_000 + 123, -1, -(2**31) * 10**9
BEYOND = (2**31 - 1) * 10**9 + 2**32 - 1


@pytest.mark.parametrize("stamp", [*STAMPS, BEYOND])
def test_prepared_joint_states_match_rclpy(stamp):
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    joints = SingleJoints.all(m)
    marked = JointState(name=list(joints.names))
    marked.header.stamp = convert.time_message(Prepared.MARK_STAMP)
    marked.position, marked.velocity, marked.effort = (convert.marks(7 * k, 7) for k in range(3))
    prepared = Prepared(marked, 21)
    for seed in range(3):
        qpos, qvel, effort = np.random.default_rng(seed).normal(size=(3, 7))
        message = convert.joint_state(joints, stamp, qpos, qvel, effort)
        numbers = np.concatenate([qpos, qvel, effort])
        assert prepared.filled(stamp, numbers) == bytes(serialize_message(message))


def test_prepared_transforms_match_rclpy():
    tf2_msgs = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    links = [convert.LinkFrames(k, -1, "world", "odd name length"[:k]) for k in range(1, 6)]
    numbers = np.array(convert.marks(0, 35)).reshape(5, 7)
    marked = convert.transforms(links, Prepared.MARK_STAMP, numbers)
    prepared = Prepared(tf2_msgs.TFMessage(transforms=marked), 35)
    rows = np.random.default_rng(2).normal(size=(5, 7))
    message = tf2_msgs.TFMessage(transforms=convert.transforms(links, 12_345_678_901, rows))
    assert prepared.filled(12_345_678_901, rows.reshape(-1)) == bytes(serialize_message(message))


def test_prepared_odometry_has_its_twist_in_the_child_frame():
    messages = pytest.importorskip("nav_msgs.msg", reason="nav_msgs is not installed")
    prepared = Prepared(convert.odometry(messages.Odometry(), "world", "base"), 13)
    turned = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]  # wxyz: by 90 degrees about z
    qpos = np.array([1.0, 2.0, 3.0, *turned])
    # along x of the world, which is -y of the base
    qvel = np.array([0.5, 0.0, 0.25, 7.0, 8.0, 9.0])
    filled = prepared.filled(1_500_000_000, convert.odometry_numbers(qpos, qvel))
    odom = deserialize_message(filled, messages.Odometry)
    assert (odom.header.stamp.sec, odom.header.stamp.nanosec) == (1, 500_000_000)
    assert (odom.header.frame_id, odom.child_frame_id) == ("world", "base")
    at, turn = odom.pose.pose.position, odom.pose.pose.orientation
    v, w = odom.twist.twist.linear, odom.twist.twist.angular
    assert (at.x, at.y, at.z) == (1.0, 2.0, 3.0)
    assert (turn.x, turn.y, turn.z, turn.w) == (0.0, 0.0, turned[3], turned[0])
    np.testing.assert_allclose([v.x, v.y, v.z], [0.0, -0.5, 0.25], atol=1e-15)
    assert (w.x, w.y, w.z) == (7.0, 8.0, 9.0)


def test_quaternions_agree_with_tf_transformations():
    tf = pytest.importorskip("tf_transformations", reason="tf_transformations is not installed")
    from rbdyn_ros.model.tree.rotation import mat_to_quat

    T = tf.euler_matrix(0.3, -0.2, 1.0)
    ours, theirs = convert.xyzw(mat_to_quat(T[:3, :3])), tf.quaternion_from_matrix(T)
    np.testing.assert_allclose(ours * np.sign(ours @ theirs), theirs, atol=1e-12)
