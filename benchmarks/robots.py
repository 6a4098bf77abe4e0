"""The robots of the tables, for us and for MuJoCo."""

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
    """Return the URDF of a robot in the package example-robot-data."""
    return folder() / ROBOTS[robot]


def folder() -> Path:
    """Return where that package has its robots."""
    prefix = Path(pinocchio.__file__).parents[4]  # <prefix>/lib/pythonX.Y/site-packages/pinocchio
    return prefix / "share/example-robot-data/robots"


def mujoco_model(path: Path) -> mujoco.MjModel:
    """Load a URDF as MuJoCo runs it fastest: fixed links fused, no contact, no constraint."""
    return peers.mujoco_model(path.read_text())
