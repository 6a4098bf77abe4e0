# SPDX-License-Identifier: Apache-2.0
"""Test a controller in the loop with a simulated robot that has the faults of a real robot.

ros2 launch rbdyn_ros hil.launch.py urdf:=/path/robot.urdf time_mode:=lockstep \
    controller_package:=my_controllers controller_executable:=balance

This file also has the arguments of sim.launch.py; params_file is config/hil.yaml by default.
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from rbdyn_ros.ros.common.settings import launching
from rbdyn_ros.ros.simulator import launching as sim_launching
from rbdyn_ros.share import share_dir


def generate_launch_description() -> LaunchDescription:
    """Return sim.launch.py with config/hil.yaml, and the controller if it is named."""
    sim = PythonLaunchDescriptionSource(str(Path(__file__).parent / "sim.launch.py"))
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "controller_package",
                default_value="",
                description="Package of the controller to start; empty: start none.",
            ),
            DeclareLaunchArgument(
                "controller_executable",
                default_value="",
                description="Executable of the controller; it runs in the simulator's namespace.",
            ),
            DeclareLaunchArgument(
                "controller_params_file",
                default_value="",
                description="YAML file with parameters of the controller.",
            ),
            DeclareLaunchArgument(
                "params_file",
                default_value=str(share_dir() / "config" / "hil.yaml"),
                description="YAML file with parameters of the simulator. Arguments override it.",
            ),
            OpaqueFunction(function=_check),  # check before any process starts
            IncludeLaunchDescription(sim),
            OpaqueFunction(function=_controller),
        ]
    )


def _check(context: LaunchContext) -> None:
    """Raise RuntimeError if the controller or one of its files is missing."""
    chosen = context.launch_configurations
    package, executable = chosen["controller_package"], chosen["controller_executable"]
    for name in ("params_file", "controller_params_file"):
        launching.check_file(name, launching.plain(chosen[name]))
    if bool(package) != bool(executable):
        raise RuntimeError(
            f"controller_package is '{package}' and controller_executable is '{executable}'; "
            "give both, or neither to start the controller yourself"
        )
    if package:
        launching.check_executable(package, executable)


def _controller(context: LaunchContext) -> list[Node]:
    chosen = context.launch_configurations
    package, executable = chosen["controller_package"], chosen["controller_executable"]
    if not package:
        return []
    file = launching.plain(chosen["controller_params_file"])
    return [
        Node(
            package=package,
            executable=executable,
            namespace=chosen["namespace"],
            output="screen",
            parameters=[sim_launching.sim_time(context), *([file] if file else [])],
        )
    ]
