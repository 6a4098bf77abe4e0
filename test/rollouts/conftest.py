# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of batches."""

from support.cuda import gpu  # noqa: F401  a fixture
