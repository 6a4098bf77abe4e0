# SPDX-License-Identifier: Apache-2.0
"""Distances between geometries: the near pairs and their nearest points."""
