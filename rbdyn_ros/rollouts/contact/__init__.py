# SPDX-License-Identifier: Apache-2.0
"""Equations of contact as programs for lanes: points, stops, the solver and its checks."""
