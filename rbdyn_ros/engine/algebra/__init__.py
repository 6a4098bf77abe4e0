# SPDX-License-Identifier: Apache-2.0
"""Spatial vectors, small matrices and Hermite polynomials, as tuples in registers."""
