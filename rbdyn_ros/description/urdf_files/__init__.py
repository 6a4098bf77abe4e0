"""URDF: prune, parse, repair."""
