# SPDX-License-Identifier: Apache-2.0
"""Services that compute terms of the equation of motion or inverse kinematics."""
