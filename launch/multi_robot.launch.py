"""Simulate several robots in one graph, each in a namespace of its own.

ros2 launch rbdyn_ros multi_robot.launch.py robots:=left,right,top

Parameters of single robots are in params_file (config/multi_robot.yaml), under /left/simulator.
"""

import re

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from rbdyn_ros.loading.assets import share_dir
from rbdyn_ros.ros.common import launching


def generate_launch_description() -> LaunchDescription:
    """Return the simulators, and RViz if it is asked for."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                launching.ROBOTS,
                default_value="left,right",
                description="Names of the robots with commas between; they are namespaces, and "
                "with a slash the prefix of their frames.",
            ),
            DeclareLaunchArgument(
                "one_process",
                default_value="false",
                choices=launching.BOOLEAN,
                description="Whether one process simulates all of them; otherwise each its own.",
            ),
            *launching.arguments(str(share_dir() / "config" / "multi_robot.yaml")),
            OpaqueFunction(function=launching.restrict_discovery),
            OpaqueFunction(function=_start),
        ]
    )


def _start(context: LaunchContext) -> list[Node]:
    chosen = context.launch_configurations
    names = _names(chosen[launching.ROBOTS])
    if chosen["one_process"] == "true":
        robots = [launching.simulator(context, fixed={launching.ROBOTS: f"[{', '.join(names)}]"})]
    else:
        robots = [_robot(context, name, first=name == names[0]) for name in names]
    return [*robots, *launching.rviz(context, [(name, f"{name}/") for name in names])]


def _robot(context: LaunchContext, name: str, *, first: bool) -> Node:
    """Return one robot; only the first publishes /clock, the others take their time from it."""
    fixed = {"frame_prefix": f"{name}/"}
    if not first:
        fixed |= {"publish_clock": "false", "use_sim_time": "true"}
    return launching.simulator(context, name, fixed)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise RuntimeError(
                f"robots is '{text}': '{name}' is no name of a namespace; allowed are names of "
                "letters, digits and _ with commas between, as in left,right"
            )
        if names.count(name) > 1:
            raise RuntimeError(f"robots is '{text}': '{name}' is named twice")
    return names
