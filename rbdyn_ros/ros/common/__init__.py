"""Shared by both nodes: life cycle, parameters, messages, recording."""
