"""What all of control stands on: limits, faults, friction, targets, and compiled kernels."""
