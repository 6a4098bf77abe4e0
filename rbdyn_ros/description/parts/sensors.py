# SPDX-License-Identifier: Apache-2.0
"""Sensors that a robot file describes, with the keys of a sensors file, as plain frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rbdyn_ros.description.parts.poses import Quat

#: Orientation in a link of an optical frame that points along x: z forward, x right, y down.
OPTICAL: Quat = (0.5, -0.5, 0.5, -0.5)


@dataclass(frozen=True, slots=True)
class SensorEntry:
    """A sensor as an entry of a sensors file.

    Attributes:
        type: one of the types of a sensors file.
        link: link whose frame it has; empty: it measures across a joint.
        joint: joint across which it measures; empty: it has a link.
        frame: link in whose axes a force/torque sensor reports; empty: the child link.
        values: values of the other keys.
    """

    name: str
    type: str
    link: str = ""
    joint: str = ""
    frame: str = ""
    values: Mapping[str, object] = field(default_factory=dict)
    line: int | None = None
