# SPDX-License-Identifier: Apache-2.0
"""The box of Franka's Panda and FR3 with its gripper.

From the bottom: packets (bytes), limits, frames and arm (the robot), paths (commanded motions and
their limits), laws (torques), gripper, robot (the server of the arm).
"""
