# SPDX-License-Identifier: Apache-2.0
"""Fixtures that share a browser and an arm among the tests of a file."""

import pytest
from web_page import open_browser

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot


@pytest.fixture(scope="module")
def arm():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser
