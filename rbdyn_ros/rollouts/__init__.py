# SPDX-License-Identifier: Apache-2.0
"""Simulate many robots of one Model at once, with own states, parameters and controls."""
