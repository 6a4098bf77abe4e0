# SPDX-License-Identifier: Apache-2.0
"""The topics of a simulated robot that a layout shows, each with its type."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rbdyn_ros.sensors.camera_specs import ColorSpec, DepthSpec
from rbdyn_ros.sensors.ray_specs import LidarSpec, RangeSpec, is_planar
from rbdyn_ros.sensors.specs import (
    ContactSpec,
    ForceTorqueSpec,
    GpsSpec,
    ImuSpec,
    MagnetometerSpec,
    PoseSpec,
    Spec,
)

#: Types of the messages.
STRING, MARKERS = "std_msgs/msg/String", "visualization_msgs/msg/MarkerArray"
JOINTS, DIAGNOSTICS = "sensor_msgs/msg/JointState", "diagnostic_msgs/msg/DiagnosticArray"
ODOMETRY, WRENCH = "nav_msgs/msg/Odometry", "geometry_msgs/msg/WrenchStamped"
IMU, IMAGE = "sensor_msgs/msg/Imu", "sensor_msgs/msg/Image"
CAMERA_INFO, RANGE = "sensor_msgs/msg/CameraInfo", "sensor_msgs/msg/Range"
SCAN, CLOUD = "sensor_msgs/msg/LaserScan", "sensor_msgs/msg/PointCloud2"
FIELD, FIX = "sensor_msgs/msg/MagneticField", "sensor_msgs/msg/NavSatFix"
POSE = "geometry_msgs/msg/PoseWithCovarianceStamped"
#: Plotted numbers of each type of message: the label of each number by its path in the message.
PLOTTED = {
    WRENCH: {f"wrench.force.{axis}": f"force {axis}" for axis in "xyz"},
    IMU: {f"linear_acceleration.{axis}": f"acceleration {axis}" for axis in "xyz"},
    RANGE: {"range": "range"},
    FIELD: {f"magnetic_field.{axis}": f"field {axis}" for axis in "xyz"},
    FIX: {name: name for name in ("latitude", "longitude", "altitude")},
    POSE: {f"pose.pose.position.{axis}": f"position {axis}" for axis in "xyz"},
}


@dataclass(frozen=True, slots=True)
class ShownTopic:
    """A topic in a layout.

    Attributes:
        name: full name of the topic.
        type: type of its messages.
        title: title of its plot.
    """

    name: str
    type: str
    title: str


def shown_topics(
    specs: Sequence[Spec], namespace: str = "", *, odom: bool = False, described: bool = True
) -> tuple[ShownTopic, ...]:
    """Return the topics of a simulator that layouts show, in the order of the panels.

    Args:
        specs: sensors of the robot.
        namespace: namespace of the node, as /left; empty: no namespace.
        odom: whether the pose of a moving base is published.
        described: whether the URDF of the robot is published.
    """
    rows = [
        *([("robot_description", STRING, "robot")] if described else []),
        ("joint_states", JOINTS, "joints"),
        ("simulator/wrench_markers", MARKERS, "wrenches"),
        *([("odom", ODOMETRY, "odom")] if odom else []),
        *(row for spec in specs for row in _rows(spec)),
    ]
    root = f"/{namespace.strip('/')}" if namespace.strip("/") else ""
    topics = (ShownTopic(f"{root}/{name}", kind, title) for name, kind, title in rows)
    return (*topics, ShownTopic("/diagnostics", DIAGNOSTICS, "diagnostics"))


def _rows(spec: Spec) -> Iterator[tuple[str, str, str]]:
    """Yield the topics of a sensor; a sensor of joint torque has none, see joint_states."""
    name = spec.name
    if isinstance(spec, LidarSpec):
        kind = ("scan", SCAN) if is_planar(spec) else ("points", CLOUD)
        yield f"{name}/{kind[0]}", kind[1], name
    elif isinstance(spec, RangeSpec):
        yield f"{name}/range", RANGE, name
    elif isinstance(spec, DepthSpec | ColorSpec):
        yield f"{name}/image_raw", IMAGE, name
        yield f"{name}/camera_info", CAMERA_INFO, name
    elif isinstance(spec, ImuSpec):
        yield f"{name}/data{'' if spec.orientation else '_raw'}", IMU, name
    elif isinstance(spec, ForceTorqueSpec | ContactSpec):
        yield f"{name}/wrench", WRENCH, name
    elif isinstance(spec, MagnetometerSpec):
        yield f"{name}/mag", FIELD, name
    elif isinstance(spec, GpsSpec):
        yield f"{name}/fix", FIX, name
    elif isinstance(spec, PoseSpec):
        yield f"{name}/pose", POSE, name
