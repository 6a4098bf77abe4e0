# SPDX-License-Identifier: Apache-2.0
"""Subscribers and recordings get the pictures of depth and colour cameras."""

import io
import json
import threading

import numpy as np
import pytest

import rbdyn_ros as rb

pytest.importorskip("rclpy", reason="rclpy is not installed")

from PIL import Image as Image_
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2, PointField
from std_msgs.msg import String
from support.refusals import refused
from support.robots import ROOM
from test_range_topics import STAMP, TICK, Still, fast_run, node, spec, until  # noqa: F401 - a fixture

from rbdyn_ros.description import robot_files
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.ros.common.graph.qos import LATCHED
from rbdyn_ros.ros.simulator.topics import sensors
from rbdyn_ros.ros.simulator.topics.rays.camera_topics import camera_info, depth_pixels, image
from rbdyn_ros.ros.simulator.topics.sensors import SensorTopics
from rbdyn_ros.sensors import ColorSpec, DepthSpec
from rbdyn_ros.view.render import context, process

#: Turns the frame of the laser in ROOM into an optical frame: z forward, x right, y down.
FORWARD = '<origin xyz="0.5 0 1.2" rpy="-1.5707963267948966 0 -1.5707963267948966"/>'
OPTICAL = ROOM.replace('<origin xyz="0.5 0 1.2"/>', FORWARD)


def eye(name="eye", **given):
    return spec(DepthSpec, name, **{"width": 40, "height": 30, **given})


def have_a_common_stamp(*topics):
    """Return whether some messages of all topics have the same stamp; others may be lost."""
    stamps = [{nanoseconds(x.header.stamp) for x in messages} for messages in topics]
    return bool(set.intersection(*stamps))


def pixels_of(message, kind):
    assert message.step == message.width * np.dtype(kind).itemsize
    assert not message.is_bigendian
    return np.frombuffer(bytes(message.data), kind).reshape(message.height, message.width)


