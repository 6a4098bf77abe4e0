# SPDX-License-Identifier: Apache-2.0
"""Distances between geometries: which pairs are near, and where they are nearest."""
