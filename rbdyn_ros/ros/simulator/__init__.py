"""The simulator node."""
