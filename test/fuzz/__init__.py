# SPDX-License-Identifier: Apache-2.0
"""Fuzz the readers of files from outside, and rows of Data: `make fuzz`."""

#: Targets whose kernels are compiled, with checks of indices.
COMPILED = ("bounds", "laws")
