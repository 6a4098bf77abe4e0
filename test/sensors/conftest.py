# SPDX-License-Identifier: Apache-2.0
"""A fixture for the robot whose sensors the files describe."""

import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.source import read

ARM = "config/robots/seven_dof_arm.urdf"


@pytest.fixture(scope="module")
def robot():
    """Return the Model and the Description of the bundled arm."""
    return rb.load_urdf(ARM), read(ARM)