def test_subscribers_read_pictures_and_calibrations(node, peer):  # noqa: F811
    m, description = rb.load_urdf(OPTICAL, contact=True), robot_files.read(OPTICAL)
    lens = (0.1, -0.2, 0.001, 0.002)
    specs = [
        eye(distortion=lens, segmentation=True, near=4.6),
        eye("mm", encoding="16UC1", points=True, intrinsics=(30.0, 31.0, 20.0, 15.0)),
    ]
    topics = SensorTopics(node, m, description, specs, TICK, "left_")
    kinds = {
        "eye/image_raw": Image,
        "eye/camera_info": CameraInfo,
        "eye/segmentation": Image,
        "mm/image_raw": Image,
        "mm/points": PointCloud2,
        "mm/camera_info": CameraInfo,
    }
    heard = {name: peer.collect(kind, f"/left/{name}") for name, kind in kinds.items()}
    names = peer.collect(String, "/left/eye/segmentation_names", LATCHED)
    ticks = iter(range(100, 10**6, 100))

    def publish():
        tick = next(ticks)
        topics.publish(STAMP + tick * TICK, Still(m, tick, 0.1))
        return all(heard.values()) and names and have_a_common_stamp(*list(heard.values())[:3])

    peer.until(publish)
    d = rb.make_data(m)
    d.qpos[:] = 0.1
    messages = [messages[0] for messages in heard.values()]
    first, info, segments, millimetres, points, other = messages
    own = rb.scan(m, d, specs[0])
    assert first.encoding == "32FC1"
    np.testing.assert_array_equal(pixels_of(first, "f4"), own.distance.astype(np.float32))
    assert (own.distance == -np.inf).any()
    assert segments.encoding == "32SC1"
    np.testing.assert_array_equal(pixels_of(segments, "i4"), own.geom)
    assert json.loads(names[0].data) == list(m.geom_names)
    for message in (first, info, segments, points):
        assert message.header.frame_id == "left_laser"
        assert (message.width, message.height) == (40, 30)
    assert info.distortion_model == "plumb_bob"
    assert list(info.d) == [*lens, 0.0]
    assert other.k.tolist() == [30.0, 0.0, 20.0, 0.0, 31.0, 15.0, 0.0, 0.0, 1.0]
    assert other.p.reshape(3, 4)[:, :3].reshape(-1).tolist() == other.k.tolist()
    seen = pixels_of(millimetres, "u2")
    assert millimetres.encoding == "16UC1"
    assert seen[15, 20] == 4400
    assert [(one.name, one.offset, one.datatype) for one in points.fields] == [
        (name, 4 * k, PointField.FLOAT32) for k, name in enumerate("xyz")
    ]
    exact = rb.scan(m, d, specs[1])
    known = np.isfinite(exact.distance)
    assert (points.point_step, points.row_step) == (12, 480)
    assert points.is_dense == known.all()
    places = np.frombuffer(bytes(points.data), "f4").reshape(30, 40, 3)
    # rendering differs from rays by hundredths of a millimetre; z is the depth, x points right
    np.testing.assert_allclose(places, exact.points, rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(places[known][:, 2], exact.distance[known], rtol=0.0, atol=1e-4)
    assert places[15, 20, 0] < places[15, 30, 0]
    assert (seen[~known] == 0).all()


def test_a_view_gets_readings_without_subscribers_while_it_asks_for_them(node, monkeypatch):  # noqa: F811
    m, description = rb.load_urdf(OPTICAL, contact=True), robot_files.read(OPTICAL)
    topics = SensorTopics(node, m, description, [eye(method="rays")], TICK, threaded=True)
    assert topics.sees
    topics.publish(STAMP, Still(m, 100))
    assert topics.sights() == []
    topics.publish(STAMP, Still(m, 200))
    until(topics.sights)
    (seen,) = topics.sights()
    assert (seen.name, seen.link, seen.picture.shape) == ("eye", "laser", (30, 40, 3))
    monkeypatch.setattr(sensors, "WATCHED", -1.0)
    topics.sights()
    before = topics._sensor_work.readings()[0][1]
    topics.publish(STAMP, Still(m, 300))
    topics.close()
    assert topics._sensor_work.readings()[0][1] is before
    assert not topics._sensor_work._jobs


def test_segmentation_names_arrive_even_if_a_reset_discards_the_first_picture(node, peer):  # noqa: F811
    m, description = rb.load_urdf(OPTICAL, contact=True), robot_files.read(OPTICAL)
    camera = eye(segmentation=True, latency=0.05)
    topics = SensorTopics(node, m, description, [camera], TICK)
    pictures = peer.collect(Image, "/left/eye/segmentation")
    names = peer.collect(String, "/left/eye/segmentation_names", LATCHED)
    peer.until(lambda: node.count_subscribers("/left/eye/segmentation") > 0)
    topics.publish(STAMP, Still(m, 100))
    ticks = iter(range(100, 10**6, 100))

    def publish():
        tick = next(ticks)
        topics.publish(STAMP + tick * TICK, Still(m, tick, epoch=1))
        return names and len(pictures) > 2

    peer.until(publish)
    assert [json.loads(message.data) for message in names] == [list(m.geom_names)]


def test_colour_pictures_match_the_renderer(node, peer, monkeypatch):  # noqa: F811
    m, description = rb.load_urdf(OPTICAL, contact=True), robot_files.read(OPTICAL)
    looks = read_appearance(OPTICAL)
    lens = (0.1, -0.1, 0.0, 0.0)
    specs = [
        spec(ColorSpec, name, width=64, height=48, distortion=lens, compressed=kind)
        for name, kind in (("face", "png"), ("side", "jpeg"))
    ]
    with monkeypatch.context() as patch:
        patch.setattr(
            process, "CHILD", "import sys; sys.modules['moderngl'] = None" + process.CHILD
        )
        with refused(rb.ParameterError, "no-renderer"):
            SensorTopics(node, m, description, specs, TICK, looks=lambda _: looks)
    assert node.count_publishers("/left/face/image_raw") == 0, "a publisher was left over"
    try:
        context.make_context().release()
    except rb.ParameterError as error:
        pytest.skip(str(error))
    topics = SensorTopics(node, m, description, specs, TICK, "left_", looks=lambda _: looks)
    pictures = peer.collect(Image, "/left/face/image_raw")
    infos = peer.collect(CameraInfo, "/left/face/camera_info")
    packed = {
        name: peer.collect(CompressedImage, f"/left/{name}/image_raw/compressed")
        for name in ("face", "side")
    }
    ticks = iter(range(100, 10**6, 100))

    def publish():
        tick = next(ticks)
        topics.publish(STAMP + tick * TICK, Still(m, tick, 0.1))
        return all(packed.values()) and have_a_common_stamp(pictures, infos)

    peer.until(publish)
    assert pictures[0].encoding == "rgb8"
    assert pictures[0].header.frame_id == infos[0].header.frame_id == "left_laser"
    seen = np.frombuffer(bytes(pictures[0].data), np.uint8).reshape(48, 64, 3)
    d = rb.make_data(m)
    d.qpos[:] = 0.1
    assert seen.tobytes() == rb.render(m, d, specs[0], looks).tobytes()
    assert len(np.unique(seen)) > 5
    for name, most, kind in (("face", 0, "png"), ("side", 12, "jpeg")):
        message = packed[name][0]
        assert message.format == f"rgb8; {kind} compressed bgr8"
        assert message.header.frame_id == "left_laser"
        unpacked = np.asarray(Image_.open(io.BytesIO(bytes(message.data))), int)
        assert abs(unpacked - seen).max() <= most
    topics.close()


@pytest.mark.parametrize("method", ["auto", "rays", "renderer"])
def test_depth_cameras_cast_rays_without_a_renderer(
    node,  # noqa: F811
    peer,
    monkeypatch,
    method,
):
    monkeypatch.setattr(
        process, "CHILD", "import sys; sys.modules['moderngl'] = None" + process.CHILD
    )
    m, description = rb.load_urdf(OPTICAL, contact=True), robot_files.read(OPTICAL)
    specs = [eye(method=method)]
    if method == "renderer":
        with refused(rb.ParameterError, "no-renderer"):
            SensorTopics(node, m, description, specs, TICK)
        return
    topics = SensorTopics(node, m, description, specs, TICK)
    pictures = peer.collect(Image, "/left/eye/image_raw")
    ticks = iter(range(100, 10**6, 100))  # each attempt needs a new tick
    peer.until(lambda: topics.publish(STAMP, Still(m, next(ticks))) or pictures)
    expected = rb.scan(m, rb.make_data(m), specs[0]).distance
    np.testing.assert_array_equal(pixels_of(pictures[0], "f4"), expected.astype(np.float32))
    topics.close()


#: A renderer process that reports that it is ready, and then hangs.
HANGS = """
import sys, time
from multiprocessing.connection import Connection
pipe = Connection(int(sys.argv[1]))
pipe.send_bytes(b'[""]')
time.sleep(600)
"""


def test_closing_the_sensor_topics_does_not_wait_for_a_picture(node, peer, monkeypatch):  # noqa: F811
    monkeypatch.setattr(process, "CHILD", HANGS)
    m, description = rb.load_urdf(OPTICAL, contact=True), robot_files.read(OPTICAL)
    specs = [spec(ColorSpec, "face", width=64, height=48)]
    topics = SensorTopics(node, m, description, specs, TICK, threaded=True)
    peer.collect(Image, "/left/face/image_raw")
    peer.until(lambda: node.count_subscribers("/left/face/image_raw") > 0)
    peer.until(lambda: topics.publish(STAMP, Still(m, 100)) or topics._sensor_work._thread)
    until(lambda: not topics._sensor_work._jobs)  # the thread has begun to draw
    end = threading.Thread(target=topics.close, daemon=True)
    end.start()
    end.join(60.0)
    assert not end.is_alive()


FILE = """rbdyn_sensors: 1
sensors:
  face:
    type: color
    link: laser
    rate: 10
    near: 0.1
    far: 20
    width: 80
    height: 60
    field_of_view: 1.2
"""
EYE = """  eye: {type: depth, link: laser, rate: 10, near: 0.1, far: 20, width: 80, height: 60,
    field_of_view: 1.2, noise: {range: {stddev: 0.01}}, dropout: 0.1}
"""


@pytest.mark.nightly  # test_range_topics.py tests the same with rays
def test_two_fast_runs_record_bitwise_equal_pictures(simulate, peer, tmp_path):
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    pytest.importorskip("simulation_interfaces", reason="simulation_interfaces is not built")
    try:
        context.make_context().release()
    except rb.ParameterError as error:
        pytest.skip(str(error))
    (tmp_path / "cart.urdf").write_text(OPTICAL)
    (tmp_path / "sensors.yaml").write_text(FILE + EYE)
    topics = ("/face/image_raw", "/eye/image_raw", "/face/camera_info")
    paths = [tmp_path / name for name in ("first.mcap", "second.mcap")]
    first, second = (fast_run(simulate, peer, tmp_path, path, topics) for path in paths)
    for topic in topics[:2]:
        bits = [[message.data.tobytes() for _, message in run[topic]] for run in (first, second)]
        assert bits[0] == bits[1]
        assert len(bits[0]) == 6, "expected a picture every 100 ticks, from 0 to 500"
    stamps = [[nanoseconds(x.header.stamp) for _, x in first[topic]] for topic in topics]
    assert stamps[0] == stamps[1] == stamps[2]
    check_for_foxglove(paths[0])


def check_for_foxglove(path):
    """Assert that a recording has the messages that Foxglove's Image and 3D panels need.

    Source: https://docs.foxglove.dev/docs/visualization/panels/image and .../panels/3d
    """
    reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_ros2.decoder").DecoderFactory()
    parents, frames, seen = {}, set(), set()
    with path.open("rb") as stream:
        file = reader.make_reader(stream, decoder_factories=[decoder])
        assert file.get_header().profile == "ros2"
        assert file.get_summary().chunk_indexes
        for schema, channel, raw, message in file.iter_decoded_messages():
            assert (schema.encoding, channel.message_encoding) == ("ros2msg", "cdr")
            seen.add((channel.topic, schema.name))
            if schema.name == "tf2_msgs/msg/TFMessage":
                parents |= {x.child_frame_id: x.header.frame_id for x in message.transforms}
            elif schema.name in ("sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"):
                frames.add(message.header.frame_id)
                assert raw.log_time >= nanoseconds(message.header.stamp)
            if schema.name == "sensor_msgs/msg/Image":
                assert message.encoding in ("rgb8", "32FC1", "16UC1")
                assert message.step * message.height == len(message.data)
    for name in ("face", "eye"):  # Foxglove finds the calibration by its name beside the picture
        assert (f"/{name}/image_raw", "sensor_msgs/msg/Image") in seen
        assert (f"/{name}/camera_info", "sensor_msgs/msg/CameraInfo") in seen
    assert frames == {"laser"}
    frame = "laser"
    while frame in parents:
        frame = parents[frame]
    assert frame == "world"


def test_rows_of_an_image_are_contiguous_even_if_the_array_is_not():
    pixels = np.arange(24, dtype="<u2").reshape(4, 6)[:, ::2]
    np.testing.assert_array_equal(pixels_of(image(pixels, "16UC1"), "<u2"), pixels)


def test_a_pixel_without_depth_is_zero_millimetres():
    depth = np.array([[1.2344, 1.2346, np.inf], [-np.inf, np.nan, 65.535]])
    expected = [[1234, 1235, 0], [0, 0, 65535]]
    assert depth_pixels("16UC1", depth).tolist() == expected


def test_eight_distortion_coefficients_give_the_rational_polynomial_model():
    lens = (0.3, 0.05, 0.001, 0.0005, 0.01, 0.2, 0.1, 0.02)
    info = camera_info(eye(distortion=lens))
    assert info.distortion_model == "rational_polynomial"
    assert tuple(info.d) == lens
