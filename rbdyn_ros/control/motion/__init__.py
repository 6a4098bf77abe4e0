"""Paths of joints and of a frame: planning, sampling, following and joining them."""
