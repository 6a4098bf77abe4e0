# SPDX-License-Identifier: Apache-2.0
"""Simulate several robots in one graph, each in its own namespace.

ros2 launch rbdyn_ros multi_robot.launch.py robots:=left,right,top

Parameters of one robot are in params_file (config/multi_robot.yaml) under its node name, such as
/left/simulator.
"""

import re

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from rbdyn_ros.ros.common.settings import launching
from rbdyn_ros.ros.simulator import launching as sim_launching
from rbdyn_ros.share import share_dir


def generate_launch_description() -> LaunchDescription:
    """Return the simulators, and RViz if rviz is true."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                sim_launching.ROBOTS,
                default_value="left,right",
                description="Names of the robots, separated by commas. Each name is a "
                "namespace and, with a slash, a prefix of frames.",
            ),
            DeclareLaunchArgument(
                "one_process",
                default_value="false",
                choices=launching.BOOLEAN,
                description="Simulate all robots in one process instead of one process each.",
            ),
            *sim_launching.arguments(str(share_dir() / "config" / "multi_robot.yaml")),
            OpaqueFunction(function=launching.restrict_discovery),
            OpaqueFunction(function=_start),
        ]
    )


def _start(context: LaunchContext) -> list[Node]:
    chosen = context.launch_configurations
    names = _names(chosen[sim_launching.ROBOTS])
    if chosen["one_process"] == "true":
        robots = [
            sim_launching.simulator(context, fixed={sim_launching.ROBOTS: f"[{', '.join(names)}]"})
        ]
    else:
        robots = [_robot(context, name, first=name == names[0]) for name in names]
    return [*robots, *sim_launching.rviz(context, [(name, f"{name}/") for name in names])]


def _robot(context: LaunchContext, name: str, *, first: bool) -> Node:
    """Return one robot; the first publishes /clock, the others follow it."""
    fixed = {"frame_prefix": f"{name}/"}
    if not first:
        fixed |= {"publish_clock": "false", "use_sim_time": "true"}
    return sim_launching.simulator(context, name, fixed)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise RuntimeError(
                f"robots is '{text}': '{name}' is not a valid namespace; allowed are names of "
                "letters, digits and _, separated by commas, such as left,right"
            )
        if names.count(name) > 1:
            raise RuntimeError(f"robots is '{text}': '{name}' is named twice")
    return names
