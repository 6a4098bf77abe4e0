"""Quantities people ask of a dynamics library, beyond simulation.

They are those at the positions, velocities and accelerations that stand in a Data. Each function
computes all it needs from these and returns new arrays.
"""
