# SPDX-License-Identifier: Apache-2.0
"""Helpers of the tests: robots, generated trees, other engines and comparisons."""
