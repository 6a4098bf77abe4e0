# SPDX-License-Identifier: Apache-2.0
"""The simulation engine: Numba kernels of (m, d). Its tick is forward.py, above the folders."""
