# SPDX-License-Identifier: Apache-2.0
"""URDF: prune, parse, repair."""
