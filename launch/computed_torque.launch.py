"""Let an arm follow: ros2 launch rbdyn_ros computed_torque.launch.py urdf:=/path/arm.urdf .

It begins with a dry run; with sim:=true a simulator is the arm. See docs/guides/real_arm.md.
"""

from launch import LaunchDescription
from rbdyn_ros.ros.arm import launching as arm_launching


def generate_launch_description() -> LaunchDescription:
    """Return the controller of an arm in mode computed_torque, and a simulator if asked for."""
    return arm_launching.description("computed_torque")
