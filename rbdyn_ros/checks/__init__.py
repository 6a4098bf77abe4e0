"""Checks of values and names from outside, shared by readers, builders and the library."""
