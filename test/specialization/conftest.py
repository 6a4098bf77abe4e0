# SPDX-License-Identifier: Apache-2.0
"""The joint types that some Models of these tests use, and fewer garbage collections."""

import gc

import pytest
from support import specialised_models


@pytest.fixture(scope="module")
def registered():
    with specialised_models.registered():
        yield


@pytest.fixture(autouse=True)
def _without_interruptions():
    """A trace makes so many objects that garbage collection takes up to half of the time."""
    gc.disable()
    yield
    gc.enable()
