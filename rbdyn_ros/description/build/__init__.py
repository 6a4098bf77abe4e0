# SPDX-License-Identifier: Apache-2.0
"""Robots built in Python: SystemBuilder, Denavit-Hartenberg chains, homogeneous bodies."""
