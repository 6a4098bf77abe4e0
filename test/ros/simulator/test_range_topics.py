# SPDX-License-Identifier: Apache-2.0
"""Subscribers and recordings get the readings of lidars and range sensors."""

import math
import threading
import time

import numpy as np
import pytest

import rbdyn_ros as rb

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
from sensor_msgs.msg import JointState, LaserScan, PointCloud2, PointField, Range
from support.robots import ROOM

from rbdyn_ros.description import robot_files
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.ros.simulator.topics.rays.sensor_work import SensorWork
from rbdyn_ros.ros.simulator.topics.sensors import SensorTopics
from rbdyn_ros.sensors import Fan, LidarSpec, RangeSpec

TICK = 1_000_000
STAMP = 1_700_000_000_123_456_789

FILE = """rbdyn_sensors: 1
sensors:
  front:
    type: lidar
    link: laser
    rate: 50
    near: 0.1
    far: 10
    horizontal: {from: -0.5, to: 0.5, rays: 101}
    sweep: 0.02
    noise: {range: {stddev: 0.01}}
    dropout: 0.1
    latency: 0.03
  top:
    type: lidar
    link: laser
    rate: 10
    near: 0.1
    far: 10
    horizontal: {from: -3, to: 3, rays: 90}
    vertical: {from: -0.2, to: 0.2, rays: 4}
    noise: {range: {stddev: 0.01}}
  bumper: {type: range, link: laser, rate: 20, near: 0.1, far: 10, field_of_view: 0.2}
"""


@pytest.fixture
def room():
    return rb.load_urdf(ROOM, contact=True), robot_files.read(ROOM)


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
    """A state of the cart at position x [m] and velocity v [m/s]."""

    def __init__(self, m, tick=0, x=0.0, v=0.0, epoch=0):
        self.tick, self.epoch, self.time = tick, epoch, tick * 0.001
        self.qpos, self.qvel = np.array([x]), np.array([v])
        self.qacc, self.effort = np.zeros((2, m.nv))
        self.xfrc, self.contact = np.zeros((2, m.nbody, 6))


def spec(kind=LidarSpec, name="front", **given):
    return kind(name, "laser", **{"rate": 10.0, "near": 0.1, "far": 10.0, **given})


def points_of(cloud):
    """Return the points of a cloud, read by the fields that the message describes."""
    types = {PointField.FLOAT32: "f4", PointField.UINT16: "u2"}
    order = ">" if cloud.is_bigendian else "<"
    kind = np.dtype(
        {
            "names": [field.name for field in cloud.fields],
            "formats": [order + types[field.datatype] for field in cloud.fields],
            "offsets": [field.offset for field in cloud.fields],
            "itemsize": cloud.point_step,
        }
    )
    assert cloud.row_step == cloud.point_step * cloud.width
    return np.frombuffer(bytes(cloud.data), kind).reshape(cloud.height, cloud.width)


def test_subscribers_get_correct_scans_clouds_and_ranges(room, node, peer):
    m, description = room
    turn = Fan(-math.pi, math.pi, 360)
    specs = [
        spec(horizontal=Fan(-1.0, 1.0, 201), sweep=0.05, near=4.6),
        spec(name="top", horizontal=turn, vertical=Fan(-0.3, 0.3, 4), sweep=0.1),
        spec(name="rose", angles=((0.0, 0.1), (0.2, 0.3), (2.0, 0.0))),
        spec(RangeSpec, "bumper", field_of_view=0.3, radiation="ultrasound"),
    ]
    topics = SensorTopics(node, m, description, specs, TICK, "left_")
    kinds = {
        "front/scan": LaserScan,
        "top/points": PointCloud2,
        "rose/points": PointCloud2,
        "bumper/range": Range,
    }
    heard = {name: peer.collect(kind, f"/left/{name}") for name, kind in kinds.items()}
    ticks = iter(range(100, 10**6, 100))
    states = {}

    def publish():
        tick = next(ticks)
        state = states[STAMP + tick * TICK] = Still(m, tick, 0.1, 1.5)
        topics.publish(STAMP + tick * TICK, state)
        return all(heard.values())

    peer.until(publish)
    scan, top, rose, bumper = (heard[name][0] for name in kinds)
    d = rb.make_data(m)
    d.qpos[:], d.qvel[:] = 0.1, 1.5
    assert nanoseconds(scan.header.stamp) + 50 * TICK in states, "not the time of the first ray"
    assert scan.header.frame_id == "left_laser"
    angles = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
    np.testing.assert_allclose(angles, np.linspace(-1.0, 1.0, 201), atol=1e-5)
    assert scan.angle_max == pytest.approx(1.0)
    assert (scan.range_min, scan.range_max) == (pytest.approx(4.6), 10.0)
    assert scan.time_increment == pytest.approx(0.05 / 201)
    assert scan.scan_time == pytest.approx(0.1)
    expected = rb.scan(m, d, specs[0]).distance[0]
    assert np.array(scan.ranges).tobytes() == expected.astype(np.float32).tobytes()
    assert expected[100] == -math.inf
    assert np.isinf(expected[0])

    assert (top.height, top.width, top.is_dense) == (4, 360, False)
    points = points_of(top)
    own = rb.scan(m, d, specs[1]).points.astype(np.float32)
    np.testing.assert_array_equal(np.stack([points[k] for k in "xyz"], axis=-1), own)
    assert points["ring"][:, 0].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(points["time"][0], 0.1 * np.arange(360) / 360, rtol=1e-6)
    ahead = points[2, 170:190]
    x = ahead["x"] + 0.6 - 1.5 * (0.1 - ahead["time"])  # x in the room at the time of each ray
    np.testing.assert_allclose(x, 5.0, atol=1.5 * 0.1 / 64)
    assert nanoseconds(top.header.stamp) + 100 * TICK in states

    assert (rose.height, rose.width) == (1, 3)
    assert np.isfinite(points_of(rose)["x"][0]).tolist() == [True, True, False]
    assert bumper.range == pytest.approx(4.4)
    assert bumper.radiation_type == Range.ULTRASOUND
    assert bumper.field_of_view == pytest.approx(0.3)
    assert topics.dropped == 0


