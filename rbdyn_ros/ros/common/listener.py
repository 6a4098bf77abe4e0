"""Hearing topics before the simulator's own node is served."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile


class Listener:
    """A node beside another, for as long as the `with` block lasts.

    The other may be in the middle of a callback of its own executor, which cannot be spun twice.

    Args:
        beside: gives name, namespace and context.
        stop: ends the listening when it is set.
    """

    def __init__(self, beside: Node, stop: threading.Event) -> None:
        self._stop = stop
        self._node = rclpy.create_node(
            f"{beside.get_name()}_listener",
            namespace=beside.get_namespace(),
            context=beside.context,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=beside.context)
        self._executor.add_node(self._node)

    def __enter__(self) -> Listener:  # noqa: PYI034 - typing.Self is of Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._executor.shutdown()
        self._node.destroy_node()

    def hear(
        self, kind: Any, topic: str, callback: Callable[[Any], None], qos: QoSProfile
    ) -> None:
        """Have the callback called with messages of a topic, by its full name, in `spin`."""
        self._node.create_subscription(kind, topic, callback, qos)

    def spin(self, timeout: float) -> None:
        """Serve one message, or none in the time [s].

        Raises:
            KeyboardInterrupt: stop was set.
        """
        if self._stop.is_set():  # the interrupt itself is lost if it comes while C++ calls Python
            raise KeyboardInterrupt
        self._executor.spin_once(timeout_sec=timeout)
