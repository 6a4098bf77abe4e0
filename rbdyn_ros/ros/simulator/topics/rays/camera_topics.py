# SPDX-License-Identifier: Apache-2.0
"""Topics of cameras.

<name>/image_raw             sensor_msgs/Image: rgb8; depth as in REP 118: 32FC1 [m], 16UC1 [mm]
<name>/image_raw/compressed  sensor_msgs/CompressedImage, of colour cameras with key `compressed`
<name>/camera_info           sensor_msgs/CameraInfo with the same stamp
<name>/segmentation          sensor_msgs/Image, 32SC1: number of the shape at a pixel, -1 for none
<name>/points               sensor_msgs/PointCloud2 of the depth, in rows and columns as pixels
<name>/segmentation_names    std_msgs/String, latched: the shapes' names by number, as a JSON list
"""

import importlib
import io
import json
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2
from std_msgs.msg import String

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.ros.common.graph.qos import LATCHED, reliable
from rbdyn_ros.ros.common.parsing.convert import time_message
from rbdyn_ros.ros.simulator.topics.rays.range_topics import depth_cloud
from rbdyn_ros.ros.simulator.topics.rays.renderers import Renderers
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.sensors.camera_specs import DEPTH, CameraSpec, ColorSpec, DepthSpec
from rbdyn_ros.sensors.scanning import Scan
from rbdyn_ros.sensors.suite import Suite
from rbdyn_ros.view.render.lens import Pixels

QOS = reliable(5)
#: Options of Pillow, equal to the defaults of compressed_image_transport.
OPTIONS = {"jpeg": {"quality": 95}, "png": {"compress_level": 3}}


