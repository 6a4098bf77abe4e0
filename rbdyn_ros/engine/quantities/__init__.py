"""Quantities beside the motion: terms, frames, momentum, regressors, derivatives."""
