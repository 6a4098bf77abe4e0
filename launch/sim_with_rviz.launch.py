# SPDX-License-Identifier: Apache-2.0
"""Simulate a robot and show it in RViz, with the arguments of sim.launch.py."""

from pathlib import Path

from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return sim.launch.py with RViz."""
    sim = PythonLaunchDescriptionSource(str(Path(__file__).parent / "sim.launch.py"))
    return LaunchDescription(
        [IncludeLaunchDescription(sim, launch_arguments={"rviz": "true"}.items())]
    )
