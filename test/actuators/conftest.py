# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a robot with one joint and no gravity, and a GPU."""

import pytest
from support.cuda import gpu  # noqa: F401  a fixture

import rbdyn_ros as rb

#: Inertia of the link about its joint [kg m^2].
INERTIA = 0.02

URDF = f"""<robot name="one"><link name="base"/>
<link name="arm"><inertial><mass value="1"/><inertia
ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
</joint></robot>"""


@pytest.fixture(scope="session")
def one():
    m = rb.load_urdf(URDF)
    m.opt.gravity = 0.0, 0.0, 0.0
    return m
