# SPDX-License-Identifier: Apache-2.0
import pytest
from support.robots import find


@pytest.fixture
def said():
    """Return an empty list to which boxes append their log messages."""
    return []


@pytest.fixture(scope="module")
def text():
    """Return the URDF of the UR5."""
    return find("ur5_robot.urdf").read_text()
