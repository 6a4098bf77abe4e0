# SPDX-License-Identifier: Apache-2.0
"""Simulate runs of a trial."""
