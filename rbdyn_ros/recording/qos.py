# SPDX-License-Identifier: Apache-2.0
"""QoS profiles for the metadata of an MCAP file; rosbag2 uses them at playback."""

#: A profile with policies as numbers of rmw, the only form that rosbag2 of Humble and Iron reads.
#: Since Jazzy it also reads words such as `reliable`. The durations mean infinity.
_TEXT = """\
- history: 1
  depth: {depth}
  reliability: {reliability}
  durability: {durability}
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: 1
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false"""


def offered(depth: int = 10, reliable: bool = True, latched: bool = False) -> dict[str, str]:
    """Return the metadata of a channel with the QoS of its publisher.

    Args:
        depth: depth of the history.
        reliable: whether the publisher is reliable instead of best effort.
        latched: whether late subscribers get the last message (transient local).
    """
    text = _TEXT.format(
        depth=depth, reliability=1 if reliable else 2, durability=1 if latched else 2
    )
    return {"offered_qos_profiles": text}
