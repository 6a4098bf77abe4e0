# SPDX-License-Identifier: Apache-2.0
"""Mechanism files: robots in YAML, with features that URDF lacks."""
