# SPDX-License-Identifier: Apache-2.0
"""Recordings: MCAP files with ROS 2 schemas, written and read without ROS."""
