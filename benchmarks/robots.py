"""The robots of the tables, for us and for MuJoCo."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import pinocchio

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
    tree = ET.parse(path)
    for link in tree.getroot().iter("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                link.remove(element)
    extension = ET.SubElement(tree.getroot(), "mujoco")
    ET.SubElement(extension, "compiler", fusestatic="true", balanceinertia="true")
    model = mujoco.MjModel.from_xml_string(ET.tostring(tree.getroot(), encoding="unicode"))
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_CONSTRAINT
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.timestep = 0.001
    return model
