"""Scenes of robots and objects, joined to one description."""
