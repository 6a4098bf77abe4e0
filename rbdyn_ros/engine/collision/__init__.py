# SPDX-License-Identifier: Apache-2.0
"""Distances between geometries: pairs that are near each other, and their nearest points."""
