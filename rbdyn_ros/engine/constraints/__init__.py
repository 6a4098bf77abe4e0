"""Loops and other constraints, mimic joints, drive modes."""
