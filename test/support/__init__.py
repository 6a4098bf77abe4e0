"""Helpers of the tests: robots, generated trees, other engines, comparison."""
