# SPDX-License-Identifier: Apache-2.0
"""Kernels of rb.ik: error rows and their Jacobian, steps, attempts, postures, many targets."""
