# SPDX-License-Identifier: Apache-2.0
"""The nodes in the graph of ROS: names, helper nodes, calls, topics and their QoS."""
