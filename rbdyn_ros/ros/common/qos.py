"""The qualities of service the simulator asks for."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

#: Who comes late gets the last message.
LATCHED = QoSProfile(
    depth=1,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    reliability=ReliabilityPolicy.RELIABLE,
)


def reliable(depth: int) -> QoSProfile:
    """Return the QoS of a topic whose messages must arrive."""
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE)
