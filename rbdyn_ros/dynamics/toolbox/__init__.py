# SPDX-License-Identifier: Apache-2.0
"""Quantities of a dynamics library beyond simulation.

They are evaluated at the positions, velocities and accelerations of a Data. Each function computes
everything that it needs from these and returns new arrays.
"""
