# SPDX-License-Identifier: Apache-2.0
"""The box of Universal Robots' arms.

From the bottom: arm (the robot), moves (the laws of motions), sensing, robot (its state machine),
variables and rtde (real-time data exchange), dashboard, scripts (programs that clients upload),
control_script (the program of ur_rtde), box (the thread).
"""
