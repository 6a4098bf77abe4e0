# SPDX-License-Identifier: Apache-2.0
"""Measure the time of calls of this engine and of its peers in turns."""
