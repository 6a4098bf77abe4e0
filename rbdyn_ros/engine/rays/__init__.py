"""Rays: where lines of sight meet shapes."""
