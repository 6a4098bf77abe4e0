# SPDX-License-Identifier: Apache-2.0
"""Publishers of a topic: find their nodes, and the sender of a message."""

import inspect
from collections import Counter
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

#: Name of a node that is not in the graph yet.
UNKNOWN = "_NODE_NAME_UNKNOWN_"


def full_name(end: Any) -> str:
    """Return the full name of an endpoint's node; UNKNOWN if the node is not in the graph yet."""
    if end.node_name == UNKNOWN:
        return UNKNOWN  # the namespace is unknown too, but rclpy has another text for that
    return f"{end.node_namespace.rstrip('/')}/{end.node_name}"


def other_publishers(node: Node, topic: str, own: int) -> list[str]:
    """Return the sorted names of all other nodes that publish a topic.

    Publishers are counted, so another node with the same name as `node` is also listed.

    Args:
        node: the node whose publishers are left out.
        topic: full name of the topic.
        own: number of publishers that `node` itself has on the topic.
    """
    if node.count_publishers(topic) <= own:  # faster than reading the names
        return []
    names = Counter(full_name(end) for end in node.get_publishers_info_by_topic(topic))
    names[node.get_fully_qualified_name()] -= own
    return sorted(names.elements())


def sender_name(node: Node, topic: str, sender: bytes) -> str:
    """Return the full name of the node whose publisher has the GID `sender`, or UNKNOWN."""
    for end in node.get_publishers_info_by_topic(topic):
        if bytes(end.endpoint_gid)[: len(sender)] == sender[: len(end.endpoint_gid)]:
            return full_name(end)
    return UNKNOWN


def described(name: str) -> str:
    """Return a node for a message: `node /name`, or words for a node whose name is UNKNOWN."""
    return "a node whose name is not known yet" if name == UNKNOWN else f"node {name}"


def with_sender(take: Callable[[Any, bytes | None], None]) -> Callable[..., None]:
    """Return the callback of a subscription that also gets the sender of each message.

    Args:
        take: called with the message and the GID of its publisher; the GID is None where rclpy
            lacks it (Humble, and early versions of Jazzy and Kilted).
    """

    def receive(*given: Any) -> None:
        # rclpy's executors pass two arguments, message and info. Its events executor passes one
        # tuple, and Humble passes the message only.
        message, info = given if len(given) == 2 else _unpacked(given[0])
        gid = info.get("publisher_gid")
        take(message, gid["data"] if gid else None)

    # from the signature rclpy decides whether a callback takes the info
    receive.__signature__ = inspect.signature(_example)  # type: ignore[attr-defined]
    return receive


def _unpacked(given: Any) -> tuple[Any, Any]:
    return given if isinstance(given, tuple) else (given, {})


def _example(message: Any, info: Any) -> None:
    """Provide the signature of a callback that takes a message and its info."""
