"""Where the simulator's robot comes from: a file, a parameter or the topic robot_description."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from rbdyn_ros.description import urdf
from rbdyn_ros.description.source import MECHANISM_SUFFIXES, read
from rbdyn_ros.description.types import Description
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.convert import SingleJoints
from rbdyn_ros.ros.params import INITIAL

LATCHED = QoSProfile(
    depth=1,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    reliability=ReliabilityPolicy.RELIABLE,
)
REMINDER = 5.0  # [s] between two log lines while waiting


@dataclass(frozen=True, slots=True)
class Source:
    """A robot as it was given.

    Attributes:
        text: URDF; empty for a mechanism file, which has none.
        received: it came over the topic, so somebody else publishes it.
    """

    description: Description
    text: str
    received: bool = False


def find(
    node: Node,
    values: SimpleNamespace,
    executor: Any,
    stop: threading.Event,
    fallback: Path | None,
) -> Source:
    """Read the robot that the parameters name, the fallback, or the one on the topic.

    Raises:
        DescriptionError: the robot is refused.
        KeyboardInterrupt: stop was set while it waited for the topic.
    """
    path = Path(values.urdf) if values.urdf else fallback
    if path and (values.urdf or not values.robot_description):
        if path.suffix.lower() in MECHANISM_SUFFIXES:
            return Source(read(path, strict=values.strict), "")
        return Source(*urdf.read_file(path, strict=values.strict))
    received = not values.robot_description
    text = _wait(node, executor, stop) if received else values.robot_description
    source = f"topic {node.resolve_topic_name('robot_description')}" if received else "parameter"
    description = urdf.read_text(text, source=f"<{source}>", strict=values.strict)
    return Source(description, text, received)


def _wait(node: Node, executor: Any, stop: threading.Event) -> str:
    received: list[str] = []
    subscription = node.create_subscription(
        String, "robot_description", lambda message: received.append(message.data), LATCHED
    )
    executor.add_node(node)
    remind = 0.0
    while not received:
        if stop.is_set():
            raise KeyboardInterrupt
        if time.monotonic() >= remind:
            remind = time.monotonic() + REMINDER
            node.get_logger().info(
                f"waiting for a robot on {subscription.topic_name}; the parameters urdf and "
                "robot_description are empty"
            )
        executor.spin_once(timeout_sec=0.2)
    executor.remove_node(node)
    node.destroy_subscription(subscription)
    return received[0]


def start_position(m: Model, joints: SingleJoints, given: dict[str, Any]) -> NDArray[np.float64]:
    """Return qpos at the start: 0 clipped into the limits, or what the user gave by name.

    Args:
        m: the robot.
        joints: that have a position.
        given: what was set of the parameters `initial_positions.<joint>`.

    Raises:
        ParameterError: with every unknown joint and every position outside the limits.
    """
    qpos = np.array(m.qpos0)
    findings = []
    limits = {}
    for name, address in zip(joints.names, joints.qposadr, strict=True):
        j = m.jnt_id(name)
        low, high = m.jnt_range[j] if m.jnt_limited[j] else (-np.inf, np.inf)
        limits[name] = (address, low, high)
        qpos[address] = min(max(0.0, low), high)
    for parameter, value in given.items():
        name = parameter.removeprefix(INITIAL)
        if name not in limits:
            text = f"there is no joint '{name}'{did_you_mean(name, limits)}"
            findings.append(_refused(parameter, text, value))
            continue
        address, low, high = limits[name]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and low <= value <= high and np.isfinite(value)):
            text = f"it is {value!r}; allowed is a number from {low:g} to {high:g} [rad or m]"
            findings.append(_refused(parameter, text, value))
            continue
        qpos[address] = value
    if findings:
        raise ParameterError(findings)
    return qpos


def _refused(parameter: str, text: str, value: object) -> Finding:
    sentence = f"parameter '{parameter}': {text}."
    return Finding("initial-position", sentence, "error", parameter, None, repr(value))
