# SPDX-License-Identifier: Apache-2.0
"""What all of control stands on: limits, faults, friction, targets, and compiled kernels."""
