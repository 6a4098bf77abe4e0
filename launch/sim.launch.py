# SPDX-License-Identifier: Apache-2.0
"""Simulate a robot: ros2 launch rbdyn_ros sim.launch.py urdf:=/path/robot.urdf ."""

from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from rbdyn_ros.ros.common.settings import launching
from rbdyn_ros.ros.simulator import launching as sim_launching


def generate_launch_description() -> LaunchDescription:
    """Return the simulator, and RViz if rviz is true."""
    return LaunchDescription(
        [
            launching.namespace_argument(),
            *sim_launching.arguments(),
            OpaqueFunction(function=launching.restrict_discovery),
            OpaqueFunction(function=_start),
        ]
    )


def _start(context: LaunchContext) -> list[Node]:
    chosen = context.launch_configurations
    namespace = chosen["namespace"]
    robot = (namespace, chosen["frame_prefix"])
    return [sim_launching.simulator(context, namespace), *sim_launching.rviz(context, [robot])]
