# SPDX-License-Identifier: Apache-2.0
"""Loops and other constraints, mimic joints, drive modes."""
