# SPDX-License-Identifier: Apache-2.0
"""Three robots of example-robot-data, for our engine and for MuJoCo."""

from __future__ import annotations

from pathlib import Path

import mujoco
import pinocchio

from rbdyn_ros.measuring import peers

ROBOTS = {
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "Panda": "panda_description/urdf/panda.urdf",
    "Talos reduced": "talos_data/robots/talos_reduced.urdf",
}


def path_of(robot: str) -> Path:
    """Return the path of a robot's URDF."""
    return folder() / ROBOTS[robot]


def folder() -> Path:
    """Return the robots folder of the package example-robot-data."""
    prefix = Path(pinocchio.__file__).parents[4]  # <prefix>/lib/pythonX.Y/site-packages/pinocchio
    return prefix / "share/example-robot-data/robots"


def mujoco_model(path: Path) -> mujoco.MjModel:
    """Load a URDF in MuJoCo's fastest setting: fixed links fused, no contact, no constraints."""
    return peers.mujoco_model(path.read_text())
