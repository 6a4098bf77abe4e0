# SPDX-License-Identifier: Apache-2.0
"""Kernels of rb.ik: rows and their Jacobian, one step, the descent, a posture, all targets."""
