# SPDX-License-Identifier: Apache-2.0
"""Index errors of compiled code, with NUMBA_BOUNDSCHECK=1; a pytest plugin."""

from numba import config as numba_config


def pytest_configure(config):
    """Let an index error fail its test: code called by address can only print it."""
    if numba_config.BOUNDSCHECK:
        error = "error::pytest.PytestUnraisableExceptionWarning"
        config.addinivalue_line("filterwarnings", error)
