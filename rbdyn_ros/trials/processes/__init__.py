"""Processes that simulate runs of a trial."""
