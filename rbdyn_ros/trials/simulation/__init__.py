"""Simulate runs of a trial."""
