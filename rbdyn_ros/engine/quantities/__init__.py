"""Quantities beyond the motion: terms, frames, momentum, regressors, derivatives."""
