"""Where a node's robot comes from: a file, a parameter or the topic robot_description."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from rclpy.node import Node
from std_msgs.msg import String

from rbdyn_ros.description.source import MECHANISM_SUFFIXES, read
from rbdyn_ros.description.types import Description
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.listener import Listener
from rbdyn_ros.ros.common.qos import LATCHED

REMINDER = 5.0  # [s] between two log lines while waiting


@dataclass(frozen=True, slots=True)
class Source:
    """A robot as it was given.

    Attributes:
        text: URDF; empty for a mechanism file, which has none.
        received: it came over the topic, so somebody else publishes it.
        path: of the file it came from, or None.
    """

    description: Description
    text: str
    received: bool = False
    path: Path | None = None


def find(
    node: Node, values: SimpleNamespace, stop: threading.Event, fallback: Path | None
) -> Source:
    """Read the robot that the parameters name, the fallback, or the one on the topic.

    Raises:
        DescriptionError: the robot is refused.
        KeyboardInterrupt: stop was set while it waited for the topic.
    """
    path = Path(values.urdf) if values.urdf else fallback
    if path and (values.urdf or not values.robot_description):
        if path.suffix.lower() in MECHANISM_SUFFIXES:
            described = read(path, strict=values.strict, contact=values.contact)
            return Source(described, "", path=path)
        described, text = urdf.read_file(path, strict=values.strict, contact=values.contact)
        return Source(described, text, path=path)
    received = not values.robot_description
    text = _wait(node, stop) if received else values.robot_description
    source = f"topic {node.resolve_topic_name('robot_description')}" if received else "parameter"
    description = urdf.read_text(
        text, source=f"<{source}>", strict=values.strict, contact=values.contact
    )
    return Source(description, text, received)


def _wait(node: Node, stop: threading.Event) -> str:
    received: list[str] = []
    with Listener(node, stop) as listener:
        topic = node.resolve_topic_name("robot_description")
        listener.hear(String, topic, lambda message: received.append(message.data), LATCHED)
        remind = 0.0
        while not received:
            if time.monotonic() >= remind:
                remind = time.monotonic() + REMINDER
                node.get_logger().info(
                    f"waiting for a robot on {topic}; the parameters urdf and robot_description "
                    "are empty"
                )
            listener.spin(0.2)
    return received[0]


def demand_sha256(m: Model, wanted: str) -> None:
    """Raise ParameterError if a robot is not the one that the parameter demands, if it does."""
    found = m.sha256()
    if wanted and wanted.lower() != found:
        text = (
            f"the robot's model_sha256 is {found}; parameter 'required_sha256' demands "
            f"{wanted}. It is another robot, or another version of this one."
        )
        raise ParameterError(Finding("sha256", text, "error", "required_sha256", None, found))
