# SPDX-License-Identifier: Apache-2.0
"""Mobile bases: find the wheels of a robot, drive them by a twist, and compute odometry."""
