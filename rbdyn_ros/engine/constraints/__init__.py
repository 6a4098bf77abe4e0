"""Loops and other constraints, joints that follow others, dofs moved by more than forces."""
