# SPDX-License-Identifier: Apache-2.0
"""Find the data files of the package: bundled robots, launch and config files."""

from rbdyn_ros.share import bundled_robot, bundled_robots, share_dir

__all__ = ["bundled_robot", "bundled_robots", "share_dir"]
