"""Other simulators in the graph that publish the same joint_states."""

from __future__ import annotations

from rclpy.node import Node

from rbdyn_ros.ros.common.endpoints import described, other_publishers

#: A service that every simulated robot has and other nodes do not.
OWN_SERVICE = "state_hash"


class TwinWatch:
    """Warns of each other simulator on joint_states, also of one with the same name.

    Other nodes may publish states of other joints there, such as those of a gripper.

    Args:
        node: publishes joint_states once.
    """

    def __init__(self, node: Node) -> None:
        self._node, self._topic = node, node.resolve_topic_name("joint_states")
        self._warned: list[str] = []

    def poll(self) -> None:
        """Warn if another simulator has appeared since the last call."""
        twins = [
            name
            for name in other_publishers(self._node, self._topic, 1)
            if self._is_simulator(name)
        ]
        if twins != self._warned and twins:
            self._node.get_logger().warning(
                f"another simulator publishes on {self._topic} too: "
                f"{', '.join(map(described, twins))}. Subscribers get the states and transforms "
                "of both; start each in a namespace (--ros-args -r __ns:=/left, with frame_prefix "
                "for /tf) or in a ROS_DOMAIN_ID of its own. A node that was killed counts for up "
                "to 20 s"
            )
        self._warned = twins

    def _is_simulator(self, name: str) -> bool:
        if name == self._node.get_fully_qualified_name():
            return True
        space, _, own = name.rpartition("/")
        try:
            services = self._node.get_service_names_and_types_by_node(own, space or "/")
        except RuntimeError:  # the graph does not know the node yet, or any more
            return False
        return f"{name}/{OWN_SERVICE}" in {service for service, _ in services}
