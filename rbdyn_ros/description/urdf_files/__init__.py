"""URDF and xacro: guard, expand, prune, parse."""
