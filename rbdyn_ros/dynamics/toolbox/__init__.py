# SPDX-License-Identifier: Apache-2.0
"""Functions of a dynamics library that a simulation does not need.

Each function computes all that it needs from the positions, velocities and accelerations of a
Data, and returns new arrays.
"""