class Slow:
    """A topic whose readings wait until `go` is set; it stores its messages."""

    def __init__(self, latency=0.0):
        self.go, self.spec, self.published = threading.Event(), spec(latency=latency), []

    def read(self, suite, k, state, threads):
        assert suite is self
        assert self.go.wait(60.0)
        return k, state.tick, threads

    def message(self, stamp_ns, scan):
        return (stamp_ns, *scan)

    def publish(self, message):
        self.published.append(message)


def test_a_thread_that_is_too_slow_drops_all_waiting_readings_but_the_newest(room):
    slow, work = Slow(), SensorWork(TICK, threaded=True)
    for tick in range(1, 6):
        work.take(slow, {0: slow}, tick, Still(room[0], tick))
        if tick == 1:
            until(lambda: not work._jobs)  # the thread is at work
    assert work.dropped == 3
    slow.go.set()
    until(lambda: len(slow.published) == 2)
    work.close()
    assert slow.published == [(1, 0, 1, 1), (5, 0, 5, 1)]


def test_readings_from_before_a_reset_are_not_published_after_the_reset(room):
    slow, work = Slow(), SensorWork(TICK, threaded=True)
    work.take(slow, {0: slow}, 11, Still(room[0], 1))
    until(lambda: not work._jobs)  # the thread is at work
    work.take(slow, {0: slow, 1: slow}, 12, Still(room[0], 2))
    work.take(slow, {0: slow}, 13, Still(room[0], 1, epoch=1))
    slow.go.set()
    until(lambda: slow.published)
    work.close()
    assert slow.published == [(13, 0, 1, 1)]
    assert work.dropped == 0, "readings discarded by a reset count as dropped"


def test_the_next_published_state_raises_the_error_of_the_thread(room):
    slow, work = Slow(), SensorWork(TICK, threaded=True)
    slow.read = lambda *_: 1 / 0
    work.take(slow, {0: slow}, 1, Still(room[0], 1))
    until(lambda: work._failure is not None)
    with pytest.raises(ZeroDivisionError):
        work.take(slow, {}, 2, Still(room[0], 2))
    work.close()


def test_no_reading_is_dropped_in_simulated_time_and_latency_is_exact(room):
    slow, work = Slow(latency=0.003), SensorWork(TICK, threaded=False)
    slow.go.set()
    arrived = {}
    for tick in range(20):
        before = len(slow.published)
        work.take(slow, {0: slow} if tick % 2 == 0 else {}, tick, Still(room[0], tick))
        arrived |= {message[0]: tick for message in slow.published[before:]}
    assert arrived == {tick: tick + 3 for tick in range(0, 17, 2)}
    work.take(slow, {}, 0, Still(room[0], 0, epoch=1))
    work.take(slow, {}, 30, Still(room[0], 30, epoch=1))
    assert len(slow.published) == len(arrived), "a reading from before the reset was published"
    assert work.dropped == 0


def until(condition):
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def recorded(path, topic):
    """Return (time [ns], message) of each message that a recording has on a topic."""
    from rosbags.highlevel import AnyReader

    from rbdyn_ros.recording.schemas import Schemas

    store = Schemas().store
    with AnyReader([path], default_typestore=store) as bag:
        chosen = [c for c in bag.connections if c.topic == topic]
        return [(at, bag.deserialize(raw, c.msgtype)) for c, at, raw in bag.messages(chosen)]


