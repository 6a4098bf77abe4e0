# SPDX-License-Identifier: Apache-2.0
"""The files of a configuration package of MoveIt 2, as its setup assistant arranges them.

The files have the keys that move_group reads (moveit_configs_utils,
moveit_simple_controller_manager, srdfdom). Settings that MoveIt ships for every robot, such as the
settings of OMPL, are left out, because their keys differ between the distributions of ROS 2.
"""

import html
import math
import os
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import yaml

from rbdyn_ros.codegen.ros2_control.package import filled
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.ros.moveit.groups import Groups
from rbdyn_ros.ros.moveit.semantics import ARM, RobotSemantics
from rbdyn_ros.ros.simulator.rviz_config import rviz_config
from rbdyn_ros.share import share_dir

TEMPLATES = Path(__file__).parent / "templates"
#: End of the names of configuration packages.
SUFFIX = "_moveit_config"
#: Number of joints that an arm needs to bring its tip to any pose.
SIX = 6
#: A gripper has reached its goal within this share of its stroke.
REACHED = 0.02
#: Limits of the tip's motion for the Pilz planner [m/s, m/s^2, m/s^2, rad/s].
CARTESIAN = {
    "max_trans_vel": 1.0,
    "max_trans_acc": 2.25,
    "max_trans_dec": -5.0,
    "max_rot_vel": 1.57,
}
#: Matches a comment, or a mesh element of a URDF. Its groups are the text before the quotation
#: mark and the mark, the mark, and the mesh's name.
MESH = re.compile(r'<!--.*?-->|(<mesh\b[^>]*?\bfilename\s*=\s*(["\']))(.*?)\2', re.DOTALL)
#: Acceleration limit for MoveIt of a joint that has none in the robot file [rad/s^2 or m/s^2].
ACCELERATION = 1.0
ADDRESS, MESHES = "package://", "meshes"


@dataclass(frozen=True, slots=True)
class MoveItPackage:
    """A configuration package for one robot.

    Args:
        name: name of the package.
        urdf: text of the robot's URDF.
        meshes: finds the meshes of the robot.
        semantics: groups, states and pairs of links of the robot.
    """

    name: str
    urdf: str
    meshes: MeshFiles
    semantics: RobotSemantics

    @property
    def stem(self) -> str:
        """Name of the robot's files, without the suffix."""
        return self.name.removesuffix(SUFFIX)

    def files(self) -> dict[str, str | bytes]:
        """Return the content of every file by its path in the package.

        Raises:
            ParameterError: a mesh cannot be read.
        """
        groups = self.semantics.groups
        config = {
            "joint_limits": joint_limits(self.semantics),
            "moveit_joint_limits": joint_limits(self.semantics, ACCELERATION),
            "kinematics": kinematics(groups),
            "moveit_controllers": controllers(groups),
            "pilz_cartesian_limits": {"cartesian_limits": CARTESIAN},
            "simulator": simulator(self.semantics),
            "arm_controller": arm_controller(groups),
        }
        origin = {
            "urdf": {"package": self.name, "relative_path": f"config/{self.stem}.urdf"},
            "srdf": {"relative_path": f"config/{self.stem}.srdf"},
        }
        copies = self._copies()
        urdf = self._urdf({path: place for place, path in copies.items()})
        return {
            **self._templates(urdf),
            ".setup_assistant": _yaml({"moveit_setup_assistant_config": origin}),
            f"config/{self.stem}.urdf": urdf,
            f"config/{self.stem}.srdf": self.semantics.text(),
            **{f"config/{name}.yaml": _yaml(data) for name, data in config.items()},
            "config/moveit.rviz": rviz(),
            **{place: _bytes(path) for place, path in copies.items()},
        }

    def _copies(self) -> dict[str, Path]:
        """Return the mesh files to copy into the package, by their paths in the package.

        Meshes in a package that ROS finds are not copied.
        """
        copies: dict[str, Path] = {}
        for path in dict.fromkeys(filter(None, map(self._file, _names(self.urdf)))):
            copies[_place(path, copies)] = path
        return copies

    def missing(self) -> list[str]:
        """Return the names of meshes that are neither copied nor in a package that ROS finds."""
        names = _names(self.urdf)
        return [name for name in names if not (_is_in_package(name) or self._file(name))]

    def _file(self, name: str) -> Path | None:
        """Return the file of a mesh; None if it is in a package that ROS finds, or not found."""
        if _is_in_package(name):
            return None
        try:
            return self.meshes.find(name)
        except UnusableMeshError:
            return None

    def _urdf(self, places: Mapping[Path, str]) -> str:
        """Return the URDF with new addresses of the copied meshes, whose paths are `places`."""

        def addressed(found: re.Match[str]) -> str:
            path = self._file(html.unescape(found[3])) if found[3] else None
            if path is None:
                return found[0]
            return f"{found[1]}{ADDRESS}{self.name}/{places[path]}{found[2]}"

        return MESH.sub(addressed, self.urdf)

    def _templates(self, urdf: str) -> dict[str, str]:
        packages = {name.split("/")[2] for name in _names(urdf) if name.startswith(ADDRESS)}
        packages.discard(self.name)
        robot = self.semantics.m.name
        values = {
            "package": self.name,
            "name": self.stem,
            "robot_xml": escape(robot),
            "robot_text": "".join(c if c.isprintable() and c not in '"\\' else "_" for c in robot),
            "mesh_packages": "".join(
                f"  <exec_depend>{escape(package)}</exec_depend>\n" for package in sorted(packages)
            ),
        }
        return {
            path.relative_to(TEMPLATES).as_posix().removesuffix(".in"): filled(
                path.read_text("utf-8"), values
            )
            for path in sorted(TEMPLATES.rglob("*.*"))
        }


