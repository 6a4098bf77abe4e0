# SPDX-License-Identifier: Apache-2.0
"""What the nodes are to the graph of ROS: names, helper nodes, calls, topics and their QoS."""
