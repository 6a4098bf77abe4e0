# SPDX-License-Identifier: Apache-2.0
"""The simulation engine: Numba kernels with the arguments (m, d).

A tick's stages are in forward.py.
"""
