# SPDX-License-Identifier: Apache-2.0
"""The node arm_controller."""
