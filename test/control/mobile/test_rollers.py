# SPDX-License-Identifier: Apache-2.0
"""Mecanum and omni wheels on a floor: the engine simulates each roller as a link."""

import math

import numpy as np
import pytest
from support.mobile import mecanum, omni

import rbdyn_ros as rb
from rbdyn_ros.control.mobile.driving import WheelDrive
from rbdyn_ros.control.mobile.wheels import wheel_base

#: Damping of the wheel servos [N m s/rad]; start and end of the measurement [s].
GAIN, BEGUN, END = 2.0, 1.0, 2.0
TWISTS = ((0.3, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.6), (0.2, 0.2, 0.0))


def yaw(qpos):
    return 2.0 * math.atan2(qpos[6], qpos[3])


def driven(text, twist):
    """Drive the wheels as a twist requires; return the measured mean twist of the base."""
    m = rb.load_urdf(text, floating_base=True, contact=True)
    d, base = rb.make_data(m), wheel_base(m)
    dofs = m.jnt_dofadr[[m.jnt_id(wheel.name) for wheel in base.wheels]]
    speeds = WheelDrive(base).rows(np.zeros(0)) @ np.array(twist)
    while d.time < END:
        wanted = min(1.0, 2.0 * d.time) * speeds
        d.qfrc_applied[dofs] = GAIN * (wanted - d.qvel[dofs])
        rb.step(m, d)
        if d.time < BEGUN:
            begun, time = d.qpos[:7].copy(), d.time
    turned = yaw(d.qpos) - yaw(begun)
    middle = yaw(begun) + 0.5 * turned
    c, s = math.cos(middle), math.sin(middle)
    way = np.array([[c, s], [-s, c]]) @ (d.qpos[:2] - begun[:2])
    return np.array([*way, turned]) / (d.time - time)


@pytest.mark.parametrize("twist", TWISTS, ids=str)
@pytest.mark.parametrize("base", [mecanum, omni])
def test_a_base_moves_as_its_rollers_allow(base, twist):
    # between two of its 24 rollers a wheel sinks by 0.7 mm, so the base turns a little farther
    found = driven(base(24), twist)
    assert np.abs(found - twist).max() < 0.02 * np.abs(twist).max()
