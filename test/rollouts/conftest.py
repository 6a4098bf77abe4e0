# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of batches and rollouts."""

from support.cuda import gpu  # noqa: F401  a fixture
