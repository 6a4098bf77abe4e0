"""Equations of a motion, their unknowns, and their solution."""
