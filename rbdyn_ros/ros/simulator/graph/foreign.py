# SPDX-License-Identifier: Apache-2.0
"""Log other nodes that publish on topics of a simulated robot, each once and with a remedy.

For other simulators see claims.py.
"""

from collections.abc import Collection
from typing import Any

from rclpy.node import Node

from rbdyn_ros.ros.common.graph.endpoints import UNKNOWN, full_name, other_publishers

STATES, DESCRIPTION, TF = "joint_states", "robot_description", "/tf"
#: A publisher is logged after this time in the graph [s], because ended nodes leave it late.
SETTLED = 3.0
#: Interval of the checks of the graph [s].
INTERVAL = 1.0
PAGE = "docs/guides/beside_the_simulator.md"


def advice(topics: Collection[str]) -> str:
    """Return the remedy for a node that publishes topics, some of STATES, DESCRIPTION and TF."""
    if STATES in topics:
        return (
            "its states alternate with the simulated ones in every subscriber; end it "
            "(joint_state_publisher invents states), or remap joint_states of one of the two"
        )
    return (
        "the simulator publishes description and transforms itself; end it, or start the "
        "simulator with publish_tf:=false"
    )


class ForeignPublishers:
    """Finds other publishers on the topics of one robot.

    Args:
        node: node of the robot; it publishes the states.
        describes: whether the node publishes the robot's description; if not, others may.
        transforms: whether the node publishes the robot's transforms; if not, a
            robot_state_publisher must do so.
    """

    def __init__(self, node: Node, describes: bool, transforms: bool) -> None:
        self._node, self._logger = node, node.get_logger()
        self._watched = [STATES, *[DESCRIPTION] * (describes and transforms), *[TF] * transforms]
        self._names = {topic: node.resolve_topic_name(topic) for topic in (*self._watched, TF)}
        self._since: dict[str, float] = {}
        self._named: set[str] = set()
        self._next = 0.0

    def poll(self, now: float, simulators: Collection[str]) -> None:
        """Log publishers that are new.

        Args:
            now: time on the steady clock [s].
            simulators: full names of the nodes of simulators, which are left out.
        """
        if now < self._next:
            return
        self._next = now + INTERVAL
        found = self._found(simulators)
        self._since = {name: self._since.get(name, now) for name in found}
        for name, topics in found.items():
            if now - self._since[name] >= SETTLED and name not in self._named:
                self._named.add(name)
                self._report(name, topics)

    def _found(self, simulators: Collection[str]) -> dict[str, list[str]]:
        """Return for each other node the watched topics on which it publishes."""
        found: dict[str, list[str]] = {}
        for topic in self._watched:
            for name in other_publishers(self._node, self._names[topic], 1):
                known = name != UNKNOWN and name not in simulators
                if known and topic not in found.setdefault(name, []):
                    found[name].append(topic)
        return found

    def _report(self, name: str, topics: list[str]) -> None:
        given = " and ".join(self._names[topic] for topic in topics)
        if topics == [TF] and name not in self._readers():
            text = f"node {name} publishes {given} too; its frames must not be frames of the robot"
            self._logger.info(text)
            return
        text = f"node {name} publishes {given} too: {advice(topics)}. See {PAGE}"
        self._logger.warning(text)

    def _readers(self) -> list[str]:
        """Return the nodes that receive the states, from which they may compute transforms."""
        ends: list[Any] = self._node.get_subscriptions_info_by_topic(self._names[STATES])
        return [full_name(end) for end in ends]
