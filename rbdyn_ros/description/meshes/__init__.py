# SPDX-License-Identifier: Apache-2.0
"""Mesh files: their places, their contents, and their convex hulls."""
