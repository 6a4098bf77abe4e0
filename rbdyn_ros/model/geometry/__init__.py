# SPDX-License-Identifier: Apache-2.0
"""Geometries as arrays: their shapes, their surfaces and the pairs that may touch."""
