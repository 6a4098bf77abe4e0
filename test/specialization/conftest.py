# SPDX-License-Identifier: Apache-2.0
"""Fixtures for these tests: they register joint types of users, and collect no garbage."""

import gc

import pytest
from support import specialised_models


@pytest.fixture(scope="module")
def registered():
    with specialised_models.registered():
        yield


@pytest.fixture(autouse=True)
def _without_interruptions():
    """Collect no garbage during a test, because that would double the time of a trace."""
    gc.disable()
    yield
    gc.enable()
