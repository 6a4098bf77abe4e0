# SPDX-License-Identifier: Apache-2.0
"""Rays: where lines of sight meet shapes."""
