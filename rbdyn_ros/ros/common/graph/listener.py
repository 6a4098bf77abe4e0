# SPDX-License-Identifier: Apache-2.0
"""Receive messages before the executor of the node spins."""

import threading
from collections.abc import Callable
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile

from rbdyn_ros.ros.common.graph.hidden_node import hidden_node


class Listener:
    """A helper node with an executor of its own, which exists during a `with` block.

    The main node may be inside a callback, where its executor cannot spin again.

    Args:
        beside: main node; the helper uses its name, namespace and context.
        stop: when it is set, `spin` raises KeyboardInterrupt.
    """

    def __init__(self, beside: Node, stop: threading.Event) -> None:
        self._stop = stop
        self._node = hidden_node(beside, "listener")
        self._executor = SingleThreadedExecutor(context=beside.context)
        self._executor.add_node(self._node)

    def __enter__(self) -> "Listener":  # noqa: PYI034 - typing.Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()

    def subscribe(
        self, kind: Any, topic: str, callback: Callable[[Any], None], qos: QoSProfile
    ) -> None:
        """Let `spin` call the callback with the messages of a topic, given by its full name."""
        self._node.create_subscription(kind, topic, callback, qos)

    def spin(self, timeout: float) -> None:
        """Handle one message, if one arrives within the timeout [s].

        Raises:
            KeyboardInterrupt: stop was set.
        """
        if self._stop.is_set():  # an exception that a signal raises while C++ calls Python is lost
            raise KeyboardInterrupt
        self._executor.spin_once(timeout_sec=timeout)
