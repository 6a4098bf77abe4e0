"""Simulate a robot: ros2 launch rbdyn_ros sim.launch.py urdf:=/path/robot.urdf ."""

import os

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription
from rbdyn_ros.assets import bundled_robot

BOOLEAN = ["true", "false"]
FLAGS = ("floating_base", "contact", "start_paused")  # parameters of the node by the same name
DISCOVERY = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY")


def generate_launch_description() -> LaunchDescription:
    """Return the simulator, and RViz if it is asked for."""
    arguments = [
        DeclareLaunchArgument(
            "urdf",
            default_value=str(bundled_robot("seven_dof_arm")),
            description="Path of a .urdf or .xacro file; empty: wait for robot_description.",
        ),
        DeclareLaunchArgument(
            "namespace", default_value="", description="Namespace of the node and its topics."
        ),
        DeclareLaunchArgument(
            "floating_base",
            default_value="false",
            choices=BOOLEAN,
            description="Let the root link move freely.",
        ),
        DeclareLaunchArgument(
            "contact",
            default_value="false",
            choices=BOOLEAN,
            description="Let links touch a floor at z = 0, by their <collision>.",
        ),
        DeclareLaunchArgument(
            "start_paused",
            default_value="false",
            choices=BOOLEAN,
            description="Begin paused; the service ~/pause starts time.",
        ),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="true",
            choices=BOOLEAN,
            description="Whether RViz takes its time from /clock; the simulator makes it.",
        ),
        DeclareLaunchArgument(
            "rviz", default_value="false", choices=BOOLEAN, description="Start rviz2."
        ),
        DeclareLaunchArgument(
            "discovery",
            default_value="localhost",
            choices=["localhost", "subnet"],
            description="Who may see the simulator, unless the environment says so already.",
        ),
    ]
    simulator = Node(
        package="rbdyn_ros",
        executable="simulator",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[
            {
                "urdf": ParameterValue(LaunchConfiguration("urdf"), value_type=str),
                **{
                    name: ParameterValue(LaunchConfiguration(name), value_type=bool)
                    for name in FLAGS
                },
            }
        ],
    )
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        parameters=[
            {"use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)}
        ],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    at_exit = OnProcessExit(
        target_action=simulator,
        on_exit=[EmitEvent(event=Shutdown(reason="the simulator ended"))],
    )
    discovery = OpaqueFunction(function=_restrict_discovery)
    return LaunchDescription(
        [*arguments, discovery, RegisterEventHandler(at_exit), simulator, rviz]
    )


def _restrict_discovery(context: LaunchContext) -> list[SetEnvironmentVariable]:
    """Keep to this machine, but only where the user has not decided otherwise."""
    chosen = context.launch_configurations["discovery"]
    if chosen != "localhost" or any(name in os.environ for name in DISCOVERY):
        return []
    # the first is understood from Iron on, the second up to Humble; each ignores the other
    distro = os.environ.get("ROS_DISTRO", "")
    if distro in ("humble", "foxy", "galactic"):
        return [SetEnvironmentVariable("ROS_LOCALHOST_ONLY", "1")]
    return [SetEnvironmentVariable("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")]
