"""Qualities of service as rosbag2 reads them in an MCAP file: who plays it offers the same."""

from __future__ import annotations

#: Policies by the numbers of rmw: rosbag2 of Humble and Iron reads nothing else, and since Jazzy,
#: which writes words such as `reliable`, it reads either. The durations are rmw's without an end.
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
    """Return the metadata of a channel.

    Args:
        depth: of the history.
        reliable: whether messages must arrive.
        latched: whether who comes late gets the last message (transient local).
    """
    text = _TEXT.format(
        depth=depth, reliability=1 if reliable else 2, durability=1 if latched else 2
    )
    return {"offered_qos_profiles": text}
