"""Recursions over the bodies of a tree: poses, velocities, forces, inertias, accelerations."""
