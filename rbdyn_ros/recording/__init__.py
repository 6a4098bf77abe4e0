"""Recordings: MCAP files with ROS 2 schemas, written and read without ROS."""
