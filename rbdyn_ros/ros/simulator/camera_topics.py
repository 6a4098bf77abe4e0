"""Topics of depth cameras.

<name>/image_raw             sensor_msgs/Image, 32FC1 [m] or 16UC1 [mm], as in REP 118
<name>/camera_info           sensor_msgs/CameraInfo with the same stamp
<name>/segmentation          sensor_msgs/Image, 32SC1: number of what a pixel sees, -1 for nothing
<name>/segmentation_names    std_msgs/String, latched: the names of these numbers, a JSON list
"""

from __future__ import annotations

import json
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import String

from rbdyn_ros.ros.common.convert import time_message
from rbdyn_ros.ros.common.qos import LATCHED, reliable
from rbdyn_ros.sensors.camera_specs import DEPTH, CameraSpec, DepthSpec
from rbdyn_ros.sensors.scanning import Scan

QOS = reliable(5)


class DepthTopics:
    """The topics of one depth camera.

    Args:
        node: publishes.
        spec: the camera.
        prefix: of the names of frames.
    """

    def __init__(self, node: Node, spec: DepthSpec, prefix: str) -> None:
        self.spec, self._frame = spec, prefix + spec.link
        self._images = node.create_publisher(Image, f"{spec.name}/image_raw", QOS)
        self._infos = node.create_publisher(CameraInfo, f"{spec.name}/camera_info", QOS)
        self._segments: Any = None
        if spec.segmentation:
            topic = f"{spec.name}/segmentation"
            self._segments = node.create_publisher(Image, topic, QOS)
            self._names: Any = node.create_publisher(String, f"{topic}_names", LATCHED)
        self._said: tuple[str, ...] | None = None

    def is_heard(self) -> bool:
        """Return whether there are subscribers."""
        publishers = [self._images, self._infos, self._segments]
        return any(p is not None and p.get_subscription_count() > 0 for p in publishers)

    def message(self, stamp_ns: int, scan: Scan) -> list[tuple[Any, Any]]:
        """Return the messages of a picture, each with its publisher; all have one stamp."""
        stamp = time_message(stamp_ns)
        picture = image(depth_pixels(self.spec.encoding, scan.distance), self.spec.encoding)
        messages = [(self._images, picture)]
        if self._segments is not None:
            if scan.names != self._said:
                self._said = scan.names
                messages.append((self._names, String(data=json.dumps(list(scan.names)))))
            messages.append((self._segments, image(scan.geom.astype("<i4"), "32SC1")))
        for _, message in messages:
            if isinstance(message, Image):
                message.header.stamp, message.header.frame_id = stamp, self._frame
        return [*messages, (self._infos, self._stamped_info(stamp))]

    def _stamped_info(self, stamp: Any) -> CameraInfo:
        info = camera_info(self.spec)
        info.header.stamp, info.header.frame_id = stamp, self._frame
        return info

    def publish(self, messages: list[tuple[Any, Any]]) -> None:
        """Publish the messages of a picture."""
        for publisher, message in messages:
            publisher.publish(message)


def depth_pixels(encoding: str, depth: NDArray[np.float64]) -> NDArray[Any]:
    """Return the pixels of a depth image; in millimetres 0 stands for nothing, as in REP 118."""
    if encoding == DEPTH[0]:
        return depth.astype("<f4")
    known = np.isfinite(depth)
    return np.where(known, np.round(np.where(known, depth, 0.0) * 1000.0), 0.0).astype("<u2")


def image(pixels: NDArray[Any], encoding: str) -> Image:
    """Return pixels (height, width) as an image."""
    height, width = pixels.shape[:2]
    message = Image(height=height, width=width, encoding=encoding, is_bigendian=0)
    message.step = pixels.strides[0]
    message.data = array("B", np.ascontiguousarray(pixels).tobytes())
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
