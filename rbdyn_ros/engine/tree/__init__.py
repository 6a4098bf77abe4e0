# SPDX-License-Identifier: Apache-2.0
"""Recursions over the bodies of a tree: poses, velocities, forces, inertias, accelerations."""
