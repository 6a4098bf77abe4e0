# SPDX-License-Identifier: Apache-2.0
"""Mesh files: where they are, what they hold, and their convex hulls."""
