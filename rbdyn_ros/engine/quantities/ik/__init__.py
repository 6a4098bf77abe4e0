"""Kernels of rb.ik: rows and their Jacobian, one step, the descent, a posture, all targets."""
