# SPDX-License-Identifier: Apache-2.0
"""Subscribers get sensor readings over DDS."""

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.source import read

pytest.importorskip("rclpy")

import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState, MagneticField, NavSatFix
from std_msgs.msg import Bool

from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.ros.common.parsing.convert import Prepared
from rbdyn_ros.ros.simulator.topics.sensors import SensorTopics, imu_message
from rbdyn_ros.sensors import (
    ContactSpec,
    ForceTorqueSpec,
    GpsSpec,
    ImuSpec,
    JointTorqueSpec,
    MagnetometerSpec,
    NoiseSpec,
    PoseSpec,
    Suite,
)

ARM = "config/robots/seven_dof_arm.urdf"
G = 9.81
TOOL = 0.15  # [kg]
STAMP = 1_700_000_000_123_456_789


@pytest.fixture
def robot():
    return rb.load_urdf(ARM), read(ARM)


@pytest.fixture
def node(domain, peer):
    """Yield a node that has its own DDS participant."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node("robot", context=context, namespace="left")
    yield node
    node.destroy_node()
    context.try_shutdown()


class Still:
    """A state of the robot at rest."""

    def __init__(self, m, tick=0):
        self.tick, self.epoch, self.time = tick, 0, tick * 0.001
        d = rb.make_data(m)
        rb.inverse(m, d)
        self.qpos, self.qvel, self.effort = m.qpos0, np.zeros(m.nv), d.qfrc_inverse
        self.xfrc, self.stick, self.stick_qfrc = np.zeros((m.nbody, 6)), np.zeros((0, 8)), 0.0
        self.act, self.blocked = np.zeros(m.na), np.zeros(m.nv, np.bool_)


def xyz(vector):
    return [vector.x, vector.y, vector.z]


def test_a_subscriber_receives_every_kind_of_sensor(robot, node, peer):
    m, description = robot
    noise = {"angular_velocity": NoiseSpec(stddev=(0.1, 0.2, 0.3))}
    specs = [
        ImuSpec("imu", "tool_flange", noise=noise),
        ImuSpec("gyro", "tool_flange", orientation=False),
        ForceTorqueSpec("wrist", "flange", "tool_flange"),
        ContactSpec("bumper", "hand", rate=100.0),
    ]
    topics = SensorTopics(node, m, description, specs, 1_000_000, "left_", seed=3)
    kinds = {
        "imu/data": Imu,
        "gyro/data_raw": Imu,
        "wrist/wrench": WrenchStamped,
        "bumper/contact": Bool,
        "bumper/wrench": WrenchStamped,
    }
    heard = {name: peer.collect(kind, f"/left/{name}") for name, kind in kinds.items()}
    publishers = [f"/left/{name}" for name in kinds]
    peer.until(lambda: all(node.count_subscribers(name) for name in publishers))
    peer.until(lambda: all(peer.node.count_publishers(name) for name in publishers))

    def publish_until_all_is_heard():
        # discovery may be late on the publisher's side, so publish until all messages arrive
        publish_until_all_is_heard.tick += 10
        tick = publish_until_all_is_heard.tick
        topics.publish(STAMP + tick, Still(m, tick))
        return all(heard.values())

    publish_until_all_is_heard.tick = 0
    peer.until(publish_until_all_is_heard)
    imu, gyro, wrist, wrench = (
        heard[name][0] for name in ("imu/data", "gyro/data_raw", "wrist/wrench", "bumper/wrench")
    )
    tick = (imu.header.stamp.sec * 10**9 + imu.header.stamp.nanosec) - STAMP
    assert tick > 0
    assert tick % 10 == 0
    assert imu.header.frame_id == "left_tool_flange"
    ((_, expected),) = Suite(m, description, specs, 1_000_000, 3).measure([0], Still(m, tick))
    assert xyz(imu.angular_velocity) == expected.angular_velocity.tolist()
    np.testing.assert_allclose(xyz(imu.linear_acceleration), [0.0, 0.0, -G], atol=1e-12)
    q = imu.orientation  # the tool points down, by half a turn about y
    np.testing.assert_allclose(np.abs([q.x, q.y, q.z, q.w]), [0.0, 1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(
        imu.angular_velocity_covariance, [0.01, 0, 0, 0, 0.04, 0, 0, 0, 0.09], rtol=1e-15
    )
    assert imu.linear_acceleration_covariance.tolist() == [0.0] * 9
    assert imu.orientation_covariance.tolist() == [0.0] * 9
    assert gyro.orientation_covariance.tolist() == [-1.0, *[0.0] * 8]
    assert xyz(gyro.angular_velocity) == [0.0] * 3
    assert wrist.header.frame_id == "left_tool_flange"
    assert xyz(wrist.wrench.force) == pytest.approx([0.0, 0.0, TOOL * G], abs=1e-12)
    assert wrench.header.frame_id == "left_hand"
    assert heard["bumper/contact"][0].data is False


def test_magnetic_field_position_pose_and_effort_have_their_frames_and_stamps(robot, node, peer):
    """Each message has the reading for its stamp, on a bent, moving robot."""
    m, description = robot
    three = NoiseSpec(stddev=(1.0, 2.0, 3.0))
    specs = [
        MagnetometerSpec("compass", "hand", noise={"magnetic_field": three}),
        GpsSpec("gnss", "hand", 48.1, 11.5, 519.0, noise={"position": three}),
        GpsSpec("exact", "hand", 48.1, 11.5),
        PoseSpec("tracker", "hand", noise={"position": three, "orientation": three}),
        PoseSpec("relative", "hand", reference="base_link"),
        JointTorqueSpec("torque", "elbow_pitch"),
    ]
    topics = SensorTopics(
        node, m, description, specs, 1_000_000, "left_", seed=3, world_frame="map"
    )
    kinds = {
        "compass/mag": MagneticField,
        "gnss/fix": NavSatFix,
        "exact/fix": NavSatFix,
        "tracker/pose": PoseWithCovarianceStamped,
        "relative/pose": PoseWithCovarianceStamped,
        "torque/effort": JointState,
    }
    heard = {name: peer.collect(kind, f"/left/{name}") for name, kind in kinds.items()}
    ticks = iter(range(1, 10**6))

    def bent(tick):
        state = Still(m, tick)
        state.qpos, state.qvel = np.linspace(0.2, 0.8, m.nq), np.linspace(-1.0, 1.0, m.nv)
        return state

    def is_heard():
        tick = next(ticks)
        topics.publish(STAMP + tick, bent(tick))
        return all(heard.values())

    peer.until(is_heard)
    mag, fix, exact, pose, relative, torque = (messages[0] for messages in heard.values())
    frames = ["left_hand", "left_hand", "left_hand", "map", "left_base_link", ""]
    assert [one.header.frame_id for one in (mag, fix, exact, pose, relative, torque)] == frames
    wanted = []
    for k, message in enumerate((mag, fix, exact, pose, relative, torque)):
        stamp = message.header.stamp
        tick = stamp.sec * 10**9 + stamp.nanosec - STAMP
        assert 0 < tick < next(ticks)
        suite = Suite(m, description, specs, 1_000_000, 3)
        wanted += [one for _, one in suite.measure([k], bent(tick))]
    assert xyz(mag.magnetic_field) == wanted[0].magnetic_field.tolist()
    assert mag.magnetic_field_covariance.tolist() == [1.0, 0, 0, 0, 4.0, 0, 0, 0, 9.0]
    for message, reading in ((fix, wanted[1]), (exact, wanted[2])):
        place = [message.latitude, message.longitude, message.altitude]
        assert place == reading.position.tolist()
        assert (message.status.status, message.status.service) == (0, 1)
    assert fix.position_covariance.tolist() == [1.0, 0, 0, 0, 4.0, 0, 0, 0, 9.0]
    assert [fix.position_covariance_type, exact.position_covariance_type] == [2, 0]
    for message, reading in ((pose, wanted[3]), (relative, wanted[4])):
        assert xyz(message.pose.pose.position) == reading.position.tolist()
        q = message.pose.pose.orientation
        assert [q.w, q.x, q.y, q.z] == reading.orientation.tolist()
    assert np.diag(pose.pose.covariance.reshape(6, 6)).tolist() == [1.0, 4.0, 9.0] * 2
    assert not relative.pose.covariance.any()
    assert (list(torque.name), list(torque.position)) == (["elbow_pitch"], [])
    assert list(torque.effort) == [wanted[5].effort]


def test_sensors_measure_a_payload_set_at_run_time(robot, node, peer):
    m, description = robot
    spec = ForceTorqueSpec("wrist", "flange", "tool_flange")
    topics = SensorTopics(node, m, description, [spec], 1_000_000)
    heard = peer.collect(WrenchStamped, "/left/wrist/wrench")
    load = ("tool_flange", 2.0, (0.0, 0.1, 0.0), (0.0,) * 6)
    loaded = with_payload(m, *load)
    topics.use(loaded, [load])
    ticks = iter(range(1, 10**6))

    def is_heard():
        topics.publish(STAMP, Still(loaded, next(ticks)))
        return bool(heard)

    peer.until(is_heard)
    assert heard[0].header.frame_id == "tool_flange"
    # the tool's z axis points down, so the force is positive
    assert xyz(heard[0].wrench.force) == pytest.approx([0.0, 0.0, (TOOL + 2.0) * G], abs=1e-12)
    assert xyz(heard[0].wrench.torque) == pytest.approx([0.2 * G, 0.0, 0.0], abs=1e-12)


def test_messages_packed_from_prepared_bytes_equal_serialised_messages():
    spec = ImuSpec("imu", "hand", noise={"orientation": NoiseSpec(stddev=(0.5,) * 3)})
    numbers = np.arange(1.0, 11.0)
    data = Prepared(imu_message(spec, "hand"), 10).filled(STAMP, numbers)
    message = deserialize_message(data, Imu)
    assert bytes(serialize_message(message)) == data
    read_back = [message.angular_velocity, message.linear_acceleration]
    assert [x for vector in read_back for x in xyz(vector)] == numbers[:6].tolist()
    q = message.orientation
    assert [q.x, q.y, q.z, q.w] == numbers[6:].tolist()
    assert message.orientation_covariance.tolist() == [0.25, 0, 0, 0, 0.25, 0, 0, 0, 0.25]


def test_readings_that_are_not_finite_are_not_published(robot, node, peer, capfd):
    m, description = robot
    specs = [ForceTorqueSpec("wrist", "flange", "tool_flange")]
    topics = SensorTopics(node, m, description, specs, 1_000_000)
    heard = peer.collect(WrenchStamped, "/left/wrist/wrench")
    peer.until(lambda: node.count_subscribers("wrist/wrench") == 1)
    peer.until(lambda: peer.node.count_publishers("/left/wrist/wrench") == 1)
    ticks = iter(range(1, 10**9))

    def publish(velocity):
        state = Still(m, next(ticks))
        state.qvel = np.full(m.nv, velocity)
        with np.errstate(all="ignore"):
            topics.publish(STAMP, state)

    publish(1e160)
    publish(1e160)
    peer.until(lambda: publish(0.0) or bool(heard))
    assert np.isfinite(xyz(heard[0].wrench.force)).all()
    assert capfd.readouterr().err.count("sensor 'wrist' is not published") == 1


def test_a_contact_sensor_of_a_robot_without_contact_causes_a_warning(robot, node, peer, capfd):
    topics = SensorTopics(node, *robot, "config/sensors.yaml", 1_000_000)
    topics.publish(STAMP, Still(robot[0]))
    assert "sensor 'bumper' never reports contact" in capfd.readouterr().err
    names = {name for name, _ in node.get_topic_names_and_types()}
    assert names > {
        "/left/tool_imu/data",
        "/left/wrist/wrench",
        "/left/elbow/wrench",
        "/left/bumper/contact",
        "/left/bumper/wrench",
    }
