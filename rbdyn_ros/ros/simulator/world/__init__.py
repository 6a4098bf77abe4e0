# SPDX-License-Identifier: Apache-2.0
"""The objects and obstacles of a robot, which come, go and move while time runs."""
