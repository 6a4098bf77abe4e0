"""Robots built in Python: SystemBuilder, Denavit-Hartenberg chains, homogeneous bodies."""
