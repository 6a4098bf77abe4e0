"""Recordings, and the motions that they become."""
