"""Actuators: what becomes of a commanded effort on its way to the joint."""
