# SPDX-License-Identifier: Apache-2.0
"""QoS profiles of the nodes."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

#: Late subscribers get the last message.
LATCHED = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)

#: A service queues up to 5000 requests, the most that Fast DDS allows. With ROS 2's default of 10,
#: requests that come faster than they are served get no answer.
SERVICES = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)


def reliable(depth: int) -> QoSProfile:
    """Return the QoS of a reliable topic with a queue of `depth` messages."""
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE)


def of_states(reliability: str, depth: int = 1) -> QoSProfile:
    """Return the QoS for states: `reliable`, or `best_effort`, which every publisher satisfies."""
    policy = ReliabilityPolicy[reliability.upper()]
    return QoSProfile(depth=depth, reliability=policy)
