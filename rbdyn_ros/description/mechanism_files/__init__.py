"""Mechanism files: robots in YAML, with what URDF cannot describe."""
