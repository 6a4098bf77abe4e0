# SPDX-License-Identifier: Apache-2.0
"""A configuration of RViz for one robot and its sensors."""

from collections.abc import Sequence
from typing import Any

from rbdyn_ros.description.parts.types import WORLD
from rbdyn_ros.ros.layouts.topics import (
    CLOUD,
    IMAGE,
    ODOMETRY,
    POSE,
    RANGE,
    SCAN,
    WRENCH,
    ShownTopic,
)
from rbdyn_ros.ros.simulator.rviz_config import rviz_config
from rbdyn_ros.share import share_dir

#: Class of the RViz display for each type of message; config/sim.rviz has robot and markers.
DISPLAYS = {
    CLOUD: "PointCloud2",
    IMAGE: "Image",
    ODOMETRY: "Odometry",
    POSE: "PoseWithCovariance",
    RANGE: "Range",
    SCAN: "LaserScan",
    WRENCH: "Wrench",
}
#: QoS of the displays: best effort, because a late reading is of no use.
QOS = {
    "Depth": 5,
    "History Policy": "Keep Last",
    "Reliability Policy": "Best Effort",
    "Durability Policy": "Volatile",
}
#: Size of points [m], length of arrows [m/N, m/(N m)], and number of arrows that are kept.
LOOKS: dict[str, dict[str, Any]] = {
    CLOUD: {"Size (m)": 0.01},
    SCAN: {"Size (m)": 0.02},
    WRENCH: {"Force Arrow Scale": 0.005, "Torque Arrow Scale": 0.05},
    ODOMETRY: {"Keep": 1},
}


def rviz_layout(topics: Sequence[ShownTopic], namespace: str = "", frame_prefix: str = "") -> str:
    """Return a configuration of RViz.

    Args:
        topics: topics of the robot.
        namespace: namespace of the simulator; empty: the root namespace.
        frame_prefix: parameter frame_prefix of the simulator; empty, or with a slash at its end.
    """
    template = (share_dir() / "config" / "sim.rviz").read_text(encoding="utf-8")
    displays = [_display(topic) for topic in topics if topic.type in DISPLAYS]
    return rviz_config(template, [(namespace, frame_prefix)], WORLD, displays)


def _display(topic: ShownTopic) -> dict[str, Any]:
    return {
        "Class": f"rviz_default_plugins/{DISPLAYS[topic.type]}",
        "Name": topic.title,
        "Enabled": True,
        "Value": True,
        "Topic": {"Value": topic.name, **QOS},
        **LOOKS.get(topic.type, {}),
    }