def _bytes(path: Path) -> bytes:
    """Return the content of a mesh; raise ParameterError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        text = f"the mesh {quote(str(path), 200)} cannot be read: {error.strerror}"
        raise ParameterError(Finding("bad-mesh", text, "error", "mesh")) from error


def _names(urdf: str) -> list[str]:
    """Return the names of the meshes of a URDF."""
    return list(dict.fromkeys(html.unescape(m[3]) for m in MESH.finditer(urdf) if m[3]))


def _place(path: Path, taken: Container[str]) -> str:
    """Return a path for a mesh that is not taken and needs no escaping in an address."""
    folder, name = (re.sub(r"[^A-Za-z0-9._-]", "_", x) for x in (path.parent.name, path.name))
    while f"{MESHES}/{folder}/{name}" in taken:
        folder += "_"
    return f"{MESHES}/{folder}/{name}"


def _is_in_package(name: str) -> bool:
    """Return whether a mesh is in a package of a sourced workspace."""
    if not name.startswith(ADDRESS):
        return False
    package = name.split("/")[2]
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return any(prefix and Path(prefix, "share", package).is_dir() for prefix in prefixes)


def joint_limits(semantics: RobotSemantics, acceleration: float = math.inf) -> dict[str, Any]:
    """Return the limits of the robot for joint_limits.yaml or moveit_joint_limits.yaml.

    The simulator and arm_controller also read joint_limits.yaml next to the robot, and refuse
    faster motions. The Pilz planner needs acceleration limits, so MoveIt reads
    moveit_joint_limits.yaml, which has such a limit for each joint.

    Args:
        semantics: semantics of the robot.
        acceleration: limit of a joint without a limit in the robot file [rad/s^2 or m/s^2];
            infinite: no limit.
    """
    m, groups = semantics.m, semantics.groups
    names = [*groups.joints, *([groups.gripper.joint] if groups.gripper else [])]
    rows = {name: m.jnt_names.index(name) for name in names}
    limits = {
        name: {
            **_limit("velocity", float(m.jnt_velocity[j])),
            **_limit("acceleration", float(m.jnt_acceleration[j]), acceleration),
            **_limit("jerk", float(m.jnt_jerk[j])),
        }
        for name, j in rows.items()
    }
    scaling = {f"default_{kind}_scaling_factor": 0.1 for kind in ("velocity", "acceleration")}
    return {**scaling, "joint_limits": limits}


def _limit(kind: str, most: float, usual: float = math.inf) -> dict[str, Any]:
    most = most if math.isfinite(most) else usual
    has = math.isfinite(most)
    return {f"has_{kind}_limits": has, **({f"max_{kind}": most} if has else {})}


def kinematics(groups: Groups) -> dict[str, Any]:
    """Return kinematics.yaml; IK solves only for the tip's position with fewer than six joints."""
    solver: dict[str, Any] = {
        "kinematics_solver": "kdl_kinematics_plugin/KDLKinematicsPlugin",
        "kinematics_solver_search_resolution": 0.005,
        "kinematics_solver_timeout": 0.05,
    }
    if len(groups.joints) < SIX:
        solver["position_only_ik"] = True
    return {ARM: solver}


def controllers(groups: Groups) -> dict[str, Any]:
    """Return moveit_controllers.yaml: the actions of arm_controller and of the simulated gripper.

    The name of an action is CONTROLLER/action_ns.
    """
    arm = {
        "type": "FollowJointTrajectory",
        "action_ns": "follow_joint_trajectory",
        "default": True,
        "joints": list(groups.joints),
    }
    found: dict[str, Any] = {"arm_controller": arm}
    if groups.gripper is not None:
        found["simulator"] = {
            "type": "GripperCommand",
            "action_ns": "gripper_cmd",
            "default": True,
            "joints": [groups.gripper.joint],
            "max_effort": groups.gripper.most_effort,
        }
    manager = "moveit_simple_controller_manager"
    return {
        "moveit_controller_manager": f"{manager}/MoveItSimpleControllerManager",
        manager: {"controller_names": list(found), **found},
        "trajectory_execution": {
            "allowed_execution_duration_scaling": 1.2,
            "allowed_goal_duration_margin": 0.5,
            "allowed_start_tolerance": 0.01,
        },
    }


def simulator(semantics: RobotSemantics) -> dict[str, Any]:
    """Return the parameters of the simulated robot, which starts in the first state of the arm."""
    start = next(iter(semantics.states().values()))
    given: dict[str, Any] = {"initial_positions": start}
    hand = semantics.groups.gripper
    if hand is not None:
        given["grippers"] = [semantics.groups.gripper_name]
        given["gripper.allow_stalling"] = True
        given["gripper.goal_tolerance"] = REACHED * (hand.upper - hand.lower)
    return {"simulator": {"ros__parameters": given}}


def arm_controller(groups: Groups) -> dict[str, Any]:
    """Return the parameters of the arm controller."""
    return {"arm_controller": {"ros__parameters": {"joints": list(groups.joints)}}}


def rviz() -> str:
    """Return a configuration of RViz that includes MoveIt's display."""
    display = {
        "Class": "moveit_rviz_plugin/MotionPlanning",
        "Name": "MotionPlanning",
        "Enabled": True,
        "Value": True,
        "Robot Description": "robot_description",
        "Planning Scene Topic": "monitored_planning_scene",
        "Planned Path": {"Trajectory Topic": "display_planned_path"},
        "Planning Request": {"Planning Group": ARM},
    }
    template = (share_dir() / "config" / "sim.rviz").read_text(encoding="utf-8")
    return rviz_config(template, [("", "")], "world", [display])


def _yaml(data: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(dict(data), sort_keys=False)
    return text
