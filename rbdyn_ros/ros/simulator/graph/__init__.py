# SPDX-License-Identifier: Apache-2.0
"""Conflicts with other nodes that simulate, or publish /clock or the robot's topics."""
