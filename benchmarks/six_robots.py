# SPDX-License-Identifier: Apache-2.0
"""Six robots from 6 to about 50 degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import rbdyn_ros as rb
from benchmarks.robots import folder


@dataclass(frozen=True, slots=True)
class Robot:
    """A robot of example-robot-data.

    Attributes:
        name: name in the tables.
        file: path of its URDF below the package's robots folder.
        floats: whether its base is free.
    """

    name: str
    file: str
    floats: bool = False

    @property
    def path(self) -> Path:
        """Path of the URDF."""
        return folder() / self.file

    def load(self) -> rb.Model:
        """Load the robot with the smooth law of friction and limits, as specialised code has."""
        m = rb.load_urdf(self.path, floating_base=self.floats, strict=False)
        m.opt.exact_stops = False
        return m


SIX = (
    Robot("UR5", "ur_description/urdf/ur5_robot.urdf"),
    Robot("Panda", "panda_description/urdf/panda.urdf"),
    Robot("Go2, floating", "go2_description/urdf/go2.urdf", floats=True),
    Robot("Talos reduced", "talos_data/robots/talos_reduced.urdf"),
    Robot("Talos, floating", "talos_data/robots/talos_full_v2.urdf", floats=True),
    Robot(
        "G1 with hands, floating",
        "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
        floats=True,
    ),
)


def chosen(words: list[str]) -> list[Robot]:
    """Return the robots whose names contain one of the words; without words, all robots."""
    found = [r for r in SIX if any(word.lower() in r.name.lower() for word in words)]
    return found if words else list(SIX)
