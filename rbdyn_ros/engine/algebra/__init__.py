# SPDX-License-Identifier: Apache-2.0
"""Spatial vectors, small matrices and one polynomial, as tuples in registers."""
