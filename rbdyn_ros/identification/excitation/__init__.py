"""Motions to record: well conditioned for identification, or sweeps at constant speeds."""
