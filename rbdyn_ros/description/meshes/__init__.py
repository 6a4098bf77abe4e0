"""Mesh files: where they are, what they hold, and their convex hulls."""
