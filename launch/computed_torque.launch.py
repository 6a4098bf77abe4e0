# SPDX-License-Identifier: Apache-2.0
"""Let an arm follow trajectories.

ros2 launch rbdyn_ros computed_torque.launch.py urdf:=/path/arm.urdf

The controller starts as a dry run; with sim:=true, a simulator replaces the arm. See
docs/guides/real_arm.md.
"""

from launch import LaunchDescription
from rbdyn_ros.ros.arm import launching as arm_launching


def generate_launch_description() -> LaunchDescription:
    """Return the controller in mode computed_torque, and a simulator if sim is true."""
    return arm_launching.description("computed_torque")
