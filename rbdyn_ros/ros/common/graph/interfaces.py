# SPDX-License-Identifier: Apache-2.0
"""Import the interfaces of packages that may not be installed."""

import importlib
from typing import Any

from rclpy.node import Node


def message_class(node: Node, package: str, name: str, topic: str) -> Any:
    """Return a message class, or None and log that `topic` is missing if it is not installed."""
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError):  # importing a plain folder of this name succeeds, too
        node.get_logger().warning(f"{package} is not installed: no topic {topic}")
        return None


def own_services() -> Any:
    """Return the module rbdyn_interfaces.srv.

    Raises:
        ImportError: it is not installed.
    """
    srv = importlib.import_module("rbdyn_interfaces.srv")
    if not hasattr(srv, "GetComputedTorque"):
        # the repository's folder of this name imports as an empty package
        raise ImportError("rbdyn_interfaces is not built, or is older than rbdyn_ros")
    return srv
