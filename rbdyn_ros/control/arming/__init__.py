# SPDX-License-Identifier: Apache-2.0
"""Tests of an arm before it is armed."""
