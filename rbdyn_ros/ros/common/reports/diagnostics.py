# SPDX-License-Identifier: Apache-2.0
"""The topic /diagnostics."""

import importlib
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node

from rbdyn_ros.ros.common.graph.interfaces import message_class
from rbdyn_ros.ros.common.reports.qos_reports import for_publisher
from rbdyn_ros.ros.common.reports.status import Status


class Diagnostics:
    """Publishes /diagnostics; if diagnostic_msgs is not installed, logs a warning instead.

    Args:
        node: node that publishes.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._array = message_class(node, "diagnostic_msgs", "DiagnosticArray", "/diagnostics")
        if self._array is not None:
            self._publisher = node.create_publisher(
                self._array,
                "/diagnostics",
                10,
                event_callbacks=for_publisher(node, "/diagnostics"),
            )

    def publish(self, rows: Sequence[tuple[Node, str, Status]]) -> None:
        """Publish statuses; each row has the node, the name of the hardware and the status."""
        if self._array is None:
            return
        message = self._array(status=[_status_message(*row) for row in rows])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)


def _status_message(node: Node, hardware: str, status: Status) -> Any:
    messages = importlib.import_module("diagnostic_msgs.msg")
    return messages.DiagnosticStatus(
        level=bytes([status.level]),
        name=f"{node.get_fully_qualified_name().lstrip('/')}: {status.name}",
        message=status.message,
        hardware_id=hardware,
        values=[messages.KeyValue(key=key, value=text) for key, text in status.values.items()],
    )
