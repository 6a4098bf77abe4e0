# SPDX-License-Identifier: Apache-2.0
"""Simulate many robots of one Model at once, each with its own state, parameters and control."""
