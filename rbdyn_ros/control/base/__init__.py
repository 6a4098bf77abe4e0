# SPDX-License-Identifier: Apache-2.0
"""The base of control: limits, faults, friction, targets, and compiled kernels."""
