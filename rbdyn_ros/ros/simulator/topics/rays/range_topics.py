# SPDX-License-Identifier: Apache-2.0
"""Topics of lidars and range sensors.

lidar with one row at elevation 0   <name>/scan     sensor_msgs/LaserScan
other lidars                        <name>/points   sensor_msgs/PointCloud2
range sensor                        <name>/range    sensor_msgs/Range

Distances follow REP 117. Publishers are reliable, as REP 2003 asks.
"""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import LaserScan, PointCloud2, PointField, Range

from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.graph.qos import reliable
from rbdyn_ros.ros.common.parsing.convert import time_message
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.sensors.ray_specs import RADIATION, LidarSpec, RangeSpec, is_planar
from rbdyn_ros.sensors.scanning import Scan
from rbdyn_ros.sensors.suite import Suite

QOS = reliable(5)

PlaceInPoint = tuple[str, str, int, int]
#: The numbers of a point in a cloud: name, type, offset [bytes], type in the message. `ring` is
#: the row, counted from below; `time` is the time of the point after the stamp [s].
FIELDS: tuple[PlaceInPoint, ...] = (
    ("x", "<f4", 0, PointField.FLOAT32),
    ("y", "<f4", 4, PointField.FLOAT32),
    ("z", "<f4", 8, PointField.FLOAT32),
    ("ring", "<u2", 12, PointField.UINT16),
    ("time", "<f4", 16, PointField.FLOAT32),
)
_NAMES, _TYPES, _OFFSETS, _ = zip(*FIELDS, strict=True)
POINT = np.dtype({"names": _NAMES, "formats": _TYPES, "offsets": _OFFSETS, "itemsize": 20})


class RangeTopic:
    """The topic of one lidar or range sensor.

    Args:
        node: node that publishes.
        spec: the sensor.
        prefix: prefix of the names of frames.
    """

    def __init__(self, node: Node, spec: LidarSpec | RangeSpec, prefix: str) -> None:
        self.spec, self._frame = spec, prefix + spec.link
        kind: Any
        self._filled: Callable[[Any, Scan], Any]
        if isinstance(spec, RangeSpec):
            kind, topic, self._filled = Range, "range", _range
        elif is_planar(spec):
            kind, topic, self._filled = LaserScan, "scan", _laser_scan
        else:
            kind, topic, self._filled = PointCloud2, "points", _cloud
        self._publisher: Publisher[Any] = node.create_publisher(kind, f"{spec.name}/{topic}", QOS)

    def is_heard(self) -> bool:
        """Return whether there are subscribers."""
        return self._publisher.get_subscription_count() > 0

    def read(self, suite: Suite, k: int, state: LoopState, threads: int | None) -> Scan:
        """Return the reading of sensor k in a state."""
        return suite.scan(k, state, threads)

    def message(self, stamp_ns: int, scan: Scan) -> Any:
        """Return the message of a scan; the state's stamp is the time at the end of the sweep."""
        spec = self.spec
        sweep = spec.sweep if isinstance(spec, LidarSpec) else 0.0
        message = self._filled(spec, scan)
        message.header.stamp = time_message(stamp_ns - round(sweep * NANOSECONDS))
        message.header.frame_id = self._frame
        return message

    def publish(self, message: Any) -> None:
        """Publish a message."""
        self._publisher.publish(message)


def _range(spec: RangeSpec, scan: Scan) -> Range:
    message = Range(field_of_view=spec.field_of_view)
    infrared = spec.radiation == RADIATION[0]
    message.radiation_type = Range.INFRARED if infrared else Range.ULTRASOUND
    message.min_range, message.max_range = spec.near, spec.far
    message.range = float(scan.distance.item())
    if hasattr(message, "variance"):  # Humble lacks this field
        message.variance = spec.noise.stddev**2
    return message


def _laser_scan(spec: LidarSpec, scan: Scan) -> LaserScan:
    fan, message = spec.horizontal, LaserScan()
    message.angle_min, message.angle_increment = fan.first, fan.step
    message.angle_max = fan.first + fan.step * (fan.rays - 1)
    message.time_increment, message.scan_time = spec.sweep / fan.rays, 1.0 / spec.rate
    message.range_min, message.range_max = spec.near, spec.far
    message.ranges = array("f", scan.distance.astype(np.float32).tobytes())
    return message


def _cloud(spec: LidarSpec, scan: Scan) -> PointCloud2:
    return _cloud_message(cloud(spec, scan).tobytes(), scan, FIELDS, POINT.itemsize)


def depth_cloud(scan: Scan) -> PointCloud2:
    """Return the points of a picture in its rows and columns: x, y, z [m]; NaN for no return."""
    return _cloud_message(scan.points.astype("<f4").tobytes(), scan, FIELDS[:3], 12)


def _cloud_message(
    data: bytes, scan: Scan, fields: Sequence[PlaceInPoint], size: int
) -> PointCloud2:
    message = PointCloud2(is_bigendian=False)
    message.fields = [
        PointField(name=name, offset=offset, datatype=kind, count=1)
        for name, _, offset, kind in fields
    ]
    message.height, message.width = scan.distance.shape
    message.point_step, message.row_step = size, size * message.width
    message.data = array("B", data)
    message.is_dense = bool(np.isfinite(scan.distance).all())
    return message


def cloud(spec: LidarSpec, scan: Scan) -> NDArray[np.void]:
    """Return the points of a scan, (rows, columns) of POINT; a point without a return is NaN."""
    rows, columns = scan.distance.shape
    points = np.zeros((rows, columns), POINT)
    for k, name in enumerate("xyz"):
        points[name] = scan.points[..., k]
    points["ring"] = np.arange(rows)[:, None]
    points["time"] = np.arange(columns) * (spec.sweep / columns)
    return points
