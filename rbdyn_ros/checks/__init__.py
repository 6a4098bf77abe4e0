# SPDX-License-Identifier: Apache-2.0
"""Checks of values and names from outside, which readers, builders and the library share."""
