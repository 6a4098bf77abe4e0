"""What is asked of a robot beside its motion: terms, frames, momentum, regressors, derivatives."""
