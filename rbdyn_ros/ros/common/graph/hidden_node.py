# SPDX-License-Identifier: Apache-2.0
"""Helper nodes that command line tools do not list."""

from rclpy.node import Node


def hidden_node(node: Node, name: str) -> Node:
    """Return a helper of a node, named _NODE_NAME; command line tools do not list it."""
    return Node(
        f"_{node.get_name()}_{name}",
        context=node.context,
        namespace=node.get_namespace(),
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
    )
