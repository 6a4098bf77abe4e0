"""Distances between geometries: which pairs are near, and where they are nearest."""
