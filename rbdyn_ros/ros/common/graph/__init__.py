# SPDX-License-Identifier: Apache-2.0
"""The graph of ROS: names of nodes, helper nodes, calls, topics and QoS."""
