# SPDX-License-Identifier: Apache-2.0
"""Register the joint types of Models in these tests, and collect garbage less often."""

import gc

import pytest
from support import specialised_models


@pytest.fixture(scope="module")
def registered():
    with specialised_models.registered():
        yield


@pytest.fixture(autouse=True)
def _without_interruptions():
    """Collect no garbage during tests: in traces that would take up to half of the time."""
    gc.disable()
    yield
    gc.enable()
