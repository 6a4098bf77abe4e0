"""Dry friction and limits of joints: exact in a step."""
