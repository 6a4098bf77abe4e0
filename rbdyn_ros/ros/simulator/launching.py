# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the launch files of simulators: arguments, the node, the default robot, RViz."""

from collections.abc import Iterable
from typing import Any

from launch.actions import DeclareLaunchArgument
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from rbdyn_ros.ros.common.settings import launching
from rbdyn_ros.ros.simulator.parameters import PARAMETERS
from rbdyn_ros.ros.simulator.rviz_config import rviz_config
from rbdyn_ros.share import bundled_robot, share_dir

#: A parameter that only multi_robot.launch.py sets.
ROBOTS = "robots"
SIMULATOR = launching.Executable("simulator", tuple(p for p in PARAMETERS if p.name != ROBOTS))


def arguments(params_file: str = "") -> list[DeclareLaunchArgument]:
    """Return the arguments that all launch files have; the last are the node's parameters.

    Args:
        params_file: default of the argument params_file; empty: no file.
    """
    return [
        DeclareLaunchArgument(
            "urdf",
            default_value=default_robot(),
            description="Path of a .urdf, .xacro, .sdf or mechanism .yaml file; '' (two quotes): "
            "wait for the topic robot_description. robot_description, or a urdf in params_file, "
            "overrides the default.",
        ),
        launching.params_file_argument(SIMULATOR, params_file),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="true",
            choices=launching.BOOLEAN,
            description="Let the nodes beside the simulator use its /clock.",
        ),
        DeclareLaunchArgument(
            "rviz", default_value="false", choices=launching.BOOLEAN, description="Start rviz2."
        ),
        launching.discovery_argument("the simulator"),
        *launching.parameter_arguments(SIMULATOR),
    ]


def simulator(context: Any, namespace: str = "", fixed: dict[str, str] | None = None) -> Node:
    """Return the simulator that the arguments describe; when it ends, the launch ends.

    Args:
        context: context of the launch.
        namespace: namespace of the node; empty: the root namespace.
        fixed: parameters that the launch file sets, as YAML; None: it sets none.
    """
    strong = launching.given(context, SIMULATOR)
    weak: dict[str, Any] = {}
    if strong.get("urdf") == default_robot():
        if "robot_description" in strong or "scene" in strong:
            strong["urdf"] = ""  # a urdf in params_file would override robot_description
        else:
            weak = default_parameter()
            del strong["urdf"]
    file = launching.plain(context.launch_configurations["params_file"])
    launching.check_file("params_file", file)
    return launching.node(SIMULATOR, namespace, weak, file, strong | (fixed or {}))


def default_parameter() -> dict[str, Any]:
    """Return the parameter `urdf` with the default robot."""
    return {"urdf": ParameterValue(default_robot(), value_type=str)}


def default_robot() -> str:
    """Return the path of the default robot."""
    return str(bundled_robot("seven_dof_arm"))


def rviz(context: Any, robots: Iterable[tuple[str, str]]) -> list[Node]:
    """Return RViz in a list if argument rviz is true, else [].

    Args:
        context: context of the launch.
        robots: namespace and frame_prefix of each robot.

    Raises:
        RuntimeError: RViz is not installed.
    """
    chosen = context.launch_configurations
    if chosen["rviz"] != "true":
        return []
    launching.check_executable("rviz2", "rviz2", ", or leave out rviz:=true")
    template = (share_dir() / "config" / "sim.rviz").read_text(encoding="utf-8")
    config = rviz_config(template, list(robots), launching.plain(chosen["world_frame"]) or "world")
    return [
        Node(
            package="rviz2",
            executable="rviz2",
            output="screen",
            arguments=["-d", launching.temporary(config, ".rviz")],
            parameters=[sim_time(context)],
        )
    ]


def sim_time(context: Any) -> dict[str, bool]:
    """Return the parameter use_sim_time from the argument of this name."""
    return {"use_sim_time": context.launch_configurations["use_sim_time"] == "true"}
