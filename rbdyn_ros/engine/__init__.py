# SPDX-License-Identifier: Apache-2.0
"""The simulation engine: Numba kernels of (m, d). forward.py has the stages of a tick."""
