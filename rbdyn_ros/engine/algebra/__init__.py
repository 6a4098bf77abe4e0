"""Spatial vectors, small matrices and one polynomial, as tuples in registers."""