def fast_run(simulate, peer, folder, path, topics):
    """Record 500 ticks in mode fast; return recorded(...) of each topic."""
    from simulation_interfaces.srv import StepSimulation

    values = {
        "urdf": folder / "cart.urdf",
        "sensors": folder / "sensors.yaml",
        "record": path,
        "contact": "true",
        "time_mode": "fast",
        "start_paused": "true",
        "publish_rate": 100.0,
        "seed": 7,
    }
    given = [part for key, value in values.items() for part in ("-p", f"{key}:={value}")]
    simulator = simulate("--ros-args", *given, entry="node")
    states = peer.hear(JointState, "joint_states", 1000)
    start, kind = states[-1].header.stamp, StepSimulation
    answer = peer.call(kind, "/simulator/step_simulation", kind.Request(steps=500))
    assert answer.result.result == answer.result.RESULT_OK
    # a state is repeated only after all states are published
    peer.until(lambda: states[-1] == states[-2] and states[-1].header.stamp != start)
    simulator.end_well()
    return {name: recorded(path, name) for name in topics}


def test_two_fast_runs_record_bitwise_equal_readings(simulate, peer, tmp_path):
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    pytest.importorskip("simulation_interfaces", reason="simulation_interfaces is not built")
    (tmp_path / "cart.urdf").write_text(ROOM)
    (tmp_path / "sensors.yaml").write_text(FILE)
    paths = [tmp_path / name for name in ("first.mcap", "second.mcap")]
    topics = ("/front/scan", "/top/points", "/bumper/range")
    runs = [fast_run(simulate, peer, tmp_path, path, topics) for path in paths]
    first, second = runs
    for topic, numbers in (("/front/scan", "ranges"), ("/top/points", "data")):
        bits = [[getattr(message, numbers).tobytes() for _, message in run[topic]] for run in runs]
        assert bits[0] == bits[1], topic
        assert len(set(bits[0])) == len(bits[0]) > 1, "two readings have the same noise"
    # no scan is missing: one ends every 20 ms, and the last two have not arrived at the end
    scans = first["/front/scan"]
    begun = np.array([nanoseconds(message.header.stamp) for _, message in scans])
    assert (np.diff(begun) == 20 * TICK).all()
    assert len(scans) == 23
    assert {at - stamp for (at, _), stamp in zip(scans, begun, strict=True)} == {50 * TICK}
    assert len(first["/top/points"]) == len(second["/top/points"]) == 6
    assert {round(message.range, 6) for _, message in first["/bumper/range"]} == {4.5}


def test_a_lidar_is_simulated_beside_a_real_time_loop(simulate, peer, tmp_path):
    pytest.importorskip("rbdyn_interfaces", reason="rbdyn_interfaces is not built")
    from rbdyn_interfaces.msg import Statistics

    (tmp_path / "cart.urdf").write_text(ROOM)
    text = FILE.replace("type: lidar", "type: lidar\n    sees: visual")
    (tmp_path / "sensors.yaml").write_text(text)
    values = {"urdf": tmp_path / "cart.urdf", "sensors": tmp_path / "sensors.yaml"}
    values |= {"contact": "true", "stats_rate": 20.0}
    given = [part for key, value in values.items() for part in ("-p", f"{key}:={value}")]
    simulator = simulate("--ros-args", *given)
    scans = peer.collect(LaserScan, "/front/scan", 100)
    stats = peer.collect(Statistics, "/simulator/stats", 100)
    peer.until(lambda: len(scans) > 5 and len(stats) > 5)
    assert stats[-1].dropped_readings >= 0
    middle = [scan.ranges[50] for scan in scans if math.isfinite(scan.ranges[50])]
    assert middle == pytest.approx([3.5] * len(middle), abs=0.1), "not the visual wall"
    simulator.end_well()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("link: laser", "link: lasser"),
            "line 5: sensor 'front': the robot has no link 'lasser'",
        ),
        (("rate: 20,", "rate: 2000,"), "line 23: sensor 'bumper': the rate is 2000 Hz"),
        (("contact:=true", "contact:=false"), "has none"),
    ],
)
def test_a_wrong_sensor_file_ends_the_start_with_one_message(simulate, tmp_path, change, words):
    (tmp_path / "cart.urdf").write_text(ROOM)
    (tmp_path / "sensors.yaml").write_text(FILE.replace(*change))
    values = [f"urdf:={tmp_path}/cart.urdf", f"sensors:={tmp_path}/sensors.yaml", "contact:=true"]
    given = [part for value in values for part in ("-p", value.replace(*change))]
    simulator = simulate("--ros-args", *given, wait=False, entry="node")
    assert simulator.process.wait(300.0) != 0
    assert words in simulator.text()
    assert "Traceback" not in simulator.text()