class CameraTopics:
    """The topics that all cameras have.

    Args:
        node: node that publishes.
        spec: the camera.
        prefix: prefix of the names of frames.
    """

    def __init__(self, node: Node, spec: CameraSpec, prefix: str) -> None:
        self.spec, self._frame = spec, prefix + spec.link
        self._images = node.create_publisher(Image, f"{spec.name}/image_raw", QOS)
        self._infos = node.create_publisher(CameraInfo, f"{spec.name}/camera_info", QOS)

    @property
    def _publishers(self) -> list[Any]:
        return [self._images, self._infos]

    def is_heard(self) -> bool:
        """Return whether there are subscribers to one of the topics."""
        return any(one.get_subscription_count() > 0 for one in self._publishers)

    def _with_info(self, stamp_ns: int, images: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """Add the calibration to pictures and set the stamp of all; return these messages."""
        messages: list[tuple[Any, Any]] = [*images, (self._infos, camera_info(self.spec))]
        for _, message in messages:
            message.header.stamp = time_message(stamp_ns)
            message.header.frame_id = self._frame
        return messages

    def publish(self, messages: list[tuple[Any, Any]]) -> None:
        """Publish messages, each with its publisher."""
        for publisher, message in messages:
            publisher.publish(message)


class DepthTopics(CameraTopics):
    """The topics of a depth camera.

    Args:
        node: node that publishes.
        spec: the camera.
        prefix: prefix of the names of frames.
        renderers: draw for all cameras.
    """

    def __init__(self, node: Node, spec: DepthSpec, prefix: str, renderers: Renderers) -> None:
        super().__init__(node, spec, prefix)
        self._camera, self._renderers = spec, renderers
        self._encoding, self._segments, self._names = spec.encoding, None, None
        if spec.segmentation:
            topic = f"{spec.name}/segmentation"
            self._segments = node.create_publisher(Image, topic, QOS)
            self._names = node.create_publisher(String, f"{topic}_names", LATCHED)
        self._published_names = ""
        self._points = None
        if spec.points:
            self._points = node.create_publisher(PointCloud2, f"{spec.name}/points", QOS)

    @property
    def _publishers(self) -> list[Any]:
        more = (self._segments, self._points)
        return [*super()._publishers, *(one for one in more if one is not None)]

    def read(self, suite: Suite, k: int, state: LoopState, threads: int | None) -> Scan:
        """Return the picture of sensor k in a state, drawn or from rays; see Suite.scan."""
        if not self._renderers.draws(self._camera):
            return suite.scan(k, state, threads)
        qpos = state.qpos[: suite.m.nq].copy()
        picture = self._renderers.of(suite).draw_depth(state.time, qpos, self._camera)
        return suite.drawn(k, state.tick, picture)

    def message(self, stamp_ns: int, scan: Scan) -> list[tuple[Any, Any]]:
        """Return the messages of a picture, each with its publisher."""
        picture = image(depth_pixels(self._encoding, scan.distance), self._encoding)
        images: list[tuple[Any, Any]] = [(self._images, picture)]
        if self._points is not None and self._points.get_subscription_count() > 0:
            images.append((self._points, depth_cloud(scan)))
        if self._segments is None:
            return self._with_info(stamp_ns, images)
        images.append((self._segments, image(scan.geom.astype("<i4"), "32SC1")))
        names = String(data=json.dumps(list(scan.names)))
        return [(self._names, names), *self._with_info(stamp_ns, images)]

    def publish(self, messages: list[tuple[Any, Any]]) -> None:
        """Publish each message with its publisher, the names of segments only if they changed."""
        for publisher, message in messages:
            if publisher is self._names:
                if message.data == self._published_names:
                    continue
                self._published_names = message.data
            publisher.publish(message)


class ColorTopics(CameraTopics):
    """The topics of a colour camera.

    Args:
        node: node that publishes.
        spec: the camera.
        prefix: prefix of the names of frames.
        renderers: draw for all cameras.
    """

    def __init__(self, node: Node, spec: ColorSpec, prefix: str, renderers: Renderers) -> None:
        super().__init__(node, spec, prefix)
        self._camera, self._renderers, self._compressed = spec, renderers, None
        if spec.compressed:
            check_compression(spec.name, spec.compressed)
            topic = f"{spec.name}/image_raw/compressed"
            self._compressed = node.create_publisher(CompressedImage, topic, QOS)

    @property
    def _publishers(self) -> list[Any]:
        return [*super()._publishers, *([self._compressed] if self._compressed else [])]

    def read(self, suite: Suite, k: int, state: LoopState, threads: int | None) -> Pixels:  # noqa: ARG002
        """Return the drawn picture of this camera in a state."""
        qpos = state.qpos[: suite.m.nq].copy()
        return self._renderers.of(suite).draw(state.time, qpos, self._camera)

    def message(self, stamp_ns: int, picture: Pixels) -> list[tuple[Any, Any]]:
        """Return the messages of a picture, each with its publisher."""
        images = [(self._images, image(picture, "rgb8"))]
        if self._compressed is not None and self._compressed.get_subscription_count() > 0:
            assert self._camera.compressed is not None
            packed = compressed_image(picture, self._camera.compressed)
            images.append((self._compressed, packed))
        return self._with_info(stamp_ns, images)


def depth_pixels(encoding: str, depth: NDArray[np.float64]) -> NDArray[Any]:
    """Return depths [m] as pixels of an encoding; in millimetres 0 means no return (REP 118)."""
    if encoding == DEPTH[0]:
        return depth.astype("<f4")
    known = np.isfinite(depth)
    return np.where(known, np.round(np.where(known, depth, 0.0) * 1000.0), 0.0).astype("<u2")


def image(pixels: NDArray[Any], encoding: str) -> Image:
    """Return pixels (height, width, ...) as a message without stamp and frame."""
    pixels = np.ascontiguousarray(pixels)
    height, width = pixels.shape[:2]
    message = Image(height=height, width=width, encoding=encoding, is_bigendian=0)
    message.step = pixels.strides[0]
    message.data = array("B", pixels.tobytes())
    return message


def camera_info(spec: CameraSpec) -> CameraInfo:
    """Return the calibration of a camera without stamp and frame."""
    fx, fy, cx, cy = spec.matrix
    message = CameraInfo(height=spec.height, width=spec.width)
    rational = len(spec.distortion) == 8
    message.distortion_model = "rational_polynomial" if rational else "plumb_bob"
    message.d = [*spec.distortion, *[0.0] * (5 - len(spec.distortion))]
    message.k = np.array([fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0])
    message.r = np.eye(3).reshape(-1)
    message.p = np.array([fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0])
    return message


def check_compression(camera: str, kind: str) -> None:
    """Raise ParameterError if no library can compress pictures.

    Args:
        camera: name of the camera.
        kind: a key of OPTIONS.

    Raises:
        ParameterError: Pillow is not installed.
    """
    try:
        importlib.import_module("PIL.Image")
    except ImportError as error:
        text = f"sensor '{camera}' has compressed: {kind}, which needs Pillow: "
        text += 'pip install "rbdyn_ros[camera]"'
        raise ParameterError(Finding("no-pillow", text, "error", "compressed")) from error


def compressed_image(pixels: Pixels, kind: str) -> CompressedImage:
    """Return a picture as a message without stamp and frame.

    Args:
        pixels: (height, width, 3) red, green, blue.
        kind: a key of OPTIONS.
    """
    data = io.BytesIO()
    pillow = importlib.import_module("PIL.Image")
    pillow.fromarray(pixels).save(data, format=kind, **OPTIONS[kind])
    # bgr8 is the order in which subscribers of image_transport decode
    message = CompressedImage(format=f"rgb8; {kind} compressed bgr8")
    message.data = array("B", data.getvalue())
    return message
