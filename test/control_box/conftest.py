# SPDX-License-Identifier: Apache-2.0
import pytest
from support.robots import find


@pytest.fixture
def said():
    """Messages that boxes have logged."""
    return []


@pytest.fixture(scope="module")
def text():
    """The URDF of the UR5."""
    return find("ur5_robot.urdf").read_text()
