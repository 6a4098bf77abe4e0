# SPDX-License-Identifier: Apache-2.0
import pytest
from support.robots import find


@pytest.fixture
def said():
    """What boxes have logged."""
    return []


@pytest.fixture(scope="module")
def text():
    """The UR5 as URDF."""
    return find("ur5_robot.urdf").read_text()
