# SPDX-License-Identifier: Apache-2.0
"""Plots and graphs with matplotlib, and films."""
