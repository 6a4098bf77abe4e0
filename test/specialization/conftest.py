"""The joint types and the motion that some Models of these tests use."""

import pytest
from support import specialised_models


@pytest.fixture(scope="module")
def registered():
    with specialised_models.registered():
        yield
