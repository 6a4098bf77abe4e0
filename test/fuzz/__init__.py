# SPDX-License-Identifier: Apache-2.0
"""Fuzz the readers of files, the servers of control boxes, and rows of Data: `make fuzz`."""

#: Names of targets that run compiled kernels with checks of indices.
COMPILED = ("bounds", "laws")
