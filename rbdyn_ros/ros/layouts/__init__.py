# SPDX-License-Identifier: Apache-2.0
"""Layouts of RViz and Foxglove for the topics of one simulated robot."""
