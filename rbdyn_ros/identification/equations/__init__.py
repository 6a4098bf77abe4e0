# SPDX-License-Identifier: Apache-2.0
"""Equations of a motion, their unknowns, and their solution."""
