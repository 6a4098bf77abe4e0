# SPDX-License-Identifier: Apache-2.0
"""Measure the times of calls of this engine and of other engines in turns."""
