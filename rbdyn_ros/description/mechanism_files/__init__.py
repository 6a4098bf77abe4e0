"""Mechanism files: robots in YAML, with features that URDF lacks."""
