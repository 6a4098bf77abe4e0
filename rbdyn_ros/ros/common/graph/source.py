# SPDX-License-Identifier: Apache-2.0
"""Load a node's robot from a file, a parameter or the topic robot_description."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from rclpy.node import Node
from std_msgs.msg import String

from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.reading.xacro_files import xacro_arguments
from rbdyn_ros.description.scene_files.scene import is_scene, no_floating_scene
from rbdyn_ros.description.source import Source, opened
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.loading.load import complete
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.graph.listener import Listener
from rbdyn_ros.ros.common.graph.qos import LATCHED

#: Interval of the log line while the node waits for the topic [s].
REMINDER = 5.0


def load_robot(
    node: Node,
    values: SimpleNamespace,
    stop: threading.Event,
    fallback: Path | None = None,
    found: Callable[[Source], object] | None = None,
    equipped: Callable[[Model], Model] = lambda m: m,
    described: Callable[[Description], Description] = lambda description: description,
) -> tuple[Model, Source]:
    """Return the Model of the robot that the parameters name, and its source; log its warnings.

    Args:
        node: node that waits for the topic and logs.
        values: values of the parameters.
        stop: ends the wait for the topic when it is set.
        fallback: path of a robot if the parameters name no robot; None: wait for the topic.
        found: called with the source before the Model is made, which can take long; None: nothing
            is called.
        equipped: returns the Model with added options and parts that the robot file lacks.
        described: returns the Description with added joints that the robot file lacks.

    Raises:
        RbdynError: the robot is refused.
        KeyboardInterrupt: stop was set.
    """
    source = find(node, values, stop, fallback)
    if found is not None:
        found(source)
    source = replace(source, description=described(source.description))
    floating = getattr(values, "floating_base", False)
    if floating and source.is_scene:
        raise no_floating_scene()
    m = complete(source.description, floating, values.strict)
    warnings = [f"  {finding}" for finding in m.findings if finding.severity == "warning"]
    if warnings:
        node.get_logger().warning("\n".join([f"robot '{m.name}':", *warnings]))
    m = equipped(m)
    _check_sha256(m, values.required_sha256)
    return m, source


def find(
    node: Node, values: SimpleNamespace, stop: threading.Event, fallback: Path | None
) -> Source:
    """Return the robot that the parameters name; else the fallback; else the robot on the topic.

    Arguments as for load_robot.

    Raises:
        DescriptionError: the robot is refused.
        ParameterError: its xacro arguments are refused, or `scene` names no scene file.
        KeyboardInterrupt: stop was set.
    """
    contact, arguments = getattr(values, "contact", False), xacro_arguments(values.xacro_args)
    scene = getattr(values, "scene", "")
    path: str | Path | None = scene or values.urdf
    if not path and not values.robot_description:
        path = fallback
    if path:
        file = RobotFile(path, arguments, values.package_dirs)
        at = file.located()
        if scene and kind_of(at) and not is_scene(at):
            reason = f"scene is {quote(scene)}, which is not a scene file; name a robot in urdf"
            raise ParameterError(Finding("bad-scene", reason, "error", "scene", found=scene))
        return opened(file, strict=values.strict, contact=contact and not is_scene(at))
    if arguments:
        reason = "xacro_args needs a .xacro file in urdf; robot_description is a URDF already."
        raise ParameterError(Finding("xacro-args", reason, "error", "xacro_args"))
    received = not values.robot_description
    text = _wait(node, stop) if received else values.robot_description
    source = f"topic {node.resolve_topic_name('robot_description')}" if received else "parameter"
    described = urdf.read_text(
        text,
        source=f"<{source}>",
        strict=values.strict,
        package_dirs=values.package_dirs,
        contact=contact,
    )
    return Source(described, text, received=received)


def _wait(node: Node, stop: threading.Event) -> str:
    received: list[str] = []
    with Listener(node, stop) as listener:
        topic = node.resolve_topic_name("robot_description")
        listener.subscribe(String, topic, lambda message: received.append(message.data), LATCHED)
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


def _check_sha256(m: Model, wanted: str) -> None:
    """Raise ParameterError if required_sha256, `wanted`, is the hash of another robot."""
    found = m.sha256()
    if wanted and wanted.lower() != found:
        text = (
            f"the robot's model_sha256 is {found}; parameter 'required_sha256' is {wanted}. This "
            "is another robot, or another version of the required robot."
        )
        raise ParameterError(Finding("sha256", text, "error", "required_sha256", None, found))
