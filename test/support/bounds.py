# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin for runs with NUMBA_BOUNDSCHECK=1: it reports index errors of compiled code."""

from numba import config as numba_config


def pytest_configure(config):
    """Let a printed index error fail its test: code called by address can only print the error."""
    if numba_config.BOUNDSCHECK:
        error = "error::pytest.PytestUnraisableExceptionWarning"
        config.addinivalue_line("filterwarnings", error)
